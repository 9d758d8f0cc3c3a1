#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstring>

#include "net/shm_places.h"
#include "net/test_server.h"

namespace capstan {
namespace {

Tensor filled(const std::shared_ptr<SharedArena>& arena, int64_t n, float value,
              Sharing sharing = Sharing::kFrozen) {
  Tensor t = arena->allocate(DType::kFloat, Shape{n}, sharing);
  std::fill_n(t.data<float>(), n, value);
  return t;
}

struct Pair {
  std::shared_ptr<SharedArena> arena = SharedArena::make();
  std::vector<Message> kept;
  std::mutex mutex;
  std::unique_ptr<TestServer> server;
  std::unique_ptr<Lane> lane;

  // The server keeps what it gets until told otherwise, and answers with nothing.
  Pair() {
    server = std::make_unique<TestServer>([this](const std::shared_ptr<Peer>& peer, Message&& m) {
      Message reply{.type = m.type, .call = m.call};
      {
        std::lock_guard lock(mutex);
        kept.push_back(std::move(m));
      }
      peer->send(std::move(reply));
    });
    lane = server->connect({.kind = TransportKind::kShm, .channel = {.arena = arena}});
  }
  void call(Message m) {
    m.type = kTestMessage;
    lane->send(m, soon());
    lane->receive(soon());
  }
};

TEST(SharedRegion, CannotBeMappedWritableOrShrunkByThePeer) {
  auto region = SharedRegion::create(1, 8192);
  EXPECT_EQ(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, region->fd(), 0), MAP_FAILED);
  EXPECT_NE(::ftruncate(region->fd(), 4096), 0);
  std::strcpy(region->data(), "hello");
  auto seen = SharedRegion::map(1, Fd(::dup(region->fd())), 8192, "peer");
  EXPECT_STREQ(seen->data(), "hello");
}

TEST(SharedRegion, RefusesMemoryThatCouldShrinkOrIsTooShort) {
  Fd loose(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(loose.get(), 8192), 0);
  EXPECT_THROW(SharedRegion::map(1, Fd(::dup(loose.get())), 8192, "peer"), Error);
  auto region = SharedRegion::create(1, 8192);
  EXPECT_THROW(SharedRegion::map(1, Fd(::dup(region->fd())), 16384, "peer"), Error);
  EXPECT_THROW(SharedRegion::map(1, Fd(::open("/dev/zero", O_RDONLY)), 4096, "peer"), Error);
}

TEST(SharedArena, GivesAlignedBlocksBackAndJoinsThem) {
  auto arena = SharedArena::make();
  for (int round = 0; round < 3; ++round) {
    std::vector<Tensor> tensors;
    for (int64_t n = 0; n < 200; ++n) tensors.push_back(filled(arena, n * 37, float(n)));
    for (int64_t n = 0; n < 200; ++n) {
      EXPECT_EQ(uintptr_t(tensors[size_t(n)].raw()) % 64, 0u);
      for (int64_t i = 0; i < n * 37; ++i) ASSERT_EQ(tensors[size_t(n)].data<float>()[i], float(n));
    }
    // Every other one first, then the rest.
    for (size_t i = 0; i < 200; i += 2) tensors[i] = {};
  }
  EXPECT_EQ(arena->bytes_in_use(), 0u);
  EXPECT_EQ(arena->bytes_reserved(), ArenaOptions().region_bytes);
}

TEST(SharedArena, KeepsLargeRegionsForReuseUpToItsLimit) {
  auto arena = SharedArena::make({.frozen_limit = 24 << 20});
  const void* first = filled(arena, 4 << 20, 1).raw();
  EXPECT_EQ(filled(arena, 4 << 20, 2).raw(), first);
  uint64_t epoch = arena->epoch();
  Tensor other = filled(arena, 5 << 20, 3);  // no room beside the one that is kept
  EXPECT_NE(arena->epoch(), epoch);
  EXPECT_LE(arena->bytes_reserved(), 24u << 20);
  EXPECT_FALSE(arena->try_allocate(DType::kFloat, Shape{2 << 20}).valid());
  EXPECT_THROW(arena->allocate(DType::kFloat, Shape{2 << 20}), Error);
  EXPECT_TRUE(arena->try_allocate(DType::kFloat, Shape{2 << 20}, Sharing::kLive).valid());
}

TEST(SharedArena, KnowsItsOwnBlocksOnly) {
  auto arena = SharedArena::make();
  Tensor t = filled(arena, 1000, 1);
  EXPECT_TRUE(arena->locate(t.data<float>() + 16, 64));
  EXPECT_FALSE(arena->locate(t.raw(), 5000));
  int local = 0;
  EXPECT_FALSE(arena->locate(&local, 4));
  const void* gone = t.raw();
  t = {};
  EXPECT_FALSE(arena->locate(gone, 4));
}

TEST(SharedTensors, PassWithoutACopyAndAreReadOnly) {
  Pair pair;
  Tensor mine = filled(pair.arena, 100'000, 3);
  pair.call({.tensors = {mine}});
  Tensor& theirs = pair.kept[0].tensors[0];
  EXPECT_FALSE(theirs.writable());
  EXPECT_TRUE(theirs.equals(mine));
  // Both look at the same bytes.
  mine.data<float>()[7] = 42;
  EXPECT_EQ(theirs.data<float>()[7], 42);
}

TEST(SharedTensors, AreHeldUntilThePeerLetsGo) {
  Pair pair;
  pair.call({.tensors = {filled(pair.arena, 100'000, 3)}});
  pair.call({});
  EXPECT_GE(pair.arena->bytes_in_use(), 400'000u);
  EXPECT_EQ(pair.kept[0].tensors[0].data<float>()[99'999], 3);
  {
    std::lock_guard lock(pair.mutex);
    pair.kept.clear();
  }
  pair.call({});
  EXPECT_EQ(pair.arena->bytes_in_use(), 0u);
}

TEST(SharedTensors, OutliveTheirConnection) {
  Pair pair;
  pair.call({.tensors = {filled(pair.arena, 100'000, 3)}});
  pair.lane.reset();
  EXPECT_TRUE(eventually([&] { return pair.server->closed() == 1; }));
  pair.server->stop();
  EXPECT_EQ(pair.kept[0].tensors[0].data<float>()[99'999], 3);
}

TEST(SharedTensors, ThatAreLiveAreCopiedUnlessTheMessageSharesThem) {
  Pair pair;
  Tensor variable = filled(pair.arena, 100'000, 1, Sharing::kLive);
  pair.call({.tensors = {variable}});
  pair.call({.share_live = true, .tensors = {variable}});
  std::fill_n(variable.data<float>(), 100'000, 2.0f);
  EXPECT_EQ(pair.kept[0].tensors[0].data<float>()[0], 1);
  EXPECT_EQ(pair.kept[1].tensors[0].data<float>()[0], 2);
}

TEST(SharedTensors, ThatAreLentAreNotWrittenBeforeThePeerIsDone) {
  Pair pair;
  Tensor variable = filled(pair.arena, 100'000, 1, Sharing::kLive);
  pair.call({.share_live = true, .tensors = {variable}});
  EXPECT_FALSE(pair.arena->begin_write(variable.raw()));
  {
    std::lock_guard lock(pair.mutex);
    pair.kept.clear();
  }
  EXPECT_TRUE(pair.arena->begin_write(variable.raw()));
  pair.arena->end_write(variable.raw());
}

TEST(SharedTensors, ThatAreBeingWrittenAreCopiedRatherThanLent) {
  Pair pair;
  Tensor variable = filled(pair.arena, 100'000, 1, Sharing::kLive);
  ASSERT_TRUE(pair.arena->begin_write(variable.raw()));
  pair.call({.share_live = true, .tensors = {variable}});
  std::fill_n(variable.data<float>(), 100'000, 2.0f);
  pair.arena->end_write(variable.raw());
  EXPECT_EQ(pair.kept[0].tensors[0].data<float>()[0], 1);
  EXPECT_TRUE(pair.arena->begin_write(variable.raw())) << "nobody looks at it";
}

TEST(SharedTensors, OfIdsAndIndicesAreCopiedBeforeAnyoneChecksThem) {
  Pair pair;
  Tensor ids = pair.arena->allocate(DType::kInt64, Shape{10'000});
  std::fill_n(ids.data<int64_t>(), 10'000, int64_t(5));
  pair.call({.tensors = {ids}});
  ids.data<int64_t>()[0] = -1;
  EXPECT_TRUE(pair.kept[0].tensors[0].writable());
  EXPECT_EQ(pair.kept[0].tensors[0].data<int64_t>()[0], 5);
}

TEST(SharedTensors, TravelInTheFrameWhenSharedMemoryIsFull) {
  Pair pair;
  auto small = SharedArena::make({.frozen_limit = 100'000});
  auto lane = pair.server->connect({.kind = TransportKind::kShm, .channel = {.arena = small}});
  Tensor big(DType::kFloat, Shape{1 << 20});
  std::fill_n(big.data<float>(), big.size(), 9.0f);
  lane->send({.type = kTestMessage, .tensors = {big}}, soon());
  lane->receive(soon());
  EXPECT_EQ(small->bytes_reserved(), 0u) << "nothing was placed there";
  EXPECT_TRUE(pair.kept[0].tensors[0].equals(big));
}

TEST(SharedTensors, MoreThanThereAreSlotsForStillArrive) {
  Pair pair;
  Message m;
  for (size_t i = 0; i < kAckSlots + 100; ++i)
    m.tensors.push_back(filled(pair.arena, 4000, float(i)));
  pair.call(m);
  for (size_t i = 0; i < m.tensors.size(); ++i) {
    ASSERT_TRUE(pair.kept[0].tensors[i].equals(m.tensors[i])) << i;
  }
}

TEST(SharedTensors, OfRegionsThatAreGoneAreUnmapped) {
  Pair pair;
  auto arena = SharedArena::make({.frozen_limit = 40 << 20});
  auto lane = pair.server->connect({.kind = TransportKind::kShm, .channel = {.arena = arena}});
  // Sizes that never fit the region kept from the one before.
  for (int64_t n = 3; n < 20; ++n) {
    lane->send({.type = kTestMessage, .tensors = {filled(arena, n << 18, float(n))}}, soon());
    lane->receive(soon());
    EXPECT_EQ(pair.kept[0].tensors[0].data<float>()[0], float(n));
    std::lock_guard lock(pair.mutex);
    pair.kept.clear();
  }
  EXPECT_LE(arena->bytes_reserved(), 44u << 20);
}

// A peer that holds the secret and yet lies about its memory.
class Liar {
 public:
  Liar() {
    auto [fd, other] = sockets();
    control_ = std::make_unique<ControlSocket>(std::move(fd), "us");
    victim_control_ = std::make_unique<ControlSocket>(std::move(other), "liar");
    own_ = ShmRing::make_region(0, 4096);
    theirs_ = ShmRing::make_region(0, 4096);
    auto seen = SharedRegion::map(0, Fd(::dup(own_->fd())), own_->bytes(), "liar");
    ring_ = std::make_unique<ShmRing>(theirs_, seen, *victim_control_, "liar");
    places_ = std::make_unique<ShmPlaces>(*ring_, *victim_control_, SharedArena::make(), "liar");
  }

  LaneMemory& memory() { return *reinterpret_cast<LaneMemory*>(own_->data()); }
  void pass(const SharedRegion& region) {
    control_->send_region(ControlSocket::Kind::kRegion, region);
  }
  Error error_of_resolving(TensorDescriptor d) {
    try {
      places_->resolve(d);
    } catch (const Error& error) {
      return error;
    }
    return Error(Code::kOk, "");
  }
  ShmRing& ring() { return *ring_; }

 private:
  static std::pair<Fd, Fd> sockets() {
    int ends[2];
    CAPSTAN_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    return {Fd(ends[0]), Fd(ends[1])};
  }
  std::unique_ptr<ControlSocket> control_, victim_control_;
  std::shared_ptr<SharedRegion> own_, theirs_;
  std::unique_ptr<ShmRing> ring_;
  std::unique_ptr<ShmPlaces> places_;
};

TEST(HostileMemory, CountersThatCannotBeAreRefused) {
  Liar liar;
  char byte = 0;
  iovec part = {&byte, 1};
  liar.memory().head.store(1 << 20);
  EXPECT_THROW(liar.ring().read(&part, 1), Error);
  liar.memory().consumed.store(5);
  EXPECT_THROW(liar.ring().write(&part, 1), Error);
}

TEST(HostileMemory, PlacesOutsideOfARegionAreRefused) {
  Liar liar;
  auto region = SharedRegion::create(9, 8192);
  liar.pass(*region);
  TensorDescriptor d{.dtype = DType::kFloat, .shared = true, .shape = {1024}, .bytes = 4096};
  d.ref.region = 9;
  EXPECT_EQ(liar.error_of_resolving(d).code(), Code::kOk);
  for (uint64_t offset : {uint64_t(4160), uint64_t(4), UINT64_MAX - 63}) {
    d.ref.offset = offset;
    EXPECT_EQ(liar.error_of_resolving(d).code(), Code::kDataLoss) << offset;
  }
  d.ref.offset = 0;
  d.ref.slot = kAckSlots;
  EXPECT_EQ(liar.error_of_resolving(d).code(), Code::kDataLoss);
  d.ref.slot = 0;
  d.ref.region = 10;
  EXPECT_EQ(liar.error_of_resolving(d).code(), Code::kDataLoss);
}

}  // namespace
}  // namespace capstan
