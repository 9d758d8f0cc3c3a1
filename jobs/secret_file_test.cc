#include "jobs/secret_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/files.h"
#include "jobs/random_hex.h"

namespace capstan::jobs {
namespace {

TEST(SecretFile, IsItsUsersAloneUntilItIsRemoved) {
  const std::string id = random_hex(kJobIdBytes);
  const std::string path = make_secret_file(id, "s3cret");
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(posix_files().read(path), "s3cret");
  EXPECT_THROW(make_secret_file(id, "other"), Error);
  EXPECT_EQ(posix_files().read(path), "s3cret");
  remove_secret_file(id);
  EXPECT_FALSE(posix_files().exists(path));
}

}  // namespace
}  // namespace capstan::jobs
