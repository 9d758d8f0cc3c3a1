#include "base/secret_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/settings.h"

namespace capstan {
namespace {

std::optional<std::string> from_fd(const char* name, int fd) {
  if (std::string_view(name) == "CAPSTAN_SECRET_FD") return std::to_string(fd);
  if (std::string_view(name) == "CAPSTAN_SECRET") return "as text";
  return std::nullopt;
}

TEST(SecretFd, IsReadAsOftenAsAsked) {
  Fd fd = secret_as_fd("a secret");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(secret_of_fd(fd.get()), "a secret");
  EXPECT_EQ(parse_settings([&](const char* n) { return from_fd(n, fd.get()); }).secret, "a secret");
}

TEST(SecretFd, NobodyCanChangeIt) {
  Fd fd = secret_as_fd("a secret");
  EXPECT_EQ(pwrite(fd.get(), "x", 1, 0), -1);
  EXPECT_EQ(ftruncate(fd.get(), 0), -1);
}

TEST(SecretFd, IsClosedForProgramsThatATaskStarts) {
  Fd fd = secret_as_fd("a secret");
  fcntl(fd.get(), F_SETFD, 0);  // as a launcher does for its tasks
  secret_of_fd(fd.get());
  EXPECT_EQ(fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
}

TEST(SecretFd, AnotherDescriptorOfThatNumberIsNotTakenForIt) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  ASSERT_EQ(write(pipes[1], "not a secret", 12), 12);
  EXPECT_EQ(secret_of_fd(pipes[0]), "");
  EXPECT_EQ(parse_settings([&](const char* n) { return from_fd(n, pipes[0]); }).secret, "as text");
  close(pipes[0]);
  close(pipes[1]);
  EXPECT_EQ(secret_of_fd(pipes[0]), "");
  EXPECT_EQ(secret_of_fd(-1), "");
}

}  // namespace
}  // namespace capstan
