#pragma once

// The `where k="v" and …` of a statement: declared once per user of options, with type, default and
// a sentence; checks, did-you-mean and `!show "et/params/…"` are derived from the declaration.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/script/place.h"

namespace capstan::script {

struct Option {
  std::string key;
  std::string value;  // templates replaced
  Place place;        // of the key
};

enum class OptionType { kText, kInt, kNumber, kBool, kChoice };

struct OptionDef {
  std::string_view key;  // a trailing ".*" stands for any key that begins so
  OptionType type = OptionType::kText;
  std::string_view standard;  // what holds if it is not given; empty: nothing
  std::string_view doc;
  std::string_view choices;  // "json|parquet", for kChoice
  bool required = false;
  int64_t least = INT64_MIN;  // for kInt
};

// Options of one statement that fit their declaration. Keys compare without regard to case.
class Options {
 public:
  // Throws InvalidArgument at the option's place: unknown (with the nearest), twice, of a wrong
  // type, outside its choices, or missing.
  Options(std::vector<Option> given, std::span<const OptionDef> known, const Place& statement);

  std::string text(std::string_view key) const;  // or the standard
  int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;
  bool flag(std::string_view key) const;
  bool has(std::string_view key) const;  // given, not by standard
  // Those that begin with "fitParam.0.", without that beginning.
  std::vector<std::pair<std::string, std::string>> below(std::string_view prefix) const;
  // All that were given, their keys spelled as declared.
  std::vector<std::pair<std::string, std::string>> all() const;
  const Place& place_of(std::string_view key) const;  // of the statement if it is not given

 private:
  const Option* find(std::string_view key) const;

  std::vector<Option> given_;
  std::span<const OptionDef> known_;
  Place statement_;
};

}  // namespace capstan::script
