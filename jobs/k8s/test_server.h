#pragma once

// For tests: a server of HTTP/1.1 on this loop and this machine, which answers what it is told to.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "jobs/poll_loop.h"

namespace capstan::jobs::k8s {

class TestServer {
 public:
  struct Request {
    std::string head;  // "GET /a HTTP/1.1" and headers
    std::string body;
    int connection = 0;  // its number
  };
  // What goes on the wire; nothing: the answer comes later, by write().
  using Answer = std::function<std::string(const Request&)>;

  TestServer(PollLoop& loop, Answer answer) : loop_(loop), answer_(std::move(answer)) {
    listener_ = Fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address{.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    CAPSTAN_CHECK(bind(listener_.get(), generic, size) == 0 && listen(listener_.get(), 64) == 0);
    CAPSTAN_CHECK(getsockname(listener_.get(), generic, &size) == 0);
    port_ = ntohs(address.sin_port);
    loop_.watch(listener_.get(), [this] { accept_one(); });
  }
  ~TestServer() {
    loop_.unwatch(listener_.get());
    while (!connections_.empty()) close(connections_.begin()->first);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int accepted() const { return last_; }
  size_t open() const { return connections_.size(); }

  void write(int connection, const std::string& bytes) {
    auto found = connections_.find(connection);
    if (found == connections_.end()) return;
    for (size_t sent = 0; sent < bytes.size();) {
      const auto count =
          ::send(found->second.fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count > 0) sent += size_t(count);
      if (count < 0 && errno != EAGAIN) return;
    }
  }
  void close(int connection) {
    auto found = connections_.find(connection);
    if (found == connections_.end()) return;
    loop_.unwatch(found->second.fd.get());
    connections_.erase(found);
  }

  static std::string plain(int code, const std::string& body, const std::string& headers = "") {
    return "HTTP/1.1 " + std::to_string(code) + " X\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  static std::string chunked() { return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"; }
  static std::string chunk(const std::string& bytes) {
    char size[20];
    snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    return size + bytes + "\r\n";
  }

 private:
  struct Connection {
    Fd fd;
    std::string read;
  };

  void accept_one() {
    Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) return;
    const int number = ++last_;
    const int raw = fd.get();
    connections_[number].fd = std::move(fd);
    loop_.watch(raw, [this, number] { read_some(number); });
  }
  void read_some(int number) {
    char bytes[65536];
    const auto count = recv(connections_.at(number).fd.get(), bytes, sizeof bytes, 0);
    if (count <= 0) return close(number);
    connections_.at(number).read.append(bytes, size_t(count));
    while (connections_.contains(number) && answer_one(number)) {
    }
  }
  bool answer_one(int number) {
    std::string& read = connections_.at(number).read;
    const size_t end = read.find("\r\n\r\n");
    if (end == read.npos) return false;
    Request request{.head = read.substr(0, end), .connection = number};
    const size_t length = request.head.find("Content-Length: ");
    const size_t size =
        length == request.head.npos ? 0 : std::stoul(request.head.substr(length + 16));
    if (read.size() < end + 4 + size) return false;
    request.body = read.substr(end + 4, size);
    read.erase(0, end + 4 + size);
    if (const std::string answer = answer_(request); !answer.empty()) write(number, answer);
    return true;
  }

  PollLoop& loop_;
  Answer answer_;
  Fd listener_;
  uint16_t port_ = 0;
  std::map<int, Connection> connections_;
  int last_ = 0;
};

}  // namespace capstan::jobs::k8s
