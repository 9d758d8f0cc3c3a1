#pragma once

// What `load` and `save` may name before the dot; one row each. The dispatch, the checks of options
// and `!show datasources` are derived from the rows.

#include <span>
#include <string_view>

#include "jobs/script/engine.h"
#include "jobs/script/options.h"

namespace capstan::script {

enum class SourceKind {
  kFile,    // the engine reads what lies at the path
  kText,    // the path names a variable whose text is read like a file
  kScript,  // the path names a variable that becomes the one cell of a table
  kSystem,  // what `!show` shows
};

struct Format {
  std::string_view name;
  SourceKind kind = SourceKind::kFile;
  std::string_view file_format;  // as the engine calls it
  std::string_view doc;
  std::span<const OptionDef> load_options;
  bool saves = false;
  std::span<const OptionDef> save_options;
};

std::span<const Format> all_formats();

// Throws NotFound with the nearest, or Unimplemented for a source of the original that is not
// served here, with what to do instead.
const Format& find_load_format(std::string_view name, const Place& place);
const Format& find_save_format(std::string_view name, const Place& place);

// What is given, for an engine: `sep` is another name of `delimiter`.
KeyValues file_options(const Options& options);

}  // namespace capstan::script
