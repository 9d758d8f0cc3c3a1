#include "jobs/secret_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/fd.h"

namespace capstan::jobs {

std::string secret_file_path(const std::string& job_id) {
  std::error_code error;  // then it is made, or not, in the current folder
  return std::filesystem::temp_directory_path(error) / ("capstan-secret-" + job_id);
}

std::string make_secret_file(const std::string& job_id, const std::string& secret) {
  const std::string path = secret_file_path(job_id);
  Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd && write(fd.get(), secret.data(), secret.size()) == ssize_t(secret.size())) return path;
  const int failure = errno;
  if (fd) unlink(path.c_str());
  throw resource_exhausted("no place for the job's secret, {}: {}", path, std::strerror(failure));
}

void remove_secret_file(const std::string& job_id) { unlink(secret_file_path(job_id).c_str()); }

}  // namespace capstan::jobs
