#pragma once

// Shows a running script: logs and progress on standard error, the result on standard output.

#include <functional>
#include <string>

#include "jobs/script/session.h"

namespace capstan::cli {

struct ScriptLook {
  std::string output = "table";
  bool quiet = false;
};

class ScriptTerminal : public script::ScriptListener {
 public:
  // `reader_gone` is called when nobody reads our output any more.
  ScriptTerminal(ScriptLook look, std::function<void()> reader_gone);

  void result(const std::string& table, const script::Rows& rows) override;
  void log(std::string_view line) override;
  void note(std::string_view text) override;
  void progress(std::string_view text) override;
  void failed(std::string_view text);  // what ended the script
  // The live line goes; what follows starts in the first column.
  void clear();
  bool deaf() const { return deaf_; }

 private:
  void write(int fd, std::string_view text);

  const ScriptLook look_;
  const std::function<void()> reader_gone_;
  const bool live_;
  bool drawn_ = false, deaf_ = false;
};

}  // namespace capstan::cli
