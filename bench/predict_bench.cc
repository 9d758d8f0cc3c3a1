// Batch prediction by the job script: a table of numbers in the engine, `predict` over all of it.
//
//   predict_bench --model FOLDER [--rows 1000000] [--features 20] [--rounds 5]
//
// Prints one JSON object: rows per second of the best round, the table of answers written and all.

#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "jobs/duck/duck.h"
#include "jobs/script/dtf_predict.h"
#include "jobs/script/test_call.h"

namespace capstan::script {
namespace {

struct Arguments {
  std::string model;
  int64_t rows = 1'000'000;
  int features = 20, rounds = 5;
};

Arguments parse(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--model") out.model = argv[i + 1];
    if (option == "--rows") out.rows = std::atoll(argv[i + 1]);
    if (option == "--features") out.features = std::atoi(argv[i + 1]);
    if (option == "--rounds") out.rounds = std::atoi(argv[i + 1]);
  }
  return out;
}

std::string feature_names(int count) {
  std::string names;
  for (int i = 0; i < count; ++i) names += fmt::format("{}f{}", i ? "," : "", i);
  return names;
}

void make_table(Engine& engine, const Arguments& arguments) {
  std::string columns = "i";
  for (int i = 0; i < arguments.features; ++i) columns += fmt::format(", random() as f{}", i);
  engine.select(fmt::format("select {} from range({}) as r(i)", columns, arguments.rows), "t");
}

double seconds_of(TestCall& call, const Arguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  call.run(dtf_predict, dtf_predict_options(), "t", arguments.model, "answered",
           {{"outputs", "p"}, {"features", feature_names(arguments.features)}});
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int run(const Arguments& arguments) {
  auto engine = duck::duck_engine();
  make_table(*engine, arguments);
  TestCall call(*engine);
  double best = 1e9;
  for (int i = 0; i < arguments.rounds; ++i) best = std::min(best, seconds_of(call, arguments));
  fmt::print("{{\"rows_per_second\": {:.0f}}}\n", double(arguments.rows) / best);
  return 0;
}

}  // namespace
}  // namespace capstan::script

int main(int argc, char** argv) {
  try {
    return capstan::script::run(capstan::script::parse(argc, argv));
  } catch (const capstan::Error& error) {
    fmt::print(stderr, "predict_bench: {}\n", error.what());
    return 1;
  }
}
