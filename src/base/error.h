#pragma once

// The one error type. It is thrown, crosses threads and the wire by value, and becomes the
// matching tf.errors.* class in Python. The message says what, where and what to do.

#include <fmt/core.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace capstan {

// TensorFlow's canonical codes, with its numbers: they travel on the wire.
enum class Code : uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// "InvalidArgument" and so on; "Unknown" for numbers that are none of the above.
std::string_view code_name(Code code);

class Error : public std::exception {
 public:
  Error(Code code, std::string message, std::string op = {}, std::string task = {});

  Code code() const { return body_->code; }
  const std::string& message() const { return body_->message; }
  const std::string& op() const { return body_->op; }      // name of the node, or empty
  const std::string& task() const { return body_->task; }  // "/job:ps/task:0", or empty
  const char* what() const noexcept override { return body_->text.c_str(); }

  // Copies with the place filled in where it was still empty.
  Error at_op(std::string_view op) const;
  Error at_task(std::string_view task) const;

 private:
  struct Body {
    Code code;
    std::string message, op, task, text;
  };
  std::shared_ptr<const Body> body_;
};

// Turns whatever is being handled into an Error: call inside catch (...).
Error current_error();

#define CAPSTAN_ERROR_MAKER(function, code)                                     \
  template <class... Args>                                                      \
  Error function(fmt::format_string<Args...> format, Args&&... args) {          \
    return Error(Code::code, fmt::format(format, std::forward<Args>(args)...)); \
  }
CAPSTAN_ERROR_MAKER(cancelled, kCancelled)
CAPSTAN_ERROR_MAKER(unknown_error, kUnknown)
CAPSTAN_ERROR_MAKER(invalid_argument, kInvalidArgument)
CAPSTAN_ERROR_MAKER(deadline_exceeded, kDeadlineExceeded)
CAPSTAN_ERROR_MAKER(not_found, kNotFound)
CAPSTAN_ERROR_MAKER(already_exists, kAlreadyExists)
CAPSTAN_ERROR_MAKER(permission_denied, kPermissionDenied)
CAPSTAN_ERROR_MAKER(resource_exhausted, kResourceExhausted)
CAPSTAN_ERROR_MAKER(failed_precondition, kFailedPrecondition)
CAPSTAN_ERROR_MAKER(aborted, kAborted)
CAPSTAN_ERROR_MAKER(out_of_range, kOutOfRange)
CAPSTAN_ERROR_MAKER(unimplemented, kUnimplemented)
CAPSTAN_ERROR_MAKER(internal_error, kInternal)
CAPSTAN_ERROR_MAKER(unavailable, kUnavailable)
CAPSTAN_ERROR_MAKER(data_loss, kDataLoss)
CAPSTAN_ERROR_MAKER(unauthenticated, kUnauthenticated)
#undef CAPSTAN_ERROR_MAKER

// For our own bugs only, never for input or for a peer.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
#define CAPSTAN_CHECK(condition) \
  ((condition) ? (void)0 : ::capstan::check_failed(#condition, __FILE__, __LINE__))

}  // namespace capstan
