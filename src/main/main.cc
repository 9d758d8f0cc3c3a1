#include "main/cli.h"

int main(int argc, char** argv) { return capstan::cli::run_command_line(argc, argv); }
