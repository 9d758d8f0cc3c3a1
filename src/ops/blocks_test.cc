#include "ops/blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "base/error.h"
#include "ops/catalog.h"

namespace capstan {
namespace {

using Find = BlockFn (*)(DType, Isa);

Find block_of(const char* op) { return standard_catalog().find(op)->block; }

template <class T, class Out = T>
std::vector<Out> call(BlockFn block, const std::vector<std::vector<T>>& in) {
  std::vector<const void*> pointers;
  for (const auto& v : in) pointers.push_back(v.data());
  std::vector<Out> out(in[0].size() + 1, Out(77));
  block(pointers.data(), out.data(), static_cast<int64_t>(in[0].size()));
  EXPECT_EQ(out.back(), Out(77)) << "wrote behind the end";
  out.pop_back();
  return out;
}

// Operands of all sizes, both signs, with the special ones among them.
template <class T>
std::vector<T> operands(int seed, double low, double high) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::uniform_real_distribution<double> uniform(low, high), digits(-1, 1);
  using L = std::numeric_limits<T>;
  std::vector<T> x = {
      T(0),           T(-0.0),        T(1),        T(-1),           L::infinity(),
      -L::infinity(), L::quiet_NaN(), L::min(),    L::denorm_min(), -L::denorm_min(),
      L::max(),       L::lowest(),    T(0.5),      T(2.5),          T(-2.5),
      T(1e-30),       T(0.625),       T(-0.62499), T(88.5),         T(-88.5)};
  for (int i = 0; i < 4000; ++i) x.push_back(T(uniform(random)));
  for (int i = 0; i < 500; ++i)
    x.push_back(T(digits(random) * std::pow(10.0, -20 * std::abs(digits(random)))));
  return x;
}

// Distance in units in the last place of the expected value.
template <class T>
double ulps(T got, long double expected) {
  const T rounded = static_cast<T>(expected);
  if (std::isnan(rounded) || std::isnan(got))
    return std::isnan(rounded) && std::isnan(got) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e9;
  const T up = std::nextafter(std::abs(rounded), std::numeric_limits<T>::infinity());
  const long double unit =
      static_cast<long double>(up) - std::abs(static_cast<long double>(rounded));
  return static_cast<double>(std::abs(static_cast<long double>(got) - expected) / unit);
}

template <class T>
void expect_function(const char* op, const std::function<long double(long double)>& exact,
                     double low, double high, double tolerance) {
  for (Isa isa : machine_isas()) {
    const std::vector<T> x = operands<T>(1, low, high);
    const std::vector<T> y = call<T>(block_of(op)(DTypeOf<T>::value, isa), {x});
    double worst = 0;
    T at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(y[i], exact(x[i]));
      if (error > worst) worst = error, at = x[i];
    }
    EXPECT_LE(worst, tolerance) << op << " of " << at << ", size " << sizeof(T) << ", isa "
                                << int(isa);
  }
}

struct Function {
  const char* op;
  std::function<long double(long double)> exact;
  double low, high, tolerance;
};

