#pragma once

// For tests: a server whose handler is a lambda, on a thread of its own, and lanes to it.

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "net/lane.h"
#include "net/server.h"

namespace capstan {

constexpr uint8_t kTestMessage = kFirstFreeMessageType;
inline const std::string kTestSecret = "a secret for tests only";

inline Identity test_identity(std::string name) {
  return {.name = std::move(name), .incarnation = 7, .secret = kTestSecret};
}

// Every wait of a test ends.
inline WaitOptions soon() { return {.deadline = deadline_in(std::chrono::seconds(20))}; }

class TestServer final : public Handler {
 public:
  using OnMessage = std::function<void(const std::shared_ptr<Peer>&, Message&&)>;

  explicit TestServer(OnMessage on_message, ServerOptions options = {})
      : on_message_(std::move(on_message)) {
    if (options.self.name.empty()) options.self = test_identity("server/0");
    auto refused = options.on_refused;
    options.on_refused = [this, refused](const Error& why) {
      if (refused) refused(why);
      refused_.store(refused_.load() + 1);
    };
    server_.emplace(std::move(options), *this);
    thread_ = std::thread([this] { server_->run(); });
  }
  ~TestServer() override { stop(); }

  void stop() {
    if (!thread_.joinable()) return;
    server_->stop();
    thread_.join();
    server_.reset();
  }

  std::string address() const { return server_->address(); }
  Loop& loop() { return server_->loop(); }
  int opened() const { return opened_.load(); }
  int closed() const { return closed_.load(); }
  int refused() const { return refused_.load(); }
  // Runs on the loop's thread and waits for it.
  template <class F>
  auto on_loop(F f) {
    std::promise<decltype(f())> done;
    loop().post([&] { done.set_value(f()); });
    return done.get_future().get();
  }

  size_t connections() {
    return on_loop([this] { return server_->connections(); });
  }

  std::unique_ptr<Lane> connect(LaneOptions options = {}) const {
    if (options.self.name.empty()) options.self = test_identity("client/0");
    return capstan::connect(
        {.address = address(), .deadline = deadline_in(std::chrono::seconds(20))}, options);
  }

 private:
  void on_open(const std::shared_ptr<Peer>&) override { opened_.store(opened_.load() + 1); }
  void on_message(const std::shared_ptr<Peer>& peer, Message&& message) override {
    on_message_(peer, std::move(message));
  }
  void on_close(const std::shared_ptr<Peer>&, const Error&) override {
    closed_.store(closed_.load() + 1);
  }

  OnMessage on_message_;
  std::optional<ServerLoop> server_;
  std::thread thread_;
  std::atomic<int> opened_{0}, closed_{0}, refused_{0};
};

inline void echo(const std::shared_ptr<Peer>& peer, Message&& message) {
  peer->send(std::move(message));
}

// Until a condition holds that another thread brings about; false after 20 s.
template <class F>
bool eventually(F condition) {
  for (Deadline end = deadline_in(std::chrono::seconds(20)); !condition();) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace capstan
