// What the engine of job scripts costs beside DuckDB itself, in the same run, interleaved; the best
// round counts.
//
//   sql_bench [--json] [--seconds 10] [--rows 1000000]

#include <chrono>
#include <filesystem>
#include <fstream>
#include <vector>

#include "compare.h"
#include "jobs/duck/core.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;

constexpr int kFeatures = 20;
constexpr const char* kQuery =
    "SELECT id, md5(name) AS name, day, x * 2 AS x, y, hash(name) % 1000 AS bucket FROM ";

struct Options {
  bool json = false;
  double seconds = 10;
  int64_t rows = 1'000'000;
};

struct Measured {
  std::string name, peer_name, rule;
  double target;
  std::function<void()> ours, peer;  // one pass over all rows; no peer: nothing to compare with
};

double seconds_of(const std::function<void()>& call) {
  auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print(const Options& options, const Measured& line, double ours, double peer, double median) {
  if (options.json) {
    fmt::print(
        "{{\"name\":\"{}\",\"unit\":\"rows/s\",\"ours\":{:.0f},\"peer\":{},\"median_ratio\":{},"
        "\"target\":{},\"rule\":\"{}\",\"peer_name\":\"{}\"}}\n",
        line.name, ours, line.peer ? fmt::format("{:.0f}", peer) : "null",
        line.peer ? fmt::format("{:.3f}", median) : "null", line.target, line.rule, line.peer_name);
  } else {
    fmt::print("{:<44} {:>12.0f} rows/s {:>12.0f} {} {:>6.2f}x\n", line.name, ours, peer,
               line.peer_name, median);
  }
  std::fflush(stdout);
}

void run(const Options& options, const Measured& line) {
  double best = 0, best_peer = 0, spent = 0;
  std::vector<double> ratios;
  for (int round = 0; round < 3 || spent < options.seconds; ++round) {
    double ours = seconds_of(line.ours), peer = line.peer ? seconds_of(line.peer) : 0;
    spent += ours + peer;
    best = std::max(best, double(options.rows) / ours);
    if (line.peer) best_peer = std::max(best_peer, double(options.rows) / peer);
    ratios.push_back(peer / ours);
  }
  std::nth_element(ratios.begin(), ratios.begin() + ratios.size() / 2, ratios.end());
  print(options, line, best, best_peer, ratios[ratios.size() / 2]);
}

std::string write_csv(const std::string& folder, int64_t rows) {
  std::string path = folder + "/rows.csv", block = "id,name,day,x,y\n";
  std::ofstream out(path, std::ios::binary);
  for (int64_t i = 0; i < rows; ++i) {
    block += fmt::format("{},user-{},2026-{:02}-{:02},{:.4f},{}\n", i, i * 7919 % 100003,
                         1 + i % 12, 1 + i % 28, double(i % 9973) / 7, i % 2);
    if (block.size() < (1 << 20) && i + 1 < rows) continue;
    out << block;
    block.clear();
  }
  return path;
}

// load, select, repartition, shards: what a script does before its training starts.
Measured shards(const std::string& folder, const std::string& csv) {
  std::string out = folder + "/shards", copied = folder + "/copy.json";
  auto ours = [=] {
    std::unique_ptr<script::Engine> engine = duck::duck_engine({.temp_folder = folder});
    engine->load({"csv", csv, "", {{"header", "true"}}}, "t");
    engine->select(std::string(kQuery) + "t", "u");
    engine->repartition("u", 2, "u");
    engine->write_shards("u", "json", out);
  };
  auto peer = [=] {
    std::string library = duck::find_library(fs::read_symlink("/proc/self/exe"));
    const duck::Api& api = duck::load_api(library);
    duck::Interrupts interrupts(api);
    duck::Store store(api, {});
    duck::Link link(api, store.raw(), interrupts);
    link.run(fmt::format("COPY ({} read_csv('{}', header = true)) TO '{}' (FORMAT json)", kQuery,
                         csv, copied));
  };
  return {"CSV to two JSON shards", "DuckDB's COPY", "ratio", 0.5, ours, peer};
}

script::Function first_column() {
  script::Function function{"f", {}, {{"y", DType::kFloat, 0}}, {}};
  for (int i = 0; i < kFeatures; ++i) function.arguments.push_back({"x", DType::kFloat, 0});
  function.call = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0]}; };
  return function;
}

Measured calls(script::Engine& engine, int64_t rows) {
  std::string columns, names;
  for (int i = 0; i < kFeatures; ++i) {
    columns += fmt::format("{}(i % {})::float as c{}", i ? ", " : "", i + 2, i);
    names += fmt::format("{}c{}", i ? ", " : "", i);
  }
  engine.select(fmt::format("select {} from range({}) as r(i)", columns, rows), "features");
  engine.add_function(first_column());
  std::string sql = "select f(" + names + ") as y from features";
  return {"a function of 20 columns",
          "",
          "at_least",
          300'000,
          [&engine, sql] { engine.select(sql, "out"); },
          nullptr};
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i];
    bool has_value = i + 1 < argc;
    if (arg == "--json") {
      options.json = true;
    } else if (arg == "--seconds" && has_value) {
      options.seconds = std::atof(argv[++i]);
    } else if (arg == "--rows" && has_value) {
      options.rows = std::atoll(argv[++i]);
    } else {
      fmt::print(stderr, "sql_bench: unknown option {}; known: --json, --seconds, --rows\n", arg);
      std::exit(2);
    }
  }
  return options;
}

int main_with(const Options& options) {
  std::string missing = duck::missing_library();
  if (!missing.empty()) {
    fmt::print(stderr, "sql_bench: {}\n", missing);
    return 1;
  }
  duck::Workspace workspace(fs::temp_directory_path());
  run(options, shards(workspace.folder(), write_csv(workspace.folder(), options.rows)));
  std::unique_ptr<script::Engine> engine = duck::duck_engine();
  run(options, calls(*engine, options.rows));
  return 0;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::main_with(capstan::parse(argc, argv)); }
