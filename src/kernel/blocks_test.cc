#include "kernel/blocks.h"

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
#include "kernel/isa.h"

namespace capstan {
namespace {

using Find = BlockFn (*)(DType, Isa);

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
void expect_function(Find find, const std::function<long double(long double)>& exact, double low,
                     double high, double tolerance, const char* name) {
  for (Isa isa : machine_isas()) {
    const std::vector<T> x = operands<T>(1, low, high);
    const std::vector<T> y = call<T>(find(DTypeOf<T>::value, isa), {x});
    double worst = 0;
    T at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(y[i], exact(x[i]));
      if (error > worst) worst = error, at = x[i];
    }
    EXPECT_LE(worst, tolerance) << name << " of " << at << ", size " << sizeof(T) << ", isa "
                                << int(isa);
  }
}

struct Function {
  const char* name;
  Find find;
  std::function<long double(long double)> exact;
  double low, high, tolerance;
};

std::vector<Function> functions() {
  using X = long double;
  return {
      {"neg", neg_block, [](X x) { return -x; }, -9, 9, 0},
      {"abs", abs_block, [](X x) { return std::abs(x); }, -9, 9, 0},
      {"sign", sign_block, [](X x) { return x > 0   ? X(1)
                                            : x < 0 ? X(-1)
                                                    : x; }, -9, 9, 0},
      {"square", square_block, [](X x) { return x * x; }, -9, 9, 0.51},
      {"reciprocal", reciprocal_block, [](X x) { return 1 / x; }, -9, 9, 0.51},
      {"floor", floor_block, [](X x) { return std::floor(x); }, -9, 9, 0},
      {"ceil", ceil_block, [](X x) { return std::ceil(x); }, -9, 9, 0},
      {"rint", rint_block, [](X x) { return std::rint(x); }, -9, 9, 0},
      {"relu", relu_block, [](X x) { return x < 0 ? X(0) : x; }, -9, 9, 0},
      {"relu6", relu6_block, [](X x) { return x < 0   ? X(0)
                                              : x > 6 ? X(6)
                                                      : x; }, -9, 9, 0},
      {"sqrt", sqrt_block, [](X x) { return std::sqrt(x); }, 0, 9, 0.51},
      {"rsqrt", rsqrt_block, [](X x) { return 1 / std::sqrt(x); }, 0, 9, 1.6},
      {"exp", exp_block, [](X x) { return std::exp(x); }, -110, 90, 2},
      {"exp", exp_block, [](X x) { return std::exp(x); }, -1, 1, 2},
      {"exp", exp_block, [](X x) { return std::exp(x); }, -750, 750, 2},
      {"expm1", expm1_block, [](X x) { return std::expm1(x); }, -5, 5, 4},
      {"log", log_block, [](X x) { return std::log(x); }, 0, 5, 2},
      {"log", log_block, [](X x) { return std::log(x); }, 0, 1e30, 2},
      {"log1p", log1p_block, [](X x) { return std::log1p(x); }, -1, 5, 3},
      {"tanh", tanh_block, [](X x) { return std::tanh(x); }, -2, 2, 2.5},
      {"tanh", tanh_block, [](X x) { return std::tanh(x); }, -30, 30, 2.5},
      {"sigmoid", sigmoid_block, [](X x) { return x < -1e4 ? X(0) : 1 / (1 + std::exp(-x)); }, -110,
       30, 3},
      {"sin", sin_block, [](X x) { return std::sin(x); }, -9, 9, 1},
      {"cos", cos_block, [](X x) { return std::cos(x); }, -9, 9, 1},
      {"elu", elu_block, [](X x) { return x < 0 ? std::expm1(x) : x; }, -9, 9, 4},
      {"softplus", softplus_block, [](X x) { return x > 1e3 ? x : std::log1p(std::exp(x)); }, -100,
       30, 4},
      {"softsign", softsign_block,
       [](X x) { return std::isinf(x) ? X(NAN) : x / (1 + std::abs(x)); }, -9, 9, 1.6},
  };
}

TEST(Blocks, FunctionsAreWithinAFewUnitsOfLibm) {
  for (const Function& f : functions()) {
    expect_function<float>(f.find, f.exact, f.low, f.high, f.tolerance, f.name);
    expect_function<double>(f.find, f.exact, f.low, f.high, f.tolerance, f.name);
  }
}

struct Operation {
  const char* name;
  Find find;
  std::function<double(double, double)> exact;
  double tolerance;
};

double rounded(double x) { return static_cast<double>(static_cast<float>(x)); }

std::vector<Operation> operations() {
  return {
      {"add", add_block, [](double a, double b) { return a + b; }, 0.51},
      {"sub", sub_block, [](double a, double b) { return a - b; }, 0.51},
      {"mul", mul_block, [](double a, double b) { return a * b; }, 0.51},
      {"div", div_block, [](double a, double b) { return a / b; }, 0.51},
      {"floor_div", floor_div_block, [](double a, double b) { return std::floor(rounded(a / b)); },
       0},
      {"truncate_div", truncate_div_block,
       [](double a, double b) { return std::trunc(rounded(a / b)); }, 0},
      {"truncate_mod", truncate_mod_block, [](double a, double b) { return std::fmod(a, b); }, 0},
      {"maximum", maximum_block, [](double a, double b) { return std::isnan(a) || a > b ? a : b; },
       0},
      {"minimum", minimum_block, [](double a, double b) { return std::isnan(a) || a < b ? a : b; },
       0},
      {"pow", pow_block, [](double a, double b) { return std::pow(a, b); }, 1},
      {"squared_difference", squared_difference_block,
       [](double a, double b) { return std::pow(rounded(a - b), 2); }, 0.51},
      {"relu_grad", relu_grad_block, [](double dy, double x) { return dy * (x > 0); }, 0},
      {"relu6_grad", relu6_grad_block, [](double dy, double x) { return dy * (x > 0 && x < 6); },
       0},
  };
}

TEST(Blocks, OperationsOnTwoFloatsRoundOnce) {
  std::vector<float> x = operands<float>(1, -9, 9), y = operands<float>(2, -4, 4);
  std::shuffle(y.begin(), y.end(), std::mt19937(3));
  for (const Operation& f : operations())
    for (Isa isa : machine_isas()) {
      const std::vector<float> got = call<float>(f.find(DType::kFloat, isa), {x, y});
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_LE(ulps(got[i], f.exact(x[i], y[i])), f.tolerance)
            << f.name << " of " << x[i] << " and " << y[i] << ", isa " << int(isa);
    }
}

TEST(Blocks, GradientsFollowTheirFormulas) {
  const std::vector<float> a = {0.25f, -0.5f, 0.75f, 2.0f, -3.0f}, b = {2, 3, -4, 0.5f, 1};
  const auto expect = [&](Find find, auto formula) {
    for (Isa isa : machine_isas()) {
      const std::vector<float> got = call<float>(find(DType::kFloat, isa), {a, b});
      for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(got[i], formula(a[i], b[i]), 2e-6) << i;
    }
  };
  expect(sigmoid_grad_block, [](double y, double dy) { return dy * y * (1 - y); });
  expect(tanh_grad_block, [](double y, double dy) { return dy * (1 - y * y); });
  expect(sqrt_grad_block, [](double y, double dy) { return dy * 0.5 / y; });
  expect(rsqrt_grad_block, [](double y, double dy) { return -0.5 * dy * y * y * y; });
  expect(reciprocal_grad_block, [](double y, double dy) { return -dy * y * y; });
  expect(elu_grad_block, [](double dy, double y) { return y < 0 ? dy * (y + 1) : dy; });
  expect(softplus_grad_block, [](double dy, double x) { return dy / (1 + std::exp(-x)); });
  expect(softsign_grad_block,
         [](double dy, double x) { return dy / std::pow(1 + std::abs(x), 2); });
}

TEST(Blocks, AnElementDoesNotDependOnItsPlace) {
  const std::vector<float> x = operands<float>(5, -20, 20);
  for (Isa isa : machine_isas())
    for (Find find : {exp_block, tanh_block, log_block, sigmoid_block, softplus_block}) {
      const BlockFn block = find(DType::kFloat, isa);
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
      sub_block(DType::kDouble, isa)(in, y.data(), static_cast<int64_t>(n));
      EXPECT_EQ(y, std::vector<double>(n, 2.5));
    }
}

template <class T>
void expect_whole_numbers(Isa isa) {
  const std::vector<T> x = {T(7), T(-7), T(7), T(-7), std::numeric_limits<T>::lowest(), T(0)};
  const std::vector<T> y = {T(3), T(3), T(-3), T(-3), T(-1), T(5)};
  const auto run = [&](Find find) { return call<T>(find(DTypeOf<T>::value, isa), {x, y}); };
  const std::vector<T> sum = run(add_block), quotient = run(div_block),
                       modulo = run(floor_mod_block);
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
    EXPECT_THAT(call<int32_t>(floor_div_block(DType::kInt32, isa), {{7, -7, 6, -6}, {2, 2, -4, 3}}),
                testing::ElementsAre(3, -4, -2, -2));
    EXPECT_THAT(call<int32_t>(pow_block(DType::kInt32, isa), {{2, -3, 0, 5}, {10, 3, 0, 1}}),
                testing::ElementsAre(1024, -27, 1, 5));
  }
}

