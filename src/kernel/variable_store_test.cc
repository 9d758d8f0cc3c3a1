#include "kernel/variable_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "kernel/cancellation.h"
#include "kernel/queue.h"
#include "kernel/task_state.h"

namespace capstan {
namespace {

VariableMemory plain;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return std::string(code_name(error.code())) + ": " + error.message();
  }
  return "nothing was thrown";
}

TEST(Variable, IsNamedWhenItIsReadBeforeItsInitializer) {
  Variable w("w", DType::kFloat);
  EXPECT_FALSE(w.initialized());
  const std::string message = message_of([&] { w.value(); });
  EXPECT_TRUE(message.starts_with("FailedPrecondition: Attempting to use uninitialized value w"))
      << message;
}

TEST(Variable, AnAssignmentOfTheSameShapeKeepsTheBuffer) {
  Variable w("w", DType::kFloat);
  w.assign(Tensor::of<float>({2}, {1, 2}), plain);
  const Tensor live = w.value();
  const uint64_t generation = w.generation();
  w.assign(Tensor::of<float>({2}, {3, 4}), plain);
  EXPECT_EQ(live.data<float>()[1], 4);
  EXPECT_EQ(w.generation(), generation);
}

TEST(Variable, AnAssignmentOfAnotherShapeLeavesOldReadersTheirBytes) {
  Variable w("w", DType::kFloat);
  w.assign(Tensor::of<float>({2}, {1, 2}), plain);
  const Tensor old = w.value();
  const uint64_t generation = w.generation();
  w.assign(Tensor::of<float>({1}, {9}), plain);
  EXPECT_EQ(old.data<float>()[1], 2);
  EXPECT_EQ(w.value().shape(), (Shape{1}));
  EXPECT_GT(w.generation(), generation);
}

TEST(Variable, DoesNotShareTheBytesOfWhatItWasAssigned) {
  Variable w("w", DType::kFloat);
  Tensor value = Tensor::of<float>({1}, {1});
  w.assign(value, plain);
  *value.data<float>() = 5;
  EXPECT_EQ(*w.value().data<float>(), 1);
}

// A peer looks at one buffer, whichever it is.
class Watched : public VariableMemory {
 public:
  bool begin_write(const Tensor& value) override { return value.raw() != looked_at; }
  const void* looked_at = nullptr;
};

TEST(Variable, IsCopiedBeforeAWriteWhileAPeerLooksAtIt) {
  Watched memory;
  Variable w("w", DType::kFloat);
  w.assign(Tensor::of<float>({2}, {1, 2}), memory);
  const Tensor seen = w.value();
  memory.looked_at = seen.raw();
  for (int i = 0; i < 2; ++i) VariableWrite(w, memory).data<float>()[0] += 10;
  EXPECT_EQ(seen.data<float>()[0], 1);
  EXPECT_EQ(w.value().data<float>()[0], 21) << "the second write found the copy of the first";
  EXPECT_EQ(w.value().data<float>()[1], 2);
}

TEST(Variable, IsCopiedBeforeAWriteOfAnotherRunThanTheOneThatBorrowedIt) {
  Variable w("w", DType::kFloat);
  w.assign(Tensor::of<float>({2}, {1, 2}), plain);
  std::vector<VariableLoan> mine;
  mine.push_back(std::move(*w.borrow()));
  const Tensor seen = mine[0].value();
  VariableWrite(w, plain, mine).data<float>()[0] = 5;
  EXPECT_EQ(seen.data<float>()[0], 5) << "the borrower itself writes in place";
  for (int i = 0; i < 2; ++i) VariableWrite(w, plain).data<float>()[0] += 10;
  EXPECT_EQ(seen.data<float>()[0], 5);
  EXPECT_EQ(w.value().data<float>()[0], 25) << "no write is lost";
  w.assign(Tensor::of<float>({2}, {7, 7}), plain);
  EXPECT_EQ(seen.data<float>()[0], 5);
}

TEST(Variable, IsWrittenInPlaceOnceTheLoanHasEnded) {
  Variable w("w", DType::kFloat);
  w.assign(Tensor::of<float>({1}, {1}), plain);
  const Tensor live = w.value();
  { auto loan = w.borrow(); }
  *VariableWrite(w, plain).data<float>() = 2;
  EXPECT_EQ(*live.data<float>(), 2);
}

// Stops a writer that has made its copy, until somebody else has written or is seen to wait.
class StopsAtTheCopy : public VariableMemory {
 public:
  explicit StopsAtTheCopy(const void* old) : old_(old) {}
  bool begin_write(const Tensor& value) override {
    if (value.raw() == old_) return true;
    copied.set_value();
    // Only who would lose its update comes before this has passed.
    written.get_future().wait_for(std::chrono::milliseconds(50));
    return true;
  }
  std::promise<void> copied, written;

 private:
  const void* const old_;
};

