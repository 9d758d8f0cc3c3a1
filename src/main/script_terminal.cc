#include "main/script_terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/printable.h"
#include "jobs/script/rows_text.h"
#include "jobs/terminal.h"
#include "jobs/text_table.h"

namespace capstan::cli {

ScriptTerminal::ScriptTerminal(ScriptLook look, std::function<void()> given_up)
    : look_(std::move(look)), given_up_(std::move(given_up)), live_(isatty(STDERR_FILENO) != 0) {}

void ScriptTerminal::result(const std::string&, const script::Rows& rows) {
  clear();
  if (look_.output == "json") return write(STDOUT_FILENO, rows_as_json(rows));
  if (look_.output == "csv") return write(STDOUT_FILENO, rows_as_csv(rows));
  const bool tty = isatty(STDOUT_FILENO);
  write(STDOUT_FILENO, script::rows_as_table(rows, tty ? jobs::columns(STDOUT_FILENO) : 0,
                                             tty && !std::getenv("NO_COLOR")));
  const auto shown = int64_t(rows.rows.size());
  if (rows.total > shown && !result_trouble_) {
    note(fmt::format("the first {} of {} rows; --output csv or json has all", shown, rows.total));
  }
}

void ScriptTerminal::log(std::string_view line) {
  if (look_.quiet) return;
  clear();
  write(STDERR_FILENO, printable_with_colours(line) + "\n");
}

void ScriptTerminal::note(std::string_view text) {
  clear();
  write(STDERR_FILENO, "[capstan] " + printable(text) + "\n");
}

void ScriptTerminal::failed(std::string_view text) {
  clear();
  write(STDERR_FILENO, printable(text) + "\n");
}

void ScriptTerminal::progress(std::string_view text) {
  if (!live_ || look_.quiet) return;
  const std::string line = jobs::cut_to(printable(text), jobs::columns(STDERR_FILENO) - 1);
  write(STDERR_FILENO, "\r\x1b[K" + line);
  drawn_ = true;
}

void ScriptTerminal::clear() {
  if (drawn_) write(STDERR_FILENO, "\r\x1b[K");
  drawn_ = false;
}

void ScriptTerminal::write(int fd, std::string_view text) {
  int& trouble = fd == STDOUT_FILENO ? result_trouble_ : words_trouble_;
  while (!text.empty() && !trouble) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      trouble = errno;
      return given_up_();
    }
    text.remove_prefix(size_t(n));
  }
}

}  // namespace capstan::cli
