#pragma once

// How a process that is no task of a cluster reaches one.

#include <memory>
#include <string>
#include <vector>

#include "base/settings.h"
#include "base/transport.h"

namespace capstan {

struct ClientOptions {
  std::string secret;       // of the job; empty: the user's, for clients
  std::string secret_file;  // instead of the user's own
  TransportKind transport = TransportKind::kAuto;
  std::vector<ResolveRule> resolve;
};

// What the launcher, or the user, says through CAPSTAN_*.
ClientOptions client_options(const Settings& settings);

// "grpc://host:port" as it is dialled: after --resolve. Throws InvalidArgument for another form.
std::string address_of_target(const std::string& target, const ClientOptions& options);

std::unique_ptr<Transport> make_client_transport(const ClientOptions& options,
                                                 uint64_t incarnation);

}  // namespace capstan