std::vector<Function> functions() {
  using X = long double;
  return {
      {"Neg", [](X x) { return -x; }, -9, 9, 0},
      {"Abs", [](X x) { return std::abs(x); }, -9, 9, 0},
      {"Sign", [](X x) { return x > 0   ? X(1)
                                : x < 0 ? X(-1)
                                        : x; }, -9, 9, 0},
      {"Square", [](X x) { return x * x; }, -9, 9, 0.51},
      {"Reciprocal", [](X x) { return 1 / x; }, -9, 9, 0.51},
      {"Floor", [](X x) { return std::floor(x); }, -9, 9, 0},
      {"Ceil", [](X x) { return std::ceil(x); }, -9, 9, 0},
      {"Rint", [](X x) { return std::rint(x); }, -9, 9, 0},
      {"Relu", [](X x) { return x < 0 ? X(0) : x; }, -9, 9, 0},
      {"Relu6", [](X x) { return x < 0   ? X(0)
                                 : x > 6 ? X(6)
                                         : x; }, -9, 9, 0},
      {"Sqrt", [](X x) { return std::sqrt(x); }, 0, 9, 0.51},
      {"Rsqrt", [](X x) { return 1 / std::sqrt(x); }, 0, 9, 1.6},
      {"Exp", [](X x) { return std::exp(x); }, -110, 90, 2},
      {"Exp", [](X x) { return std::exp(x); }, -1, 1, 2},
      {"Exp", [](X x) { return std::exp(x); }, -750, 750, 2},
      {"Expm1", [](X x) { return std::expm1(x); }, -5, 5, 4},
      {"Log", [](X x) { return std::log(x); }, 0, 5, 2},
      {"Log", [](X x) { return std::log(x); }, 0, 1e30, 2},
      {"Log1p", [](X x) { return std::log1p(x); }, -1, 5, 3},
      {"Tanh", [](X x) { return std::tanh(x); }, -2, 2, 2.5},
      {"Tanh", [](X x) { return std::tanh(x); }, -30, 30, 2.5},
      {"Sigmoid", [](X x) { return x < -1e4 ? X(0) : 1 / (1 + std::exp(-x)); }, -110, 30, 3},
      {"Sin", [](X x) { return std::sin(x); }, -9, 9, 1},
      {"Cos", [](X x) { return std::cos(x); }, -9, 9, 1},
      {"Elu", [](X x) { return x < 0 ? std::expm1(x) : x; }, -9, 9, 4},
      {"Softplus", [](X x) { return x > 1e3 ? x : std::log1p(std::exp(x)); }, -100, 30, 4},
      {"Softsign", [](X x) { return std::isinf(x) ? X(NAN) : x / (1 + std::abs(x)); }, -9, 9, 1.6},
  };
}

TEST(Blocks, FunctionsAreWithinAFewUnitsOfLibm) {
  for (const Function& f : functions()) {
    expect_function<float>(f.op, f.exact, f.low, f.high, f.tolerance);
    expect_function<double>(f.op, f.exact, f.low, f.high, f.tolerance);
  }
}

struct Operation {
  const char* op;
  std::function<double(double, double)> exact;
  double tolerance;
};

double rounded(double x) { return static_cast<double>(static_cast<float>(x)); }

std::vector<Operation> operations() {
  return {
      {"Add", [](double a, double b) { return a + b; }, 0.51},
      {"Sub", [](double a, double b) { return a - b; }, 0.51},
      {"Mul", [](double a, double b) { return a * b; }, 0.51},
      {"Div", [](double a, double b) { return a / b; }, 0.51},
      {"FloorDiv", [](double a, double b) { return std::floor(rounded(a / b)); }, 0},
      {"TruncateDiv", [](double a, double b) { return std::trunc(rounded(a / b)); }, 0},
      {"Mod", [](double a, double b) { return std::fmod(a, b); }, 0},
      {"Maximum", [](double a, double b) { return std::isnan(a) || a > b ? a : b; }, 0},
      {"Minimum", [](double a, double b) { return std::isnan(a) || a < b ? a : b; }, 0},
      {"Pow", [](double a, double b) { return std::pow(a, b); }, 1},
      {"SquaredDifference", [](double a, double b) { return std::pow(rounded(a - b), 2); }, 0.51},
      {"ReluGrad", [](double dy, double x) { return dy * (x > 0); }, 0},
      {"Relu6Grad", [](double dy, double x) { return dy * (x > 0 && x < 6); }, 0},
  };
}

TEST(Blocks, OperationsOnTwoFloatsRoundOnce) {
  std::vector<float> x = operands<float>(1, -9, 9), y = operands<float>(2, -4, 4);
  std::shuffle(y.begin(), y.end(), std::mt19937(3));
  for (const Operation& f : operations())
    for (Isa isa : machine_isas()) {
      const std::vector<float> got = call<float>(block_of(f.op)(DType::kFloat, isa), {x, y});
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_LE(ulps(got[i], f.exact(x[i], y[i])), f.tolerance)
            << f.op << " of " << x[i] << " and " << y[i] << ", isa " << int(isa);
    }
}

