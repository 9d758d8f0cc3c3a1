#include "jobs/local/python_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"

namespace capstan::jobs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class PythonEnvTest : public testing::Test {
 protected:
  PythonEnvTest() : folder_(testing::TempDir() + "env-XXXXXX") { mkdtemp(folder_.data()); }
  ~PythonEnvTest() override { fs::remove_all(folder_); }

  std::string make_python(const std::string& env, const std::string& tag = "cpython-311") {
    const fs::path python = fs::path(folder_) / env / "bin" / "python";
    fs::create_directories(python.parent_path());
    std::ofstream(python) << "#!/bin/sh\necho " << tag << "\n";
    fs::permissions(python, fs::perms::owner_all);
    return python;
  }
  Environment with(std::map<std::string, std::string> values) {
    return [values](const char* name) {
      auto found = values.find(name);
      return found == values.end() ? "" : found->second;
    };
  }

  std::string folder_;
};

TEST_F(PythonEnvTest, IsFoundByNameBesideTheOthersOfConda) {
  const std::string python = make_python("envs/tf");
  EXPECT_EQ(find_python_env("tf", with({{"CONDA_PREFIX", folder_}})).path, python);
  EXPECT_EQ(find_python_env("tf", with({{"CONDA_PREFIX", folder_ + "/envs/other"}})).path, python);
  EXPECT_EQ(find_python_env("tf", with({{"CONDA_EXE", folder_ + "/bin/conda"}})).path, python);
  EXPECT_EQ(find_python_env("tf", with({{"MLFLOW_CONDA_HOME", folder_}})).path, python);
}

TEST_F(PythonEnvTest, MayBeAPathToAFolderOrAnInterpreter) {
  const std::string python = make_python("mine");
  EXPECT_EQ(find_python_env(folder_ + "/mine", with({})).path, python);
  EXPECT_EQ(find_python_env(python, with({})).path, python);
  EXPECT_EQ(find_python_env(folder_ + "/none", with({})).path, "");
}

TEST_F(PythonEnvTest, SaysWhereItWasLookedFor) {
  FoundPython found = find_python_env("tf", with({{"HOME", folder_}}));
  EXPECT_EQ(found.path, "");
  EXPECT_THAT(found.places, Contains(folder_ + "/.conda/envs/tf"));
}

TEST_F(PythonEnvTest, FitsOnlyTheVersionOfTheExtension) {
  fs::create_directories(folder_ + "/front/capstan");
  std::ofstream(folder_ + "/front/capstan/_capstan.cpython-311-x86_64-linux-gnu.so") << "";
  EXPECT_THAT(extension_tags(folder_ + "/front:/other"), ElementsAre("cpython-311"));
  check_python_fits(make_python("new"), folder_ + "/front");
  try {
    check_python_fits(make_python("old", "cpython-39"), folder_ + "/front");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(),
                HasSubstr("is Python 3.9, and this Capstan was made for Python 3.11"));
  }
}

TEST_F(PythonEnvTest, AProgramThatIsNoPythonIsRefused) {
  EXPECT_THROW(python_tag(make_python("odd", "''")), Error);
}

}  // namespace
}  // namespace capstan::jobs
