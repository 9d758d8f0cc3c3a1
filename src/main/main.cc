#include <fcntl.h>
#include <unistd.h>

#include "main/cli.h"

namespace {

// A standard descriptor that our caller closed would be the number of the next file that is opened.
void open_standard_descriptors() {
  int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd >= 0) close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  return capstan::cli::run_command_line(argc, argv);
}
