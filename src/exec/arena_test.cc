#include "exec/arena.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(Arena, GivesAlignedRoomThatDoesNotOverlap) {
  Arena arena;
  size_t a = arena.take(10), b = arena.take(100), c = arena.take(1);
  EXPECT_EQ(a % Arena::kAlign, 0u);
  EXPECT_GE(b, a + 10);
  EXPECT_GE(c, b + 100);
}

TEST(Arena, UsesAgainWhatWasGivenBack) {
  Arena arena;
  size_t a = arena.take(256);
  arena.take(64);
  size_t size = arena.size();
  arena.release(a, 256);
  EXPECT_EQ(arena.take(200), a);
  EXPECT_EQ(arena.size(), size);
}

TEST(Arena, JoinsNeighboursThatWereGivenBackApart) {
  Arena arena;
  size_t a = arena.take(64), b = arena.take(64), c = arena.take(64);
  arena.take(64);
  arena.release(a, 64);
  arena.release(c, 64);
  arena.release(b, 64);
  EXPECT_EQ(arena.take(192), a);
}

TEST(Arena, GrowsTheHoleAtItsEnd) {
  Arena arena;
  arena.take(64);
  size_t last = arena.take(64);
  arena.release(last, 64);
  EXPECT_EQ(arena.take(640), last);
  EXPECT_EQ(arena.size(), last + 640);
}

}  // namespace
}  // namespace capstan
