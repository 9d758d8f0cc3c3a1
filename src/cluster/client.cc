#include "cluster/client.h"

#include "base/error.h"
#include "cluster/secret.h"
#include "net/lane.h"

namespace capstan {

ClientOptions client_options(const Settings& settings) {
  return {settings.secret, settings.secret_file, settings.transport, settings.resolve};
}

std::string address_of_target(const std::string& target, const ClientOptions& options) {
  size_t start = target.find("://");
  std::string address = start == target.npos ? "" : target.substr(start + 3);
  if (address.find(':') == address.npos) {
    throw invalid_argument("the target '{}' is neither empty nor of the form grpc://host:port",
                           target);
  }
  Settings settings;
  settings.resolve = options.resolve;
  return settings.resolve_address(address);
}

std::unique_ptr<Transport> make_client_transport(const ClientOptions& options,
                                                 uint64_t incarnation) {
  LaneOptions lane;
  lane.kind = options.transport;
  lane.self.name = "a client";
  lane.self.incarnation = incarnation;
  lane.self.secret = options.secret;
  if (lane.self.secret.empty()) {
    lane.self.secret =
        client_secret(options.secret_file.empty() ? user_secret_path() : options.secret_file);
  }
  lane.channel.arena = SharedArena::make();
  return std::make_unique<SocketTransport>(std::move(lane));
}

}  // namespace capstan
