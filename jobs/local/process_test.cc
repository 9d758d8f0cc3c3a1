#include "jobs/local/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/temporary_folder.h"

namespace capstan::jobs {
namespace {

using testing::HasSubstr;

Error failure_of(const std::string& program) {
  try {
    Process process({.argv = {program}, .output = STDOUT_FILENO});
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::kOk, "it has started");
}

// No descriptor beyond those that are open: pipe() has no room.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{3, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

TEST(Process, TellsAProgramThatIsNotThereFromItsInterpreter) {
  TemporaryFolder folder;
  EXPECT_THAT(failure_of(folder.file("absent")).message(), HasSubstr("no such program"));
  const std::string script = folder.put("script", "#!/nonexistent/python\n");
  ASSERT_EQ(chmod(script.c_str(), 0755), 0);
  const Error error = failure_of(script);
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_THAT(error.message(), HasSubstr("the interpreter that its first line names"));
}

TEST(Process, ALackOfDescriptorsIsALackOfRoom) {
  NoDescriptors none;
  EXPECT_EQ(failure_of("/bin/true").code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace capstan::jobs
