#pragma once

// What tasks say to each other: message types and the meta bytes of each. Everything that decodes
// throws DataLoss for bytes that make no sense; docs/formats/wire.md describes them.

#include <string>
#include <string_view>
#include <vector>

#include "cluster/membership.h"
#include "net/message.h"
#include "plan/plan.h"

namespace capstan {

enum class MessageType : uint8_t {
  kHello = kFirstFreeMessageType,  // a session opens on a task; meta: who asks
  kShip,                           // a piece to keep; call: its id
  kForget,                         // a piece to let go; call: its id
  kCall,                           // run a piece; call: number of the call; tensors: its inputs
  kReply,                          // the answer to any of these; tensors: outputs
  kCloseSession,
  kReset,  // clear containers
  kNews,   // where a task of the job stands; the answer says it of all that are known here
  kPing,
  // A client that is no task of the cluster: the task that it names conducts for it.
  kOpenMaster,  // meta: the device filters of its session
  kExtend,      // more of its graph
  kRun,         // feeds in, fetches out
  kCancel,      // ends a call of this connection that waits; call: its number; the call answers,
                // not this
};

struct Hello {
  std::string task;  // "/job:worker/task:0"; empty for a client that is no task
  bool operator==(const Hello&) const = default;
};
std::string encode(const Hello& hello);
Hello decode_hello(std::string_view meta);

struct News {
  std::string task;
  uint64_t incarnation = 0;
  Standing standing;
  bool operator==(const News&) const = default;
};
std::string encode(const std::vector<News>& news);
std::vector<News> decode_news(std::string_view meta);

std::string encode_piece(const Piece& piece);
// Checks the GraphDef like any hostile input.
Piece decode_piece(std::string_view meta, const Catalog& catalog);

// A call names the piece it runs; the tensors are its inputs, in order.
struct Call {
  uint64_t segment = 0;
};
std::string encode(const Call& call);
Call decode_call(std::string_view meta);

std::string encode_names(const std::vector<std::string>& names);
std::vector<std::string> decode_names(std::string_view meta);

// The nodes that follow the first `from`. All or none are added, and never twice: a client that did
// not get its answer says the same again.
struct Extension {
  uint64_t from = 0;
  std::string graph_def;
};
std::string encode(const Extension& extension);
Extension decode_extension(std::string_view meta);

struct RunRequest {
  std::vector<std::string> feeds, fetches, targets;  // "name:0", "name:0", "name"
};
std::string encode(const RunRequest& request);
RunRequest decode_run_request(std::string_view meta);

}  // namespace capstan
