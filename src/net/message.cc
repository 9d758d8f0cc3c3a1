#include "net/message.h"

#include "base/bytes.h"
#include "base/printable.h"

namespace capstan {
namespace {

void put_text(std::string& out, const std::string& text) {
  put_fixed32(out, uint32_t(text.size()));
  out += text;
}

bool take_text(std::string_view& in, std::string& out) {
  auto size = take_fixed32(in);
  auto bytes = size ? take_bytes(in, *size) : std::nullopt;
  if (!bytes) return false;
  out = *bytes;
  return true;
}

}  // namespace

Message error_reply(const Message& request, const Error& error) {
  Message out;
  out.type = kErrorMessage;
  out.call = request.call;
  out.session = request.session;
  out.meta.push_back(char(error.code()));
  put_text(out.meta, error.message());
  put_text(out.meta, error.op());
  put_text(out.meta, error.task());
  return out;
}

Error error_of(const Message& message) {
  std::string_view in = message.meta;
  std::string text, op, task;
  auto code = take_bytes(in, 1);
  if (!code || !take_text(in, text) || !take_text(in, op) || !take_text(in, task)) {
    return data_loss("a peer answered call {} with an error that cannot be read", message.call);
  }
  uint8_t number = uint8_t(code->front());
  bool known = number > 0 && number <= uint8_t(Code::kUnauthenticated);
  // From here on it is shown like our own.
  return Error(known ? Code(number) : Code::kUnknown, printable(text), printable(op),
               printable(task));
}

void throw_if_error(const Message& message) {
  if (message.type == kErrorMessage) throw error_of(message);
}

}  // namespace capstan