TEST(Blocks, GradientsFollowTheirFormulas) {
  const std::vector<float> a = {0.25f, -0.5f, 0.75f, 2.0f, -3.0f}, b = {2, 3, -4, 0.5f, 1};
  const auto expect = [&](const char* op, auto formula) {
    for (Isa isa : machine_isas()) {
      const std::vector<float> got = call<float>(block_of(op)(DType::kFloat, isa), {a, b});
      for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(got[i], formula(a[i], b[i]), 2e-6) << i;
    }
  };
  expect("SigmoidGrad", [](double y, double dy) { return dy * y * (1 - y); });
  expect("TanhGrad", [](double y, double dy) { return dy * (1 - y * y); });
  expect("SqrtGrad", [](double y, double dy) { return dy * 0.5 / y; });
  expect("RsqrtGrad", [](double y, double dy) { return -0.5 * dy * y * y * y; });
  expect("ReciprocalGrad", [](double y, double dy) { return -dy * y * y; });
  expect("EluGrad", [](double dy, double y) { return y < 0 ? dy * (y + 1) : dy; });
  expect("SoftplusGrad", [](double dy, double x) { return dy / (1 + std::exp(-x)); });
  expect("SoftsignGrad", [](double dy, double x) { return dy / std::pow(1 + std::abs(x), 2); });
}

TEST(Blocks, AnElementDoesNotDependOnItsPlace) {
  const std::vector<float> x = operands<float>(5, -20, 20);
  for (Isa isa : machine_isas())
    for (const char* op : {"Exp", "Tanh", "Log", "Sigmoid", "Softplus"}) {
      const BlockFn block = block_of(op)(DType::kFloat, isa);
      const std::vector<float> whole = call<float>(block, {x});
      for (size_t i = 0; i < 100; ++i) {
        const std::vector<float> alone = call<float>(block, {{x[i]}});
        // The sign of a NaN depends on the order of operands, which is the compiler's choice.
        if (std::isnan(alone[0]) && std::isnan(whole[i])) continue;
        EXPECT_EQ(std::bit_cast<uint32_t>(alone[0]), std::bit_cast<uint32_t>(whole[i])) << x[i];
      }
    }
}

TEST(Blocks, WorkInPlaceAtEveryLength) {
  for (Isa isa : machine_isas())
    for (size_t n = 0; n < 40; ++n) {
      std::vector<double> x(n, 3.0), y(n, 0.5);
      const void* in[] = {x.data(), y.data()};
      block_of("Sub")(DType::kDouble, isa)(in, y.data(), static_cast<int64_t>(n));
      EXPECT_EQ(y, std::vector<double>(n, 2.5));
    }
}

template <class T>
void expect_whole_numbers(Isa isa) {
  const std::vector<T> x = {T(7), T(-7), T(7), T(-7), std::numeric_limits<T>::lowest(), T(0)};
  const std::vector<T> y = {T(3), T(3), T(-3), T(-3), T(-1), T(5)};
  const auto run = [&](const char* op) {
    return call<T>(block_of(op)(DTypeOf<T>::value, isa), {x, y});
  };
  const std::vector<T> sum = run("Add"), quotient = run("Div"), modulo = run("FloorMod");
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(sum[i], T(uint64_t(x[i]) + uint64_t(y[i])));
    if (i == 4 && std::is_signed_v<T>) continue;
    EXPECT_EQ(quotient[i], T(x[i] / y[i]));
    const T r = T(x[i] % y[i]);
    EXPECT_EQ(modulo[i], r != 0 && (r < 0) != (y[i] < 0) ? T(r + y[i]) : r);
  }
  if (std::is_signed_v<T>) {
    EXPECT_EQ(quotient[4], x[4]) << "overflow wraps around";
  }
}

TEST(Blocks, WholeNumbersWrapAround) {
  for (Isa isa : machine_isas()) {
    expect_whole_numbers<int32_t>(isa);
    expect_whole_numbers<int64_t>(isa);
    expect_whole_numbers<int16_t>(isa);
    expect_whole_numbers<int8_t>(isa);
    expect_whole_numbers<uint8_t>(isa);
    expect_whole_numbers<uint16_t>(isa);
    EXPECT_THAT(
        call<int32_t>(block_of("FloorDiv")(DType::kInt32, isa), {{7, -7, 6, -6}, {2, 2, -4, 3}}),
        testing::ElementsAre(3, -4, -2, -2));
    EXPECT_THAT(call<int32_t>(block_of("Pow")(DType::kInt32, isa), {{2, -3, 0, 5}, {10, 3, 0, 1}}),
                testing::ElementsAre(1024, -27, 1, 5));
  }
}

