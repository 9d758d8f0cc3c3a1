#include "jobs/k8s/http_address.h"

#include <algorithm>

namespace capstan::jobs::k8s {
namespace {

struct Address {
  std::string scheme, host, port, path;
};

Address split(const std::string& server) {
  const size_t begin = server.find("://") + 3;
  const size_t slash = std::min(server.find('/', begin), server.size());
  const std::string place = server.substr(begin, slash - begin);
  const size_t colon = place.find_last_of(":]");
  const bool has_port = colon != place.npos && place[colon] == ':';
  const std::string scheme = server.substr(0, begin - 3);
  return {scheme, has_port ? place.substr(0, colon) : place,
          has_port           ? place.substr(colon + 1)
          : scheme == "http" ? "80"
                             : "443",
          server.substr(slash)};
}

}  // namespace

std::string address_of(const std::string& base, const Asked& asked) {
  const Resource& resource = asked.resource;
  std::string url = base + (resource.group.empty() ? "/api/" : "/apis/") + api_version_of(resource);
  if (resource.namespaced && !asked.object.space.empty()) {
    url += "/namespaces/" + query_escape(asked.object.space);
  }
  url += "/" + std::string(resource.plural);
  if (!asked.object.name.empty()) url += "/" + query_escape(asked.object.name);
  if (!asked.subresource.empty()) url += "/" + std::string(asked.subresource);
  return url;
}

std::string host_and_port(const std::string& server) {
  const Address address = split(server);
  return address.host + ":" + address.port;
}

std::string with_host(const std::string& server, const std::string& name) {
  if (name.empty()) return server;
  const Address address = split(server);
  return address.scheme + "://" + name + ":" + address.port + address.path;
}

}  // namespace capstan::jobs::k8s
