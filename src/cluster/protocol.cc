#include "cluster/protocol.h"

#include "base/bytes.h"
#include "graph/graph_def.h"

namespace capstan {
namespace {

constexpr uint64_t kMaxNames = 1 << 20;

[[noreturn]] void bad(std::string_view what) {
  throw data_loss("a peer sent {} that cannot be read; are both of the same version?", what);
}

void put_text(std::string& out, std::string_view text) {
  put_varint(out, text.size());
  out += text;
}

uint64_t number(std::string_view& in, std::string_view what) {
  auto value = take_varint(in);
  if (!value) bad(what);
  return *value;
}

std::string_view text(std::string_view& in, std::string_view what) {
  auto bytes = take_bytes(in, number(in, what));
  if (!bytes) bad(what);
  return *bytes;
}

void put_names(std::string& out, const std::vector<std::string>& names) {
  put_varint(out, names.size());
  for (const std::string& name : names) put_text(out, name);
}

std::vector<std::string> take_names(std::string_view& in, std::string_view what) {
  uint64_t count = number(in, what);
  // Each name takes a byte at least, so a count beyond what is left is a lie.
  if (count > kMaxNames || count > in.size()) bad(what);
  std::vector<std::string> names;
  for (uint64_t i = 0; i < count; ++i) names.emplace_back(text(in, what));
  return names;
}

}  // namespace

std::string encode(const Hello& hello) {
  std::string out;
  put_text(out, hello.task);
  return out;
}

Hello decode_hello(std::string_view meta) { return {std::string(text(meta, "a greeting"))}; }

std::string encode(const std::vector<News>& news) {
  std::string out;
  for (const News& one : news) {
    put_text(out, one.task);
    put_varint(out, one.incarnation);
    put_varint(out, uint64_t(one.standing.left) | uint64_t(one.standing.serves) << 1);
  }
  return out;
}

std::vector<News> decode_news(std::string_view meta) {
  constexpr std::string_view kWhat = "news of tasks";
  std::vector<News> news;
  while (!meta.empty()) {
    News one;
    one.task = text(meta, kWhat);
    one.incarnation = number(meta, kWhat);
    const uint64_t flags = number(meta, kWhat);
    one.standing = {.left = (flags & 1) != 0, .serves = (flags & 2) != 0};
    if (news.size() == kMaxNames) bad(kWhat);
    news.push_back(std::move(one));
  }
  return news;
}

std::string encode_piece(const Piece& piece) {
  std::string out;
  put_text(out, to_graph_def(*piece.graph));
  std::vector<std::string> args, outputs;
  for (const Node* arg : piece.args) args.push_back(arg->name());
  for (const Output& o : piece.outputs) outputs.push_back(o.name());
  put_names(out, args);
  put_names(out, outputs);
  return out;
}

Piece decode_piece(std::string_view meta, const Catalog& catalog) {
  constexpr std::string_view kWhat = "a piece of a plan";
  Piece piece;
  piece.graph = std::make_unique<Graph>(catalog);
  ImportOptions options;
  options.trusted_order = false;
  from_graph_def(*piece.graph, text(meta, kWhat), options);
  for (const std::string& name : take_names(meta, kWhat)) {
    Node* arg = piece.graph->find(name);
    if (!arg || arg->op() != "_Arg" ||
        arg->attrs().get<int64_t>("index") != int64_t(piece.args.size()))
      bad(kWhat);
    piece.args.push_back(arg);
  }
  for (const std::string& name : take_names(meta, kWhat))
    piece.outputs.push_back(piece.graph->output(name));
  return piece;
}

std::string encode(const Call& call) {
  std::string out;
  put_varint(out, call.segment);
  return out;
}

Call decode_call(std::string_view meta) { return {number(meta, "a call")}; }

std::string encode_names(const std::vector<std::string>& names) {
  std::string out;
  put_names(out, names);
  return out;
}

std::vector<std::string> decode_names(std::string_view meta) {
  return take_names(meta, "a list of names");
}

std::string encode(const Extension& extension) {
  std::string out;
  put_varint(out, extension.from);
  put_text(out, extension.graph_def);
  return out;
}

Extension decode_extension(std::string_view meta) {
  constexpr std::string_view kWhat = "a part of a graph";
  Extension extension;
  extension.from = number(meta, kWhat);
  extension.graph_def = text(meta, kWhat);
  return extension;
}

std::string encode(const RunRequest& request) {
  std::string out;
  put_names(out, request.feeds);
  put_names(out, request.fetches);
  put_names(out, request.targets);
  return out;
}

RunRequest decode_run_request(std::string_view meta) {
  constexpr std::string_view kWhat = "a run";
  RunRequest request;
  request.feeds = take_names(meta, kWhat);
  request.fetches = take_names(meta, kWhat);
  request.targets = take_names(meta, kWhat);
  return request;
}

}  // namespace capstan
