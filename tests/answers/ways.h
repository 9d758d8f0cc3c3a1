#pragma once

// The ways in which the executor may run a step; each must give the one answer.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "answers/question.h"
#include "exec/program.h"
#include "plan/plan.h"

namespace capstan {

struct Way {
  Foresight foresight = Foresight::kGiven;
  bool fuse = true, fold = true, in_place = true;
  int threads = 1;
  std::string text() const;
};

// Every combination, on 1, 2 and 8 threads.
std::vector<Way> all_ways();

class Runner {
 public:
  // Runs it this way twice, the second time in the memory that the first one left. Says where an
  // answer differs or what went wrong; "" when all is well.
  std::string differs(Question& question, const Way& way);

 private:
  struct Part;
  std::shared_ptr<TaskState> task(int threads);
  std::string run_once(Question& question, const Plan& plan, std::vector<Part>& parts,
                       TaskState& task, SessionState& session);

  std::map<int, std::shared_ptr<TaskState>> tasks_;
};

}  // namespace capstan
