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
  // `given_up` is called when nobody reads our output any more, or it cannot be written.
  ScriptTerminal(ScriptLook look, std::function<void()> given_up);

  void result(const std::string& table, const script::Rows& rows) override;
  void log(std::string_view line) override;
  void note(std::string_view text) override;
  void progress(std::string_view text) override;
  void failed(std::string_view text);  // what ended the script
  // The live line goes; what follows starts in the first column.
  void clear();
  // Why the result, or what is told of it, did not get out (errno); 0: it did.
  int result_trouble() const { return result_trouble_; }
  int words_trouble() const { return words_trouble_; }

 private:
  void write(int fd, std::string_view text);

  const ScriptLook look_;
  const std::function<void()> given_up_;
  const bool live_;
  bool drawn_ = false;
  int result_trouble_ = 0, words_trouble_ = 0;
};

}  // namespace capstan::cli
