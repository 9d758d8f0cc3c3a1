#pragma once

// The command line of `capstan`: parses, then calls the command. Returns the exit code; everything
// that goes wrong is said on stderr.

namespace capstan::cli {

int run_command_line(int argc, char** argv);

}  // namespace capstan::cli
