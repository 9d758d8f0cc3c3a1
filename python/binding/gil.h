#pragma once

// Leaving the interpreter and coming back, in a process whose interpreter may be ending.
//
// An interpreter that ends kills every daemon thread that asks for it (pthread_exit), and a thread
// that is killed below frames of C++ takes the process with it: std::terminate. So the interpreter
// is closed to our threads just before it ends, when all of Python's own exit functions have run: a
// thread that would come back stays outside for ever, as Python 3.14 has it. It keeps what it
// holds; only the thread that ends the interpreter may still come and go.

#include <cxxabi.h>
#include <nanobind/nanobind.h>

#include <utility>

namespace capstan {

namespace nb = nanobind;

// Waits until the process ends.
[[noreturn]] void stay_outside();

// Gives up the interpreter for the block.
class GilRelease {
 public:
  GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
  ~GilRelease();

 private:
  PyThreadState* state_;
};

// Holds the interpreter for the block, on any thread; false where it is closed.
class GilAcquire {
 public:
  GilAcquire();
  GilAcquire(const GilAcquire&) = delete;
  GilAcquire& operator=(const GilAcquire&) = delete;
  ~GilAcquire();
  explicit operator bool() const { return entered_; }

 private:
  bool entered_;
  PyGILState_STATE state_{};
};

// Calls code of the program from within the engine. Where the interpreter ends meanwhile and kills
// the thread there, it goes no further up: objects must not be let go of without the interpreter.
template <class Call>
auto call_program(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const abi::__forced_unwind&) {
    stay_outside();
  }
}

void bind_gil(nb::module_& m);

}  // namespace capstan
