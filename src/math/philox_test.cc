#include "math/philox.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace capstan {
namespace {

// Recorded from TensorFlow 2.21: the first seven and last three elements of the first run of
// RandomUniform and friends with seed=87654321 and seed2=5 (TruncatedNormal: 2^40 + 5).
constexpr uint64_t kSeed = 87654321, kSeed2 = 5;
using Fill = void (*)(const Philox&, Tensor&, ThreadPool&);

Tensor made(Fill fill, DType dtype, int64_t n, uint64_t seed2 = kSeed2, uint64_t skip = 0,
            int threads = 1) {
  ThreadPool pool(threads);
  Philox stream(kSeed, seed2);
  stream.skip(skip);
  Tensor out(dtype, Shape{n});
  fill(stream, out, pool);
  return out;
}

void expect_floats(const Tensor& out, const std::vector<uint32_t>& bits) {
  for (int64_t i = 0; i < 10; ++i) {
    const float got = out.data<float>()[i < 7 ? i : out.size() - 10 + i];
    EXPECT_NEAR(std::bit_cast<int32_t>(got), std::bit_cast<int32_t>(bits[size_t(i)]), 1) << i;
  }
}

void expect_doubles(const Tensor& out, const std::vector<uint64_t>& bits) {
  for (int64_t i = 0; i < 10; ++i) {
    const double got = out.data<double>()[i < 7 ? i : out.size() - 10 + i];
    EXPECT_LE(std::abs(std::bit_cast<int64_t>(got) - std::bit_cast<int64_t>(bits[size_t(i)])), 1)
        << i;
  }
}

TEST(Philox, UniformFloatsAreTensorFlows) {
  expect_floats(made(fill_uniform, DType::kFloat, 100003),
                {0x3ec6d0bc, 0x3f29e71e, 0x3e448440, 0x3f34bfde, 0x3f769330, 0x3ea70e98, 0x3f35aa52,
                 0x3f5246ac, 0x3eea5b58, 0x3f141dc6});
}

TEST(Philox, UniformDoublesAreTensorFlows) {
  expect_doubles(made(fill_uniform, DType::kDouble, 10),
                 {0x3fbb42fa6d4f38f0, 0x3fe121114fb4bfde, 0x3fe69331b253874c, 0x3fe5aa520ba5e3ba,
                  0x3fb1780f7c967df0, 0x3fe263535472a328, 0x3fd3975321714024, 0x3fed28fb504edd7c,
                  0x3fee7d4a3b2b712a, 0x3fe7decd14a9b0f2});
}

TEST(Philox, NormalFloatsAreTensorFlows) {
  expect_floats(made(fill_normal, DType::kFloat, 100003),
                {0xbf96cb6b, 0xbf35beb8, 0xbfdfc3a4, 0xbefda16f, 0x3e78df2f, 0xbe015833, 0xbf29f73b,
                 0x3e289d04, 0xbf1af588, 0xbf20e3de});
}

TEST(Philox, NormalDoublesAreTensorFlows) {
  expect_doubles(made(fill_normal, DType::kDouble, 100003),
                 {0xbfddc9445e3ed638, 0xc00084685229fb57, 0xbfe7f8914be2b2d5, 0xbfd7a87dfe308b41,
                  0xbff0c10491ac8e9f, 0xc000897c4b88c67f, 0xbfea0e29a1ad05f4, 0xbfedfc836d9c7363,
                  0xbfeabbe7c34d343d, 0xbff008e0381c2bb7});
}

TEST(Philox, TruncatedFloatsAreTensorFlows) {
  expect_floats(made(fill_truncated_normal, DType::kFloat, 100003, (1ull << 40) + 5),
                {0x3f251096, 0x3fc4affd, 0xbf714dca, 0xbed5e377, 0x3f288474, 0xbfd792ba, 0xbe6ea6f8,
                 0xbede244a, 0xbf2443b2, 0xbffd7691});
}

TEST(Philox, TruncatedDoublesAreTensorFlows) {
  expect_doubles(made(fill_truncated_normal, DType::kDouble, 100003, (1ull << 40) + 5),
                 {0xbfb6d4fd5b77c22b, 0xbf9c8b48cf3db3ed, 0x3fd173cf121ac2d9, 0x3fa7a99f611edeaa,
                  0x3fdb57b376d84c52, 0x3fefa4456f8f8bba, 0xbfe296d49bf1faa6, 0x3fd19863ea0b945c,
                  0x3fd1bc6aec02be88, 0x3fed2a662a9cf57e});
}

TEST(Philox, ASecondRunGoesOnBehindTheBlocksReservedByTheFirst) {
  expect_floats(made(fill_uniform, DType::kFloat, 100003, kSeed2, reserved_blocks(100003)),
                {0x3e8f1f2c, 0x3ecf1f9c, 0x3eca9914, 0x3f003f6c, 0x3ecd9054, 0x3ef9ccc8, 0x3e496cd0,
                 0x3e22b2c8, 0x3f2ee7f2, 0x3f0e6c12});
}

TEST(Philox, IntegersAreTensorFlows) {
  ThreadPool pool(1);
  Tensor small(DType::kInt32, Shape{10}), large(DType::kInt64, Shape{10});
  fill_uniform_int(Philox(kSeed, kSeed2), -5, 1000000007, small, pool);
  fill_uniform_int(Philox(kSeed, kSeed2), -5, 1000000007, large, pool);
  const std::vector<int32_t> want32 = {0x21e15606, 0x2f9f5f72, 0x1c62fc6b, 0x30a4cbd2, 0x1e45b57b,
                                       0x2659657d, 0x338a7700, 0x05d2f1d8, 0x1e91177b, 0x095e3faa};
  const std::vector<int64_t> want64 = {0x0a6de2aa, 0x295cab1b, 0x2be38793, 0x24d13dc8, 0x18cf5507,
                                       0x30adbd8c, 0x10076bff, 0x229df11c, 0x2ac415dc, 0x0ee052d1};
  EXPECT_EQ(std::vector<int32_t>(small.data<int32_t>(), small.data<int32_t>() + 10), want32);
  EXPECT_EQ(std::vector<int64_t>(large.data<int64_t>(), large.data<int64_t>() + 10), want64);
}

TEST(Philox, ValuesDoNotDependOnTheNumberOfThreads) {
  for (Fill fill : {fill_uniform, fill_normal, fill_truncated_normal}) {
    const Tensor one = made(fill, DType::kFloat, 50001, kSeed2, 0, 1);
    const Tensor three = made(fill, DType::kFloat, 50001, kSeed2, 0, 3);
    EXPECT_TRUE(one.equals(three));
  }
}

TEST(Philox, TheCounterCarriesIntoItsUpperHalf) {
  Philox far(1, 7), next_seed(1, 8);
  far.skip(~0ull);
  far.skip(1);
  EXPECT_EQ(far.next(), next_seed.next());
}

}  // namespace
}  // namespace capstan
