#pragma once

// Conducts steps for clients: processes that are no task of the cluster and know the address of
// one.

#include "cluster/server.h"

namespace capstan {

// From here on the server takes sessions of such clients. Whoever starts a server for a user calls
// this.
void conduct_for_clients(Server& server);

}  // namespace capstan
