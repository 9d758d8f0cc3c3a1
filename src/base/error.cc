#include "base/error.h"

#include <cstdio>
#include <cstdlib>
#include <new>

namespace capstan {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk: return "Ok";
    case Code::kCancelled: return "Cancelled";
    case Code::kUnknown: return "Unknown";
    case Code::kInvalidArgument: return "InvalidArgument";
    case Code::kDeadlineExceeded: return "DeadlineExceeded";
    case Code::kNotFound: return "NotFound";
    case Code::kAlreadyExists: return "AlreadyExists";
    case Code::kPermissionDenied: return "PermissionDenied";
    case Code::kResourceExhausted: return "ResourceExhausted";
    case Code::kFailedPrecondition: return "FailedPrecondition";
    case Code::kAborted: return "Aborted";
    case Code::kOutOfRange: return "OutOfRange";
    case Code::kUnimplemented: return "Unimplemented";
    case Code::kInternal: return "Internal";
    case Code::kUnavailable: return "Unavailable";
    case Code::kDataLoss: return "DataLoss";
    case Code::kUnauthenticated: return "Unauthenticated";
  }
  return "Unknown";
}

Error::Error(Code code, std::string message, std::string op, std::string task) {
  std::string text = fmt::format("{}: {}", code_name(code), message);
  if (!op.empty()) text += fmt::format(" [op {}]", op);
  if (!task.empty()) text += fmt::format(" [task {}]", task);
  body_ = std::make_shared<const Body>(
      Body{code, std::move(message), std::move(op), std::move(task), std::move(text)});
}

Error Error::at_op(std::string_view op) const {
  if (!body_->op.empty()) return *this;
  return Error(body_->code, body_->message, std::string(op), body_->task);
}

Error Error::at_task(std::string_view task) const {
  if (!body_->task.empty()) return *this;
  return Error(body_->code, body_->message, body_->op, std::string(task));
}

Error current_error() {
  try {
    throw;
  } catch (const Error& e) {
    return e;
  } catch (const std::bad_alloc&) {
    return resource_exhausted("out of memory");
  } catch (const std::exception& e) {
    return unknown_error("{}", e.what());
  } catch (...) {
    return unknown_error("an exception of an unknown type");
  }
}

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "capstan: internal error: %s does not hold (%s:%d)\n", condition, file,
               line);
  std::abort();
}

}  // namespace capstan
