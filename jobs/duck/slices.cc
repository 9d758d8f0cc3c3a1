#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "jobs/duck/cells.h"
#include "jobs/duck/write_files.h"

namespace capstan::duck {
namespace {

// The rows [begin, end) of a stored table. Nothing is ever deleted from one, so its rows have the
// numbers from 0 on.
std::string slice_query(const std::string& stored, int64_t begin, int64_t end) {
  return fmt::format("SELECT * FROM {} WHERE rowid >= {} AND rowid < {}", stored, begin, end);
}

// As many at a time as the store has threads: there may be thousands.
void run_all(Core& core, const std::vector<std::string>& orders) {
  std::vector<std::exception_ptr> failures(orders.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < orders.size();) {
      try {
        Link(core.api, core.store.raw(), core.interrupts).run(orders[i]);
      } catch (...) {
        failures[i] = std::current_exception();
        next = orders.size();
      }
    }
  };
  {
    std::vector<std::jthread> writers;
    const size_t most = std::min(orders.size(), size_t(core.options.threads));
    for (size_t i = 1; i < most; ++i) writers.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace

std::vector<int64_t> write_slices(Core& core, const Tables& tables, const std::string& stored,
                                  const std::string& options,
                                  const std::vector<std::string>& paths) {
  int64_t rows = tables.count(stored), parts = int64_t(paths.size());
  std::vector<int64_t> counts;
  std::vector<std::string> written, orders;
  for (int64_t i = 0; i < parts; ++i) {
    int64_t begin = rows * i / parts, end = rows * (i + 1) / parts;
    counts.push_back(end - begin);
    written.push_back(core.workspace.fresh(std::filesystem::path(paths[i]).extension()));
    orders.push_back(fmt::format("COPY ({}) TO {} ({})", slice_query(stored, begin, end),
                                 sql_text(written[i]), options));
  }
  run_all(core, orders);
  for (size_t i = 0; i < paths.size(); ++i)
    move_into_place(written[i], paths[i], core.options.keeper);
  return counts;
}

}  // namespace capstan::duck