TEST(Blocks, RefuseToDivideWholeNumbersByZero) {
  const BlockFn divide = div_block(DType::kInt32, best_isa());
  EXPECT_THROW(call<int32_t>(divide, {{1, 2}, {1, 0}}), Error);
  const BlockFn power = pow_block(DType::kInt64, best_isa());
  EXPECT_THROW(call<int64_t>(power, {{2}, {-1}}), Error);
}

TEST(Blocks, ComparisonsKnowThatNanIsUnordered) {
  const std::vector<float> x = {1, 2, 3, NAN, NAN}, y = {2, 2, 2, 2, NAN};
  for (Isa isa : machine_isas()) {
    const auto run = [&](Find find) {
      return call<float, uint8_t>(find(DType::kFloat, isa), {x, y});
    };
    EXPECT_THAT(run(equal_block), testing::ElementsAre(0, 1, 0, 0, 0));
    EXPECT_THAT(run(not_equal_block), testing::ElementsAre(1, 0, 1, 1, 1));
    EXPECT_THAT(run(less_block), testing::ElementsAre(1, 0, 0, 0, 0));
    EXPECT_THAT(run(less_equal_block), testing::ElementsAre(1, 1, 0, 0, 0));
    EXPECT_THAT(run(greater_block), testing::ElementsAre(0, 0, 1, 0, 0));
    EXPECT_THAT(run(greater_equal_block), testing::ElementsAre(0, 1, 1, 0, 0));
    EXPECT_THAT(run(is_nan_block), testing::ElementsAre(0, 0, 0, 1, 1));
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
  EXPECT_EQ(exp_block(DType::kInt32, best_isa()), nullptr);
  EXPECT_EQ(cast_block(DType::kFloat, DType::kString, best_isa()), nullptr);
}

}  // namespace
}  // namespace capstan
