#pragma once

// `set` variables and the `${name}` in texts. Nothing else of a text is touched: Python bodies that
// travel in variables keep their comments and dollars.

#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capstan::script {

struct Variable {
  std::string text;
  bool in_select = true;  // visibility="un_select": selects keep the `${name}` as written
};

using Variables = std::map<std::string, Variable, std::less<>>;

// A text after its templates were replaced, that still knows where its bytes came from.
struct Rendered {
  std::string text;
  struct Piece {
    size_t begin;   // in `text`
    size_t origin;  // in the text before
    bool value;     // all of it comes from one template
  };
  std::vector<Piece> pieces;

  // The offset, in the text before, of what stands at `offset` now.
  size_t origin(size_t offset) const;
};

// What the built-in names are made from.
struct Surroundings {
  std::time_t now = 0;
  std::string home, owner;
};

// Variables of the script before those of the session, before the built-in ones: date, today,
// yesterday, tomorrow, theDayBeforeYesterday, HOME, OWNER, date.toString("yyyyMMdd").
class Templates {
 public:
  // Without surroundings there are no built-in names.
  Templates(const Variables& script, const Variables& session,
            std::optional<Surroundings> surroundings = std::nullopt)
      : script_(script), session_(session), surroundings_(std::move(surroundings)) {}

  // What has no value stays as written. Values may hold templates again. Throws ResourceExhausted
  // for a text that grows without end.
  Rendered render(std::string_view text, bool select = false) const;
  std::optional<std::string> value(std::string_view name) const;
  const Variable* find(std::string_view name) const;

 private:
  struct Work;
  void expand(Work& work, std::string_view text) const;
  bool expand_name(Work& work, std::string_view name) const;

  const Variables& script_;
  const Variables& session_;
  std::optional<Surroundings> surroundings_;
};

// "20261117" for "yyyyMMdd": y M d H h m s repeated as in Java, the rest as it is, quoted text in
// single quotes. Nothing for letters that mean something else there.
std::optional<std::string> format_date(std::time_t time, std::string_view pattern);

}  // namespace capstan::script
