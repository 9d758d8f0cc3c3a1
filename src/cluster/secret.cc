#include "cluster/secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/random.h"
#include "net/hmac.h"

namespace capstan {
namespace {

constexpr size_t kSecretBytes = 32;

std::string hex(std::string_view bytes) {
  std::string out;
  for (unsigned char c : bytes) out += fmt::format("{:02x}", c);
  return out;
}

// Written beside and linked into place: of two tasks that start at once, one wins and both read it.
void create(const std::string& file) {
  std::error_code ignored;  // what is wrong shows at the next line but one
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  std::string temporary = fmt::format("{}.{}", file, getpid());
  char bytes[kSecretBytes];
  SystemRandom().fill(bytes, sizeof bytes);
  std::string text = hex({bytes, sizeof bytes}) + "\n";
  int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) {
    throw permission_denied(
        "cannot make the secret file {}: {}; set CAPSTAN_SECRET_FILE to one that you can write",
        file, std::strerror(errno));
  }
  bool written = write(fd, text.data(), text.size()) == ssize_t(text.size());
  close(fd);
  if (written) link(temporary.c_str(), file.c_str());
  unlink(temporary.c_str());
}

std::string read_secret(const std::string& file) {
  int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not hold us up
  if (fd < 0) throw not_found("cannot read the secret file {}: {}", file, std::strerror(errno));
  struct stat info = {};
  char text[4096];
  ssize_t got = fstat(fd, &info) == 0 ? read(fd, text, sizeof text) : -1;
  close(fd);
  // Root may read and write everything as it is.
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    throw permission_denied(
        "the secret file {} belongs to user {}, who would know the secret of every job made with "
        "it; set CAPSTAN_SECRET_FILE to one of your own (it is made if it is not there)",
        file, info.st_uid);
  }
  if (got <= 0)
    throw failed_precondition("the secret file {} is empty; remove it, and a new one is made",
                              file);
  // Where root hands it to a group it is for that group: a Secret of Kubernetes in a pod that has
  // an fsGroup.
  const bool handed_over = info.st_uid == 0 && geteuid() != 0;
  if (info.st_mode & (handed_over ? 037 : 077)) {
    throw permission_denied("the secret file {} can be read by others; run: chmod 600 {}", file,
                            file);
  }
  return {text, size_t(got)};
}

std::string derived(const std::string& file, const std::string& purpose) {
  if (access(file.c_str(), F_OK) != 0) create(file);
  return hex(hmac_sha256(read_secret(file), purpose));
}

}  // namespace

std::string user_secret_path() {
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : "/tmp") + "/.config/capstan/secret";
}

std::string derive_secret(const std::string& file, const ClusterSpec& cluster) {
  return derived(file, cluster.canonical());
}

// No spec reads like this: each of its lines holds an address.
std::string client_secret(const std::string& file) { return derived(file, "capstan client\n"); }

}  // namespace capstan
