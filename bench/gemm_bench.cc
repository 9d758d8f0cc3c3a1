// Matrix products of the training programs, beside oneDNN and OpenBLAS where they were found when
// this was built; one thread each, interleaved, best of many rounds. Ratios above 1: ours is
// faster.
//
//   OMP_NUM_THREADS=1 gemm_bench [rounds]

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "math/gemm.h"

#ifdef WITH_DNNL
#include <dnnl.h>
#endif
#ifdef WITH_OPENBLAS
#include <cblas.h>
#endif

namespace capstan {
namespace {

struct Case {
  const char* name;
  bool trans_a, trans_b;
  int64_t m, n, k;
};

constexpr Case kCases[] = {
    {"mlp_b forward 1", false, false, 100, 100, 784},
    {"mlp_b forward 2", false, false, 100, 10, 100},
    {"mlp_b weights 1", true, false, 784, 100, 100},
    {"mlp_b weights 2", true, false, 100, 10, 100},
    {"mlp_b back 2", false, true, 100, 100, 10},
    {"mlp_a forward 1", false, false, 32, 500, 784},
    {"mlp_a forward 2", false, false, 32, 500, 500},
    {"mlp_a forward 3", false, false, 32, 10, 500},
    {"mlp_a weights 1", true, false, 784, 500, 32},
    {"mlp_a weights 2", true, false, 500, 500, 32},
    {"mlp_a weights 3", true, false, 500, 10, 32},
    {"mlp_a back 2", false, true, 32, 500, 500},
    {"mlp_a back 3", false, true, 32, 500, 10},
    {"square 512", false, false, 512, 512, 512},
};

struct Matrices {
  explicit Matrices(const Case& c) : lda(c.trans_a ? c.m : c.k), ldb(c.trans_b ? c.k : c.n) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    a.resize(static_cast<size_t>(c.m * c.k));
    b.resize(static_cast<size_t>(c.k * c.n));
    out.resize(static_cast<size_t>(c.m * c.n));
    for (float& x : a) x = uniform(random);
    for (float& x : b) x = uniform(random);
  }
  int64_t lda, ldb;
  std::vector<float> a, b, out;
};

void run_ours(const Case& c, Matrices& x, ThreadPool& pool) {
  sgemm(c.trans_a, c.trans_b, c.m, c.n, c.k, x.a.data(), x.lda, x.b.data(), x.ldb, x.out.data(),
        c.n, false, pool);
}

#ifdef WITH_DNNL
void run_dnnl(const Case& c, Matrices& x) {
  dnnl_sgemm(c.trans_a ? 'T' : 'N', c.trans_b ? 'T' : 'N', c.m, c.n, c.k, 1, x.a.data(), x.lda,
             x.b.data(), x.ldb, 0, x.out.data(), c.n);
}
#endif

#ifdef WITH_OPENBLAS
void run_openblas(const Case& c, Matrices& x) {
  const auto i = [](int64_t n) { return static_cast<int>(n); };
  cblas_sgemm(CblasRowMajor, c.trans_a ? CblasTrans : CblasNoTrans,
              c.trans_b ? CblasTrans : CblasNoTrans, i(c.m), i(c.n), i(c.k), 1, x.a.data(),
              i(x.lda), x.b.data(), i(x.ldb), 0, x.out.data(), i(c.n));
}
#endif

// Keeps the shortest time of one call, over `times` calls at once.
template <class Call>
void measure(const Call& call, int times, double& best) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) call();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  best = std::min(best, taken.count() / times);
}

void run_case(const Case& c, int rounds, ThreadPool& pool) {
  Matrices x(c);
  const double flops = 2.0 * static_cast<double>(c.m * c.n * c.k);
  const int times = std::max(1, static_cast<int>(5e-4 / (flops / 8e10 + 1e-6)));
  double ours = 1, dnnl = 1, openblas = 1;
  for (int r = 0; r < rounds; ++r) {
    measure([&] { run_ours(c, x, pool); }, times, ours);
#ifdef WITH_DNNL
    measure([&] { run_dnnl(c, x); }, times, dnnl);
#endif
#ifdef WITH_OPENBLAS
    measure([&] { run_openblas(c, x); }, times, openblas);
#endif
  }
  fmt::print("{:<16} {:>4} x {:>3} x {:>3} {:7.1f} us {:6.1f} GF/s", c.name, c.m, c.n, c.k,
             ours * 1e6, flops / ours * 1e-9);
  for (auto [name, peer] : {std::pair{"oneDNN", dnnl}, std::pair{"OpenBLAS", openblas}})
    if (peer < 1) fmt::print("  {} {:5.1f} ({:.2f}x)", name, flops / peer * 1e-9, peer / ours);
  fmt::print("\n");
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
#ifdef WITH_OPENBLAS
  openblas_set_num_threads(1);
#endif
  capstan::ThreadPool pool(1);
  for (const capstan::Case& c : capstan::kCases) capstan::run_case(c, rounds, pool);
}