void add(VariableWrite&& write, float n) { std::atomic_ref(*write.data<float>()).fetch_add(n); }

TEST(Variable, AnUpdateWaitsForTheCopyThatAnotherMakes) {
  Variable w("w", DType::kFloat);
  w.assign(Tensor::of<float>({1}, {0}), plain);
  std::vector<VariableLoan> mine;
  mine.push_back(std::move(*w.borrow()));
  StopsAtTheCopy memory(mine[0].value().raw());
  // The other writer does not know of my loan, so it writes to a copy.
  std::thread other([&] { add(VariableWrite(w, memory), 1); });
  memory.copied.get_future().wait();
  add(VariableWrite(w, plain, mine), 10);
  memory.written.set_value();
  other.join();
  EXPECT_EQ(*w.value().data<float>(), 11);
}

TEST(Variable, IsNotLentWhileItIsWritten) {
  Variable w("w", DType::kFloat);
  w.assign(Tensor::of<float>({1}, {1}), plain);
  {
    VariableWrite write(w, plain);
    EXPECT_FALSE(w.borrow());
    VariableWrite beside(w, plain);
    EXPECT_EQ(beside.value().raw(), write.value().raw()) << "two writers share the buffer";
  }
  EXPECT_TRUE(w.borrow());
}

TEST(Variable, AnAssignmentLeavesAPeerWhatItLooksAt) {
  Watched memory;
  Variable w("w", DType::kFloat);
  w.assign(Tensor::of<float>({2}, {1, 2}), memory);
  const Tensor seen = w.value();
  memory.looked_at = seen.raw();
  w.assign(Tensor::of<float>({2}, {3, 4}), memory);
  EXPECT_EQ(seen.data<float>()[1], 2);
  EXPECT_EQ(w.value().data<float>()[1], 4);
}

TEST(Variable, StringsAreReplacedNotOverwritten) {
  Variable names("names", DType::kString);
  names.assign(Tensor::of<std::string>({1}, {"before"}), plain);
  const Tensor old = names.value();
  names.assign(Tensor::of<std::string>({1}, {"after"}), plain);
  EXPECT_EQ(*old.data<std::string>(), "before");
  EXPECT_EQ(*names.value().data<std::string>(), "after");
}

TEST(VariableStore, TheFirstCreationFixesTheType) {
  VariableStore store;
  auto first = store.get("", "w", DType::kFloat);
  EXPECT_EQ(store.get("", "w", DType::kFloat), first);
  EXPECT_NE(store.get("box", "w", DType::kFloat), first);
  const std::string message = message_of([&] { store.get("", "w", DType::kInt64); });
  EXPECT_NE(message.find("variable w exists as float32, it cannot also be int64"),
            std::string::npos)
      << message;
}

TEST(VariableStore, ResetForgetsTheContainersNamed) {
  VariableStore store;
  store.get("", "a", DType::kFloat);
  store.get("box", "b", DType::kFloat);
  store.reset({"box"});
  ASSERT_EQ(store.all().size(), 1u);
  EXPECT_EQ(store.all()[0]->name(), "a");
  store.reset({});
  EXPECT_TRUE(store.all().empty());
}

TEST(Cancellation, CallsEachOnceAndRefusesLateComers) {
  Cancellation cancellation;
  int first = 0, second = 0;
  const uint64_t removed = cancellation.add([&] { ++first; });
  cancellation.add([&] { ++second; });
  cancellation.remove(removed);
  EXPECT_FALSE(cancellation.cancelled());
  cancellation.cancel();
  cancellation.cancel();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
  EXPECT_TRUE(cancellation.cancelled());
  EXPECT_EQ(cancellation.add([] {}), 0u);
}

TEST(Cancellation, ACallbackMayTouchTheCancellation) {
  Cancellation cancellation;
  uint64_t other = 0;
  cancellation.add([&] { cancellation.remove(other); });
  other = cancellation.add([] {});
  cancellation.cancel();
}

struct Other : Resource {
  std::string_view kind() const override { return "Other"; }
};

TEST(ResourceStore, KeepsOneResourcePerKeyAndKind) {
  ResourceStore store;
  auto make = [] { return std::make_shared<Other>(); };
  auto first = store.get("", "r", "Other", make);
  EXPECT_EQ(store.get("", "r", "Other", make), first);
  EXPECT_NE(store.get("box", "r", "Other", make), first);
  EXPECT_THROW(store.get("", "r", "FIFOQueue", make), Error);
  store.reset({});
  EXPECT_NE(store.get("", "r", "Other", make), first);
}

TEST(ResourceStore, AHandleOfAnotherKindIsRefused) {
  const Tensor handle = resource_tensor(DType::kResource, Shape{}, std::make_shared<Other>());
  EXPECT_EQ(resource_of<Other>(handle)->kind(), "Other");
  EXPECT_THROW(resource_of<FifoQueue>(handle), Error);
}

}  // namespace
}  // namespace capstan
