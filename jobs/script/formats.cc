#include "jobs/script/formats.h"

#include <fmt/format.h>

#include "base/nearest.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

constexpr OptionDef kCsvLoad[] = {
    {"header", OptionType::kBool, "false", "The first line names the columns."},
    {"delimiter", OptionType::kText, ",", "What stands between two fields."},
    {"sep", OptionType::kText, "", "The same as delimiter."},
    {"quote", OptionType::kText, "\"", "What encloses a field."},
    {"escape", OptionType::kText, "", "What makes the next quote a part of the field."},
    {"nullValue", OptionType::kText, "", "The text that stands for null."},
    {"inferSchema", OptionType::kBool, "true", "Types are guessed; else every column is text."},
    {"mode", OptionType::kChoice, "FAILFAST",
     "DROPMALFORMED: rows that cannot be read are left out.", "FAILFAST|DROPMALFORMED"},
    {"multiLine", OptionType::kBool, "false", "A field in quotes may hold line breaks."},
    {"dateFormat", OptionType::kText, "", "How dates are written."},
    {"timestampFormat", OptionType::kText, "", "How moments are written."},
    {"encoding", OptionType::kChoice, "utf-8", "UTF-8 alone is read.", "utf-8|utf8"},
};

constexpr OptionDef kJsonLoad[] = {
    {"multiLine", OptionType::kBool, "false", "One value over many lines; else one per line."},
    {"encoding", OptionType::kChoice, "utf-8", "UTF-8 alone is read.", "utf-8|utf8"},
};

constexpr OptionDef kFileNum = {
    "fileNum", OptionType::kInt, "1", "How many files are written.", "", false, 1};

constexpr OptionDef kCsvSave[] = {
    kFileNum,
    {"header", OptionType::kBool, "false", "The first line names the columns."},
    {"delimiter", OptionType::kText, ",", "What stands between two fields."},
    {"sep", OptionType::kText, "", "The same as delimiter."},
    {"quote", OptionType::kText, "\"", "What encloses a field."},
    {"escape", OptionType::kText, "", "What stands before a quote inside a field."},
    {"nullValue", OptionType::kText, "", "The text that stands for null."},
    {"compression", OptionType::kChoice, "none", "How files are packed.", "none|gzip"},
};
constexpr OptionDef kJsonSave[] = {
    kFileNum,
    {"compression", OptionType::kChoice, "none", "How files are packed.", "none|gzip"},
};
constexpr OptionDef kParquetSave[] = {
    kFileNum,
    {"compression", OptionType::kChoice, "snappy", "How pages are packed.",
     "snappy|gzip|zstd|uncompressed|none"},
};

constexpr Format kFormats[] = {
    {"csv", SourceKind::kFile, "csv", "Text with delimiters.", kCsvLoad, true, kCsvSave},
    {"json", SourceKind::kFile, "json", "JSON, one object per line.", kJsonLoad, true, kJsonSave},
    {"parquet", SourceKind::kFile, "parquet", "Parquet.", {}, true, kParquetSave},
    {"text", SourceKind::kFile, "text", "Lines of text."},
    {"jsonStr", SourceKind::kText, "json", "JSON lines in a variable.", kJsonLoad},
    {"csvStr", SourceKind::kText, "csv", "CSV in a variable.", kCsvLoad},
    {"script", SourceKind::kScript, "", "A variable as a table of one cell, content."},
    {"_mlsql_", SourceKind::kSystem, "", "What !show shows: `jobs`, `tables`, `et`, …"},
    {"modelList", SourceKind::kSystem, "", "The algorithms."},
    {"modelParams", SourceKind::kSystem, "", "The options of one algorithm."},
    {"trainingInfo", SourceKind::kSystem, "",
     "How the trainings of a model's path went, those that run now too."},
};

// Sources of the original that nothing serves here.
constexpr std::string_view kAbsent[] = {
    "jdbc",       "hive",          "kafka",        "delta",        "orc",        "libsvm",
    "excel",      "image",         "mongo",        "es",           "hbase",      "solr",
    "redis",      "carbondata",    "crawler",      "streaming",    "rest",       "http",
    "mysql",      "binlog",        "avro",         "xml",          "adHocKafka", "mockStream",
    "newParquet", "streamParquet", "modelExample", "modelExplain", "console"};

Error not_served(std::string_view name, const Place& place) {
  return error_at(place, Code::kUnimplemented,
                  fmt::format("nothing here serves {}; export the data to csv, json or parquet "
                              "files, and use those",
                              name));
}

const Format& find(std::string_view name, const Place& place, bool saving) {
  std::vector<std::string> names;
  for (const Format& format : kFormats) {
    if (saving && !format.saves) continue;
    if (same_word(format.name, name)) return format;
    names.emplace_back(format.name);
  }
  for (std::string_view absent : kAbsent) {
    if (same_word(absent, name)) throw not_served(name, place);
  }
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) hint = fmt::format("; there are {}", fmt::join(names, ", "));
  throw error_at(
      place, Code::kNotFound,
      fmt::format("there is no format {} to {}{}", shown(name), saving ? "save" : "load", hint));
}

}  // namespace

std::span<const Format> all_formats() { return kFormats; }

const Format& find_load_format(std::string_view name, const Place& place) {
  return find(name, place, false);
}

const Format& find_save_format(std::string_view name, const Place& place) {
  return find(name, place, true);
}

KeyValues file_options(const Options& options) {
  KeyValues out = options.all();
  for (auto& [key, value] : out) {
    if (key != "sep") continue;
    if (options.has("delimiter"))
      throw error_at(options.place_of("sep"), Code::kInvalidArgument,
                     "sep and delimiter are one option, given twice");
    key = "delimiter";
  }
  return out;
}

}  // namespace capstan::script
