#pragma once

// How every C++ benchmark measures and prints: ours and the raw limit interleaved in one run, the
// best round counts, the median of the rounds' ratios beside it.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace capstan {

// Calls per second over about `seconds`.
inline double rate(double seconds, const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  auto end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  int64_t calls = 0;
  while (Clock::now() < end) {
    for (int i = 0; i < 8; ++i) call();
    calls += 8;
  }
  return double(calls) / std::chrono::duration<double>(Clock::now() - start).count();
}

struct Comparison {
  std::string name;
  std::function<void()> ours, peer;
  std::string peer_name = "raw TCP";
  // "ratio": ours is to be at least `target` times the peer; "at_least": calls per second of ours.
  // 0: nothing was promised.
  double target = 0;
  std::string rule = "ratio";
};

class Report {
 public:
  // --json, --seconds <of one line>; another option ends the program with a message.
  Report(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      std::string_view arg = argv[i];
      if (arg == "--json") {
        json_ = true;
      } else if (arg == "--seconds" && i + 1 < argc) {
        seconds_ = std::atof(argv[++i]);
      } else {
        fmt::print(stderr, "{}: unknown option {}; known: --json, --seconds <number>\n", argv[0],
                   arg);
        std::exit(2);
      }
    }
  }

  void run(const Comparison& line) const {
    double ours = 0, peer = 0;
    std::vector<double> ratios;
    (void)rate(seconds_ / kRounds, line.ours);  // warm
    for (int round = 0; round < kRounds; ++round) {
      double a = rate(seconds_ / kRounds / 2, line.ours),
             b = rate(seconds_ / kRounds / 2, line.peer);
      ours = std::max(ours, a);
      peer = std::max(peer, b);
      ratios.push_back(a / b);
    }
    std::nth_element(ratios.begin(), ratios.begin() + kRounds / 2, ratios.end());
    json_ ? print_json(line, ours, peer, ratios[kRounds / 2])
          : print_text(line, ours, peer, ratios[kRounds / 2]);
    std::fflush(stdout);
  }

 private:
  static constexpr int kRounds = 5;

  static void print_json(const Comparison& line, double ours, double peer, double median) {
    fmt::print(R"({{"name": "{}", "unit": "/s", "ours": {:.1f}, "peer": {:.1f}, "ratio": {:.4f}, )"
               R"("median_ratio": {:.4f}, "peer_name": "{}", "rule": "{}")",
               line.name, ours, peer, ours / peer, median, line.peer_name, line.rule);
    if (line.target > 0) fmt::print(R"(, "target": {})", line.target);
    fmt::print("}}\n");
  }

  static void print_text(const Comparison& line, double ours, double peer, double median) {
    fmt::print(
        "{:<34} ours {:>10.0f}/s {:>8.2f} us   {} {:>10.0f}/s {:>8.2f} us   x {:.2f} (median "
        "{:.2f})\n",
        line.name, ours, 1e6 / ours, line.peer_name, peer, 1e6 / peer, ours / peer, median);
  }

  bool json_ = false;
  double seconds_ = 1;
};

}  // namespace capstan
