#pragma once

// What the tests of this folder share: an engine, and a folder for its files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>

#include "base/error.h"
#include "jobs/duck/duck.h"
#include "jobs/script/sql_error.h"

namespace capstan::duck {

class DuckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string missing = missing_library();
    if (!missing.empty()) GTEST_SKIP() << missing;
    folder = ::testing::TempDir() + "duck-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    options.temp_folder = folder;
    options.threads = 2;
    engine = duck_engine(options);
  }
  void TearDown() override {
    engine.reset();
    if (!folder.empty()) std::filesystem::remove_all(folder);
  }

  std::string file(const std::string& name, const std::string& bytes) {
    std::string path = folder + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string content(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    return out.str();
  }
  // Columns, then rows, as people would write them: "a,b|1,x|2,null".
  static std::string text(const script::Rows& rows);
  std::string all(const std::string& table) { return text(engine->rows(table, -1)); }
  std::string answer(const std::string& sql) { return text(engine->query(sql, -1)); }
  void load(const std::string& format, const std::string& path, script::KeyValues options = {}) {
    engine->load({format, path, "", std::move(options)}, "t");
  }

  EngineOptions options;
  std::string folder;
  std::unique_ptr<script::Engine> engine;
};

inline std::string shown(const script::Cell& cell) {
  return std::holds_alternative<std::monostate>(cell) ? "null" : script::cell_text(cell);
}

inline std::string DuckTest::text(const script::Rows& rows) {
  std::string out;
  for (const auto& column : rows.columns) out += (out.empty() ? "" : ",") + column.name;
  for (const auto& row : rows.rows) {
    out += "|";
    for (size_t i = 0; i < row.size(); ++i) out += (i ? "," : "") + shown(row[i]);
  }
  return out;
}

// "InvalidArgument: …", or what else `run` throws; "" for nothing.
inline std::string thrown(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return fmt::format("{}: {}", code_name(error.code()), error.message());
  }
  return "";
}

}  // namespace capstan::duck
