#pragma once

// Where tables live and SQL runs, for one script. The script layer knows nothing else of it: an
// engine in this process, or one that reaches further, implements this.
//
// Paths that arrive here were allowed by the script layer. Engines refuse SQL that reaches files,
// settings or extensions by itself. Names are SQL identifiers without quotes; engines quote them.
// What fails is thrown as Error: InvalidArgument for bad SQL (a SqlError, jobs/script/sql_error.h,
// where the engine knows the place inside the text), NotFound for a missing table, DataLoss for a
// damaged file (file and line).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/script/table.h"
#include "tensor/tensor.h"

namespace capstan::script {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

struct LoadFrom {
  std::string format;  // csv, json, parquet, text
  std::string path;    // a file, a folder of files, or a pattern; or empty, then:
  std::string text;    // the bytes themselves (jsonStr, csvStr)
  KeyValues options;   // header, delimiter, …: checked
};

enum class SaveMode { kErrorIfExists, kOverwrite, kAppend, kIgnore };

struct SaveTo {
  std::string format;  // csv, json, parquet
  std::string path;    // a folder of part files, whole or absent
  SaveMode mode = SaveMode::kErrorIfExists;
  int file_num = 1;
  std::vector<std::string> partition_by;
  KeyValues options;
};

struct Shard {
  std::string path;
  int64_t rows = 0;
};

// One argument or result of a function: a number, or a list of `width` numbers.
struct FunctionValue {
  std::string name;
  DType dtype = DType::kFloat;
  int64_t width = 0;  // 0: a single value
};

// Of functions that the script did not name.
inline constexpr std::string_view kOwnFunctionPrefix = "capstan_";

// A SQL function over batches: each argument is [rows] or [rows, width]. Thread-safe. A row with a
// null argument, or a null inside a list, gives null and is not handed over.
struct Function {
  std::string name;
  std::vector<FunctionValue> arguments;
  std::vector<FunctionValue> results;  // several become one struct value
  std::function<std::vector<Tensor>(const std::vector<Tensor>& arguments)> call;
};

// The rows of a table, a batch at a time: no more than that is in memory.
class RowReader {
 public:
  virtual ~RowReader() = default;
  // Empty, with the columns, at the end.
  virtual Rows next() = 0;
};

// Calls come from one thread, but for interrupt().
class Engine {
 public:
  virtual ~Engine() = default;

  virtual void load(const LoadFrom& from, const std::string& table) = 0;
  virtual void define(const std::string& table, const Rows& rows) = 0;
  // The result of one query becomes a table.
  virtual void select(std::string_view sql, const std::string& table) = 0;
  // insert, create, drop, refresh: one statement over tables of the script.
  virtual void execute(std::string_view sql) = 0;
  virtual void save(const std::string& table, const SaveTo& to) = 0;
  virtual void drop(const std::string& table) = 0;

  virtual std::vector<std::string> tables() const = 0;
  virtual std::vector<Column> columns(const std::string& table) const = 0;
  // The first `limit` rows; all of them for -1.
  virtual Rows rows(const std::string& table, int64_t limit) const = 0;
  // All of them, from the first on.
  virtual std::unique_ptr<RowReader> read(const std::string& table) const = 0;
  virtual Rows query(std::string_view sql, int64_t limit) = 0;

  // A table has one partition unless it was repartitioned.
  virtual int partitions(const std::string& table) const = 0;
  virtual void repartition(const std::string& table, int count, const std::string& result) = 0;
  // One file per partition, complete and closed: `folder/<index>/data.json` (JSON lines) or
  // `.parquet`. Rows are cut evenly, in their order.
  virtual std::vector<Shard> write_shards(const std::string& table, const std::string& format,
                                          const std::string& folder) = 0;

  virtual void add_function(Function function) = 0;
  virtual std::vector<std::string> functions() const = 0;  // those that were added

  // From any thread: the running call ends soon with Cancelled, and so does every later one until
  // resume(). (Whoever interrupts cannot know whether the call that it means has begun.)
  virtual void interrupt() = 0;
  virtual void resume() = 0;
};

}  // namespace capstan::script
