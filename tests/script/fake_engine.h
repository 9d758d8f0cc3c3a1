#pragma once

// Tables in memory, for cases about the language. Files are JSON lines, CSV or lines of text on the
// disk, read and written as simply as can be.

#include <map>

#include "jobs/script/engine.h"

namespace capstan::script {

class FakeEngine final : public Engine {
 public:
  enum Disk { kWithFiles, kWithoutFiles };
  explicit FakeEngine(Disk disk = kWithFiles) : disk_(disk) {}

  void load(const LoadFrom& from, const std::string& table) override;
  void define(const std::string& table, const Rows& rows) override;
  void select(std::string_view sql, const std::string& table) override;
  void execute(std::string_view sql) override;
  void save(const std::string& table, const SaveTo& to) override;
  void drop(const std::string& table) override;
  std::vector<std::string> tables() const override;
  std::vector<Column> columns(const std::string& table) const override;
  Rows rows(const std::string& table, int64_t limit) const override;
  std::unique_ptr<RowReader> read(const std::string& table) const override;
  Rows query(std::string_view sql, int64_t limit) override;
  int partitions(const std::string& table) const override;
  void repartition(const std::string& table, int count, const std::string& result) override;
  std::vector<Shard> write_shards(const std::string& table, const std::string& format,
                                  const std::string& folder) override;
  void add_function(Function function) override { functions_.push_back(function.name); }
  std::vector<std::string> functions() const override { return functions_; }
  void interrupt() override {}
  void resume() override {}

 private:
  struct Table {
    Rows rows;
    int partitions = 1;
  };
  const Table& find(const std::string& table) const;
  Rows run(std::string_view sql) const;

  const Disk disk_;
  std::map<std::string, Table> tables_;  // by name in lower case
  std::map<std::string, std::string> names_;
  std::vector<std::string> functions_;
};

}  // namespace capstan::script
