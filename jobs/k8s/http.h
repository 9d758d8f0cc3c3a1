#pragma once

// HTTPS on a PollLoop: requests that return at once, answers and streams on the loop's thread.
// HTTP/2 on one connection where the server has it, else HTTP/1.1 on connections that are kept. No
// thread but those in which libcurl looks up names.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/poll_loop.h"

namespace capstan::jobs::k8s {

// How a server proves itself and we prove ourselves; PEM texts.
struct HttpTrust {
  std::string ca;          // empty: the system's
  bool insecure = false;   // whoever answers is believed
  std::string connect_to;  // "host:port" of all connections, if it is not that of the address
  std::string certificate, key;
  std::string proxy;  // its address; empty: none but the environment's
};

struct HttpOptions {
  size_t running = 64;      // requests at a time; streams do not count
  size_t waiting = 20'000;  // requests beyond that are refused at once
  double connect_seconds = 10;
  size_t most_body = 64 << 20;  // bytes; a stream has no end
};

struct HttpRequest {
  std::string method = "GET", url = {};
  std::vector<std::string> headers = {};  // "Accept: application/json"
  std::string body = {};
  double timeout = 30;  // seconds for all of it; for a stream until its answer begins
  bool urgent = false;  // begins at once, however many are running
};

enum class HttpFailure {
  kNone,
  kNotReached,  // the server has not done it
  kBroken,      // it may have
  kLate,        // it may have, but was not waited for any longer
  kUntrusted,   // its certificate is not one that we trust, or it refused ours
  kTooLong,
};

struct HttpAnswer {
  int code = 0;
  HttpFailure failure = HttpFailure::kNone;
  std::string error;       // says what failed
  std::string body = {};   // of a stream only if the code is no success
  double retry_after = 0;  // seconds, as the server asks; 0: it does not
};

// All calls on the loop's thread; callbacks never from inside one, and they may call anything but
// the destructor.
class Http {
 public:
  using Id = uint64_t;
  using OnDone = std::function<void(HttpAnswer&&)>;
  using OnBytes = std::function<void(std::string_view)>;

  Http(PollLoop& loop, HttpTrust trust, HttpOptions options = {});
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  Id send(HttpRequest request, OnDone done);
  // The body of a success comes in pieces, as they come; then `done`.
  Id stream(HttpRequest request, OnBytes bytes, OnDone done);
  // Nothing is told of it any more.
  void cancel(Id id);

  size_t running() const;

 private:
  struct Transfer;
  class Multi;

  Id add(std::unique_ptr<Transfer> transfer);
  void soon();
  void pump();
  void begin(std::unique_ptr<Transfer> transfer);
  void remove(Id id);
  void fail(Id id, std::string why);
  void look_at_the_clock(Transfer& transfer);
  void act(int fd, int events);
  void collect();
  void deliver();
  void deliver_bytes();
  void finish(Id id, HttpAnswer&& answer);

  PollLoop& loop_;
  const HttpTrust trust_;
  const HttpOptions options_;
  std::unique_ptr<Multi> multi_;
  std::deque<std::unique_ptr<Transfer>> overtaking_, waiting_;
  std::map<Id, std::unique_ptr<Transfer>> running_;
  size_t requests_ = 0;        // of those that run, without streams
  std::vector<Id> has_bytes_;  // streams that got some in this round
  std::vector<std::pair<Id, HttpAnswer>> ended_;
  Id next_ = 1;
  bool scheduled_ = false;
  std::shared_ptr<bool> alive_;
};

}  // namespace capstan::jobs::k8s
