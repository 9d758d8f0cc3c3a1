#include "net/receive_budget.h"

#include <gtest/gtest.h>

#include <mutex>
#include <vector>

#include "net/test_server.h"

namespace capstan {
namespace {

TEST(ReceiveBudget, NeverRefusesWhoIsAlone) {
  auto budget = std::make_shared<ReceiveBudget>(10, nullptr);
  EXPECT_TRUE(budget->take(1000, false));
}

TEST(ReceiveBudget, RefusesWhatGoesBeyondItUntilSomethingIsGivenBack) {
  int told = 0;
  auto budget = std::make_shared<ReceiveBudget>(10, [&] { ++told; });
  auto first = budget->take(8, false), second = budget->take(2, false);
  EXPECT_TRUE(second);
  EXPECT_FALSE(budget->take(1, false));
  second.reset();
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(budget->take(1, false));
}

TEST(ReceiveBudget, LetsWhoInsistsGoBeyondIt) {
  auto budget = std::make_shared<ReceiveBudget>(10, nullptr);
  auto first = budget->take(10, false);
  EXPECT_TRUE(budget->take(10, true));
}

TEST(ReceiveBudget, MayBeHeldLongerThanTheServer) {
  auto budget = std::make_shared<ReceiveBudget>(10, [] { FAIL(); });
  auto first = budget->take(10, false);
  EXPECT_FALSE(budget->take(10, false));
  budget->close();
  budget.reset();
  first.reset();
}

// Keeps what it gets; answers nothing.
struct Keeper {
  std::mutex mutex;
  std::vector<Message> kept;
  size_t count() {
    std::lock_guard lock(mutex);
    return kept.size();
  }
  TestServer server{[this](const std::shared_ptr<Peer>&, Message&& message) {
                      std::lock_guard lock(mutex);
                      kept.push_back(std::move(message));
                    },
                    {.receive_bytes = 3u << 20}};
};

Message two_megabytes(float value) {
  Tensor large(DType::kFloat, Shape{500'000});
  std::fill_n(large.data<float>(), large.size(), value);
  return {.type = kTestMessage, .tensors = {large}};
}

TEST(ReceiveBudget, APeerWhoseMessageHadToWaitIsHeardWhenThereIsRoom) {
  Keeper keeper;
  auto first = keeper.server.connect({.kind = TransportKind::kTcp});
  auto second = keeper.server.connect({.kind = TransportKind::kTcp});
  first->send(two_megabytes(1), soon());
  ASSERT_TRUE(eventually([&] { return keeper.count() == 1; }));
  std::thread sender([&] { second->send(two_megabytes(2), soon()); });
  {
    std::lock_guard lock(keeper.mutex);
    keeper.kept.clear();
  }
  sender.join();
  ASSERT_TRUE(eventually([&] { return keeper.count() == 1; }));
  EXPECT_EQ(keeper.kept[0].tensors[0].data<float>()[499'999], 2);
}

TEST(ReceiveBudget, APeerWhoKeepsTheRoomDoesNotSilenceTheOthersForLong) {
  Keeper keeper;
  auto first = keeper.server.connect({.kind = TransportKind::kTcp});
  auto second = keeper.server.connect({.kind = TransportKind::kTcp});
  first->send(two_megabytes(1), soon());
  ASSERT_TRUE(eventually([&] { return keeper.count() == 1; }));
  second->send(two_megabytes(2), soon());
  EXPECT_TRUE(eventually([&] { return keeper.count() == 2; }));
}

}  // namespace
}  // namespace capstan