TEST(Blocks, RefuseToDivideWholeNumbersByZero) {
  const BlockFn divide = block_of("Div")(DType::kInt32, best_isa());
  EXPECT_THROW(call<int32_t>(divide, {{1, 2}, {1, 0}}), Error);
  const BlockFn power = block_of("Pow")(DType::kInt64, best_isa());
  EXPECT_THROW(call<int64_t>(power, {{2}, {-1}}), Error);
}

TEST(Blocks, ComparisonsKnowThatNanIsUnordered) {
  const std::vector<float> x = {1, 2, 3, NAN, NAN}, y = {2, 2, 2, 2, NAN};
  for (Isa isa : machine_isas()) {
    const auto run = [&](const char* op) {
      return call<float, uint8_t>(block_of(op)(DType::kFloat, isa), {x, y});
    };
    EXPECT_THAT(run("Equal"), testing::ElementsAre(0, 1, 0, 0, 0));
    EXPECT_THAT(run("NotEqual"), testing::ElementsAre(1, 0, 1, 1, 1));
    EXPECT_THAT(run("Less"), testing::ElementsAre(1, 0, 0, 0, 0));
    EXPECT_THAT(run("LessEqual"), testing::ElementsAre(1, 1, 0, 0, 0));
    EXPECT_THAT(run("Greater"), testing::ElementsAre(0, 0, 1, 0, 0));
    EXPECT_THAT(run("GreaterEqual"), testing::ElementsAre(0, 1, 1, 0, 0));
    EXPECT_THAT(run("IsNan"), testing::ElementsAre(0, 0, 0, 1, 1));
  }
}

TEST(Blocks, SelectChoosesByElement) {
  const bool choice[] = {true, false, true};
  const double x[] = {1, 2, 3}, y[] = {4, 5, 6};
  const void* in[] = {choice, x, y};
  double out[3];
  select_block(DType::kDouble, best_isa())(in, out, 3);
  EXPECT_THAT(out, testing::ElementsAre(1, 5, 3));
  EXPECT_EQ(select_block(DType::kString, best_isa()), nullptr);
}

TEST(Blocks, CastsCutTowardsZero) {
  for (Isa isa : machine_isas()) {
    const std::vector<float> x = {2.9f, -2.9f, 0.0f, 300.0f, 1e30f, NAN};
    const auto to = [&](DType type) { return cast_block(DType::kFloat, type, isa); };
    EXPECT_THAT((call<float, int32_t>(to(DType::kInt32), {x})),
                testing::ElementsAre(2, -2, 0, 300, INT32_MIN, INT32_MIN));
    EXPECT_THAT((call<float, int64_t>(to(DType::kInt64), {x})),
                testing::ElementsAre(2, -2, 0, 300, INT64_MIN, INT64_MIN));
    EXPECT_THAT((call<float, uint8_t>(to(DType::kUInt8), {x})),
                testing::ElementsAre(2, 254, 0, 44, 0, 0));
    EXPECT_THAT((call<float, uint8_t>(to(DType::kBool), {x})),
                testing::ElementsAre(1, 1, 0, 1, 1, 1));
    EXPECT_THAT(
        (call<int64_t, float>(cast_block(DType::kInt64, DType::kFloat, isa), {{-5, 1 << 24}})),
        testing::ElementsAre(-5.0f, 16777216.0f));
  }
}

TEST(Blocks, AreNullForTypesTheyLack) {
  EXPECT_EQ(add_block(DType::kString, best_isa()), nullptr);
  EXPECT_EQ(block_of("Exp")(DType::kInt32, best_isa()), nullptr);
  EXPECT_EQ(cast_block(DType::kFloat, DType::kString, best_isa()), nullptr);
}

}  // namespace
}  // namespace capstan
