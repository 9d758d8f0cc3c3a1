#include "jobs/duck/read_table.h"

#include <fmt/format.h>

#include "jobs/duck/cells.h"

namespace capstan::duck {
namespace {

using script::Rows;

class TableReader : public script::RowReader {
 public:
  TableReader(Core& core, const Tables& tables, std::shared_ptr<const std::string> stored)
      : stored_(std::move(stored)),
        columns_(tables.columns(*stored_)),
        total_(tables.count(*stored_)),
        types_(cell_types(core.link, *stored_)),
        link_(core.api, core.store.raw(), core.interrupts),
        result_(
            link_.stream(fmt::format("SELECT {} FROM {}", cell_list(columns_, types_), *stored_))) {
  }

  // DuckDB goes on ahead of us with threads of its own, and a stream that is closed under them
  // takes the process along: it is ended, and read to that end.
  ~TableReader() override {
    if (ended_) return;
    link_.api().interrupt(link_.raw());
    result_.drain();
  }

  Rows next() override {
    Rows rows{columns_, {}, total_, done_};
    const Chunk chunk = ended_ ? nullptr : result_.next();
    ended_ = !chunk;
    if (chunk) append_cells(link_.api(), types_, chunk, rows.rows);
    done_ += int64_t(rows.rows.size());
    return rows;
  }

 private:
  const std::shared_ptr<const std::string> stored_;
  const std::vector<script::Column> columns_;
  const int64_t total_;
  const std::vector<CellType> types_;
  Link link_;  // of its own: whatever else the engine runs does not end the stream
  Result result_;
  int64_t done_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<script::RowReader> read_table(Core& core, const Tables& tables,
                                              std::shared_ptr<const std::string> stored) {
  return std::make_unique<TableReader>(core, tables, std::move(stored));
}

}  // namespace capstan::duck
