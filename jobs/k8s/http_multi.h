#pragma once

// libcurl's side of http.h: its sockets and timers on the loop, its handles owned.

#include <curl/curl.h>

#include <memory>

#include "jobs/k8s/http.h"

namespace capstan::jobs::k8s {

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// One request, from its beginning on.
struct Http::Transfer {
  Id id = 0;
  HttpRequest request;
  OnBytes bytes;  // none: not a stream
  OnDone done;
  std::string body;
  bool too_long = false, answered = false, listed = false;
  Loop::TimerId timer = 0;
  Http* http = nullptr;
  std::unique_ptr<curl_slist, FreeList> headers, connect_to;
  std::unique_ptr<CURL, FreeEasy> easy;
  char error[CURL_ERROR_SIZE] = {};

  bool is_stream() const { return bool(bytes); }
  // Throws ResourceExhausted.
  void set_up(const HttpTrust& trust, const HttpOptions& options);
  HttpAnswer answer(CURLcode result);

 private:
  void set_request();
  void set_trust(const HttpTrust& trust);
  static size_t on_bytes(char* data, size_t size, size_t count, void* self);
  static size_t on_header(char* data, size_t size, size_t count, void* self);
  size_t take(std::string_view bytes);
};

class Http::Multi {
 public:
  Multi(PollLoop& loop, std::function<void(int fd, int events)> act);
  ~Multi();
  CURLM* get() const { return multi_; }

 private:
  static int on_socket(CURL* easy, curl_socket_t fd, int what, void* self, void* socket);
  static int on_timer(CURLM* multi, long milliseconds, void* self);
  void watch(int fd, int what);
  void set_timer(long milliseconds);

  PollLoop& loop_;
  std::function<void(int fd, int events)> act_;
  CURLM* multi_;
  Loop::TimerId timer_ = 0;
};

}  // namespace capstan::jobs::k8s
