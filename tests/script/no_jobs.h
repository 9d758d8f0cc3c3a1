#pragma once

// For scripts that train nothing, and those who only look at what they say.

#include "jobs/script/session.h"

namespace capstan::script {

class NoJobs final : public JobRunner {
 public:
  Capacity capacity() const override { return {}; }
  jobs::JobReport run(const jobs::JobSpec&, jobs::JobObserver&) override {
    throw unimplemented("no jobs here");
  }
  void stop() override {}
  std::string find_python(const std::string&, bool,
                          const std::function<void(std::string_view)>&) const override {
    return "python3";
  }
  std::string python_path() const override { return {}; }
};

class KeepingListener final : public ScriptListener {
 public:
  void result(const std::string& table, const Rows& rows) override {
    name = table;
    last = rows;
  }
  void log(std::string_view line) override { (logs += line) += "\n"; }
  void note(std::string_view text) override { (notes += text) += "\n"; }
  void progress(std::string_view) override {}

  std::string name, logs, notes;
  std::optional<Rows> last;
};

}  // namespace capstan::script
