#include "gil.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace capstan {
namespace {

// The way into the one interpreter of the process. Without a destructor: threads stay behind.
class Door {
 public:
  void left() {
    ++outside_;
    threads_.fetch_add(kOutside);
  }
  void came_back() {
    threads_.fetch_sub(kOutside);
    --outside_;
  }

  // Whether the thread may ask for the interpreter. If so it says entered() once it has it.
  bool enter() {
    threads_.fetch_add(kEntering);
    if (!closed_.load() || pthread_equal(pthread_self(), closer_)) return true;
    threads_.fetch_sub(kEntering);
    return false;
  }
  void entered() { threads_.fetch_sub(kEntering); }

  // By the thread that ends the interpreter, which it holds. Those on their way in come in first.
  void close() {
    closer_ = pthread_self();
    closed_.store(true);
    PyThreadState* state = PyEval_SaveThread();
    while (threads_.load() / kEntering > 0) sched_yield();
    PyEval_RestoreThread(state);
  }

  bool somebody_outside() const { return threads_.load() % kEntering > 0; }

  // In the child of a fork only this thread is there. It may be in a handler of signals that was
  // called during a wait.
  void forked() { threads_.store(outside_ * kOutside); }

 private:
  static constexpr uint64_t kOutside = 1, kEntering = uint64_t(1) << 32;
  std::atomic<uint64_t> threads_{0};  // how many are outside, and how many on their way in
  std::atomic<bool> closed_{false};
  pthread_t closer_ = 0;                  // written before closed_
  static thread_local uint64_t outside_;  // how often this thread is
};

thread_local uint64_t Door::outside_ = 0;
constinit Door door;

// What a thread that is still in the engine works with must not be destroyed below it: the
// destructors of globals, which would come next, are left out.
void end_beside_threads(int code, void*) {
  if (!door.somebody_outside()) return;
  if (ftrylockfile(stdout) == 0) fflush_unlocked(stdout);
  _exit(code);
}

}  // namespace

void stay_outside() {
  for (;;) pause();
}

GilRelease::GilRelease() : state_(PyEval_SaveThread()) { door.left(); }

GilRelease::~GilRelease() {
  if (!door.enter()) stay_outside();
  PyEval_RestoreThread(state_);
  door.entered();
  door.came_back();
}

GilAcquire::GilAcquire() : entered_(Py_IsInitialized() && door.enter()) {
  if (!entered_) return;
  state_ = PyGILState_Ensure();
  door.entered();
}

GilAcquire::~GilAcquire() {
  if (entered_) PyGILState_Release(state_);
}

void bind_gil(nb::module_& m) {
  on_exit(end_beside_threads, nullptr);
  pthread_atfork(nullptr, nullptr, [] { door.forked(); });
  m.def("_close_interpreter", [] { door.close(); });
  // Functions run in the reverse order of their registration: those of the program come first.
  nb::module_::import_("atexit").attr("register")(m.attr("_close_interpreter"));
}

}  // namespace capstan
