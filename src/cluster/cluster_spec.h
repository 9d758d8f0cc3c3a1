#pragma once

// Which jobs there are and at which addresses their tasks listen, as tf.train.ClusterSpec.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capstan {

class ClusterSpec {
 public:
  ClusterSpec() = default;
  // {"ps": ["host:port"], "worker": {"1": "host:port"}}; throws InvalidArgument naming what is
  // wrong.
  static ClusterSpec from_json(std::string_view text);
  static ClusterSpec from_cluster_def(std::string_view bytes);

  void add_task(const std::string& job, int index, std::string address);
  bool empty() const { return jobs_.empty(); }
  const std::map<std::string, std::map<int, std::string>>& jobs() const { return jobs_; }
  bool has(std::string_view job, int index) const;
  // Throws InvalidArgument that lists the jobs and tasks there are.
  const std::string& address(std::string_view job, int index) const;
  int tasks(std::string_view job) const;

  std::string to_cluster_def() const;
  // One spelling for equal specs: the per-user secret of jobs started by hand is derived from it.
  std::string canonical() const;
  bool operator==(const ClusterSpec&) const = default;

 private:
  std::map<std::string, std::map<int, std::string>> jobs_;
};

}  // namespace capstan
