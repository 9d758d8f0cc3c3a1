#pragma once

// One word to many tasks at once. Who cannot be reached soon is gone, or has not come yet, and
// needs no word: telling never throws.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/transport.h"
#include "net/message.h"

namespace capstan {

struct Told {
  std::string task, address;
  std::string answer;          // its meta data
  uint64_t incarnation = 0;    // of who answered
  std::optional<Error> error;  // why it did not
};

// Fills in what became of the word at each. `gone` says of whom no answer is awaited any more.
void tell(Transport& transport, std::vector<Told>& tasks, const Message& word,
          const std::function<bool(const std::string& task)>& gone);

}  // namespace capstan
