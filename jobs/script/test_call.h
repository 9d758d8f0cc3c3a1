#pragma once

// A statement for tests of algorithms: a session over an engine, and the options as written.

#include <stdexcept>

#include "jobs/script/algorithm.h"
#include "jobs/script/session.h"

namespace capstan::script {

class NoJobs : public JobRunner {
 public:
  Capacity capacity() const override { return {}; }
  jobs::JobReport run(const jobs::JobSpec&, jobs::JobObserver&) override {
    throw unimplemented("no job runs here");
  }
  void stop() override {}
  std::string find_python(const std::string&, bool,
                          const std::function<void(std::string_view)>&) const override {
    return {};
  }
  std::string python_path() const override { return {}; }
};

class Notes : public ScriptListener {
 public:
  void result(const std::string&, const Rows&) override {}
  void log(std::string_view) override {}
  void note(std::string_view text) override { notes += text; }
  void progress(std::string_view) override {}
  std::string notes;
};

class TestCall {
 public:
  explicit TestCall(Engine& engine) : session_(engine, jobs_, Paths("/"), listener_) {}

  // As the language would call it: options checked, then the function.
  void run(void (*function)(const AlgorithmCall&), std::span<const OptionDef> known,
           const std::string& table, const std::string& path, const std::string& result,
           const KeyValues& options) {
    const Place place{std::make_shared<Source>(Source{"job.mlsql", "the statement"}), 0};
    std::vector<Option> given;
    for (const auto& [key, value] : options) given.push_back({key, value, place});
    function({session_, table, path, result, Options(std::move(given), known, place), place, ""});
  }

  const std::string& notes() const { return listener_.notes; }

 private:
  NoJobs jobs_;
  Notes listener_;
  Session session_;
};

}  // namespace capstan::script
