#pragma once

// Who of a job trains, who only serves, who has left. A task that only serves ends with the
// training: when somebody has left in good order, and nobody is left who still trains or has yet to
// come. Where every task only serves nobody ever leaves, and all of them stand until they are told.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "cluster/cluster_spec.h"

namespace capstan {

// Parameter servers and evaluators do not: nobody waits for them.
bool takes_part_in_training(const std::string& job);

// What a task says of itself. One that trained may go on to serve: it has left, and is there.
struct Standing {
  bool left = false;    // its training has ended in good order
  bool serves = false;  // does nothing else from now on
  bool operator==(const Standing&) const = default;
};

// Thread-safe. Tasks by name: "/job:worker/task:0".
class Membership {
 public:
  explicit Membership(const ClusterSpec& cluster);

  // A task works in this life of its; what it said in an earlier one counts no more.
  void note_working(const std::string& task, uint64_t incarnation);
  // Names of no task of the job are passed over.
  void note(const std::string& task, uint64_t incarnation, Standing standing);
  // The same at second hand: counts where the task itself has said nothing.
  void hear(const std::string& task, uint64_t incarnation, Standing standing);
  Standing of(const std::string& task) const;

  struct Said {
    Standing standing;
    uint64_t incarnation = 0;
  };
  std::map<std::string, Said> all_said() const;

  bool training_is_over() const;
  // Blocks until it is, or stop().
  void wait_until_over();
  void stop();

 private:
  Standing said_by(const std::string& task) const;
  bool over() const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> tasks_, trainers_;
  std::map<std::string, Said> said_;
  bool stopped_ = false;
};

}  // namespace capstan
