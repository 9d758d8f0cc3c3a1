#include "base/poster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <vector>

namespace capstan {
namespace {

TEST(Poster, RunsInOrderAndFinishesBeforeItIsGone) {
  std::vector<int> seen;
  {
    Poster poster;
    for (int i = 0; i < 4; ++i) poster.post([&seen, i] { seen.push_back(i); });
  }
  EXPECT_THAT(seen, testing::ElementsAre(0, 1, 2, 3));
}

TEST(Poster, ATaskMayHoldTheLastReferenceToItsPoster) {
  for (int i = 0; i < 20; ++i) {
    std::promise<void> released;
    std::promise<void> done;
    std::future<void> ended = done.get_future();
    auto poster = std::make_shared<Poster>();
    auto task = [poster, gate = released.get_future().share(),
                 done = std::make_shared<std::promise<void>>(std::move(done))] {
      gate.wait();
      done->set_value();
    };
    poster->post(std::move(task));
    poster.reset();
    released.set_value();
    ended.wait();
  }
}

}  // namespace
}  // namespace capstan
