#include <gtest/gtest.h>

#include <random>
#include <regex>

#include "jobs/script/interpreter.h"
#include "script/fake_engine.h"
#include "script/no_jobs.h"
#include "script/scratch.h"
#include "script/script_case.h"

namespace capstan::script {
namespace {

constexpr int kMutations = 1000;

class Mutator {
 public:
  std::string mutate(std::string text) {
    for (int i = 1 + int(random_() % 3); i > 0 && !text.empty(); --i) change(text);
    return text;
  }

 private:
  void change(std::string& text) {
    const size_t at = random_() % text.size();
    const size_t size = std::min<size_t>(1 + random_() % 12, text.size() - at);
    switch (random_() % 5) {
      case 0: text.erase(at, size); break;
      case 1: text.insert(at, text.substr(random_() % text.size(), size)); break;
      case 2: text[at] = char(random_()); break;
      case 3: text.insert(at, piece()); break;
      case 4: std::swap(text[at], text[random_() % text.size()]); break;
    }
  }

  std::string piece() {
    static const std::string pieces[] = {"'",  "\"",  "`",    "'''",  ";",      "--",
                                         "/*", "as ", "${a}", "!if",  "where ", "and ",
                                         ".",  "=",   "{0}",  "!fi;", "\\",     "\0x"};
    return pieces[random_() % std::size(pieces)];
  }

  std::mt19937 random_{7};
};

// "case:3:7: …", "a/b.mlsql:1:1: …"
bool tells_a_place(const Error& error) {
  static const std::regex place("^[^\n]*:[0-9]+:[0-9]+: ");
  return std::regex_search(error.message().substr(0, 300), place);
}

void run(const std::string& text, const std::string& scratch) {
  FakeEngine engine;
  NoJobs jobs;
  KeepingListener listener;
  Session session(engine, jobs, Paths(scratch + "/home", scratch + "/root"), listener);
  session.jobs_dir = scratch + "/jobs";
  try {
    run_script(session, {"case", text});
  } catch (const Error& error) {
    EXPECT_TRUE(tells_a_place(error)) << error.what() << "\nof the script:\n" << text;
  }
}

TEST(Mutations, OfGoodScriptsGiveAResultOrAnErrorWithAPlace) {
  Scratch scratch;
  Mutator mutator;
  const std::vector<std::string> scripts = case_scripts();
  for (int i = 0; i < kMutations; ++i)
    run(mutator.mutate(scripts[size_t(i) % scripts.size()]), scratch.path());
}

}  // namespace
}  // namespace capstan::script
