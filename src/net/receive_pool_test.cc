#include "net/receive_pool.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

constexpr int64_t kElements = 50'000;  // 200 kB

TEST(ReceivePool, GivesTheSameMemoryToTheNextTensorOfItsSize) {
  auto pool = std::make_shared<ReceivePool>();
  const void* first = pool->take(DType::kFloat, Shape{kElements}).raw();
  EXPECT_EQ(pool->take(DType::kInt32, Shape{kElements / 10, 10}).raw(), first);
}

TEST(ReceivePool, GivesNoMemoryTwice) {
  auto pool = std::make_shared<ReceivePool>();
  Tensor first = pool->take(DType::kFloat, Shape{kElements});
  EXPECT_NE(pool->take(DType::kFloat, Shape{kElements}).raw(), first.raw());
}

TEST(ReceivePool, KeepsNoMoreThanItMay) {
  auto pool = std::make_shared<ReceivePool>(500'000);
  {
    Tensor a = pool->take(DType::kFloat, Shape{kElements}), b = pool->take(a.dtype(), a.shape()),
           c = pool->take(a.dtype(), a.shape()), large = pool->take(a.dtype(), Shape{1 << 20});
  }
  EXPECT_LE(pool->idle_bytes(), 500'000u);
  EXPECT_GE(pool->idle_bytes(), 400'000u);
}

TEST(ReceivePool, ItsTensorsMayOutliveIt) {
  auto pool = std::make_shared<ReceivePool>();
  Tensor tensor = pool->take(DType::kFloat, Shape{kElements});
  pool.reset();
  tensor.data<float>()[kElements - 1] = 1;
}

}  // namespace
}  // namespace capstan
