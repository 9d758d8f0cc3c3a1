#include "cluster/tell.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace capstan {
namespace {

constexpr std::chrono::seconds kConnect{1};
constexpr std::chrono::milliseconds kHandshake{200};
constexpr std::chrono::seconds kAnswer{5};
constexpr size_t kAtOnce = 16;

void tell_one(Transport& transport, Told& told, const Message& word,
              const std::function<bool(const std::string&)>& gone) {
  try {
    ConnectRequest request;
    request.address = told.address;
    request.deadline = deadline_in(kConnect);
    // Not in the midst of a handshake, which would look like a stranger's.
    request.on_interrupt = [&, soon = deadline_in(kHandshake)] {
      if (std::chrono::steady_clock::now() > soon && gone(told.task))
        throw cancelled("{} has left", told.task);
    };
    std::unique_ptr<Lane> lane = transport.connect(request);
    WaitOptions wait{deadline_in(kAnswer), {}};
    lane->send(word, wait);
    Message answer = lane->receive(wait);
    throw_if_error(answer);
    told.answer = std::move(answer.meta);
    told.incarnation = lane->peer_incarnation();
  } catch (const Error& e) {
    told.error = e;
  }
}

}  // namespace

void tell(Transport& transport, std::vector<Told>& tasks, const Message& word,
          const std::function<bool(const std::string& task)>& gone) {
  std::atomic<size_t> next{0};
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < std::min(tasks.size(), kAtOnce); ++i) {
    threads.emplace_back([&] {
      for (size_t at; (at = next++) < tasks.size();) tell_one(transport, tasks[at], word, gone);
    });
  }
}

}  // namespace capstan
