#include "net/handshake.h"

#include <openssl/crypto.h>

#include "base/bytes.h"
#include "base/printable.h"
#include "net/hmac.h"

namespace capstan {
namespace {

constexpr std::string_view kMagic = "CAPSTAN\n";
constexpr size_t kNonceBytes = 32, kProofBytes = 32;
constexpr size_t kPrefixBytes = 4, kMaxRecordBytes = 2048, kMaxTextBytes = 256;
enum Kind : uint8_t { kHelloRecord = 1, kProofRecord = 2, kRefusalRecord = 3 };
constexpr std::string_view kSecretRemedy =
    "give both the same secret: start them with one `capstan run`, or point CAPSTAN_SECRET_FILE of "
    "each at a copy of one file";

void put_text(std::string& out, std::string_view text) {
  text = text.substr(0, kMaxTextBytes);
  put_fixed32(out, uint32_t(text.size()));
  out += text;
}

bool take_text(std::string_view& in, std::string& out) {
  auto size = take_fixed32(in);
  if (!size || *size > kMaxTextBytes) return false;
  auto bytes = take_bytes(in, *size);
  if (bytes) out = *bytes;
  return bytes.has_value();
}

}  // namespace

Handshake::Handshake(Role role, const Identity& self, uint32_t features, std::string unix_name,
                     std::string where, Random& random)
    : role_(role),
      self_(self),
      features_(features),
      unix_name_(std::move(unix_name)),
      where_(std::move(where)),
      random_(random) {
  if (role_ == Role::kClient) send_hello();
}

std::string Handshake::peer_text() const {
  return peer_.name.empty() ? where_ : fmt::format("{} at {}", peer_.name, where_);
}

size_t Handshake::wanted() const {
  if (done()) return 0;
  if (input_.size() < kPrefixBytes) return kPrefixBytes - input_.size();
  return kPrefixBytes + load_fixed32(input_.data()) - input_.size();
}

void Handshake::feed(std::string_view bytes) {
  input_ += bytes;
  if (input_.size() < kPrefixBytes) return;
  uint32_t length = load_fixed32(input_.data());
  if (length == 0 || length > kMaxRecordBytes) {
    throw data_loss("{} does not speak Capstan's protocol", where_);
  }
  if (wanted() > 0) return;
  std::string record = std::exchange(input_, {}).substr(kPrefixBytes);
  on_record(uint8_t(record[0]), std::string_view(record).substr(1));
}

void Handshake::on_record(uint8_t kind, std::string_view body) {
  if (kind == kRefusalRecord && !body.empty()) {
    uint8_t code = uint8_t(body[0]);
    bool known = code == uint8_t(Code::kUnauthenticated) || code == uint8_t(Code::kUnavailable) ||
                 code == uint8_t(Code::kFailedPrecondition);
    throw Error(
        known ? Code(code) : Code::kUnavailable,
        fmt::format("{} refused the connection: {}", peer_text(), printable(body.substr(1))));
  }
  if (state_ == State::kHello && kind == kHelloRecord) return on_hello(body);
  if (state_ == State::kProof && kind == kProofRecord) return on_proof(body);
  throw data_loss("{} does not speak Capstan's protocol", where_);
}

void Handshake::on_hello(std::string_view body) {
  peer_hello_ = body;
  auto magic = take_bytes(body, kMagic.size());
  auto version = take_fixed32(body);
  if (magic != kMagic || !version) throw data_loss("{} does not speak Capstan's protocol", where_);
  peer_.major = uint16_t(*version >> 16);
  peer_.minor = uint16_t(*version);
  if (role_ == Role::kServer) send_hello();
  // What follows the version may differ between majors.
  if (peer_.major != self_.major) {
    std::string text =
        fmt::format("protocol {}.{} here, {}.{} there: run the same release of Capstan on both",
                    self_.major, self_.minor, peer_.major, peer_.minor);
    refuse(failed_precondition("{} speaks another protocol: {}", where_, text), text);
  }
  auto features = take_fixed32(body);
  auto incarnation = take_fixed64(body);
  auto nonce = take_bytes(body, kNonceBytes);
  if (!nonce || !take_text(body, peer_.name) || !take_text(body, peer_.unix_name)) {
    throw data_loss("{} does not speak Capstan's protocol", where_);
  }
  peer_.name = printable(peer_.name);
  peer_.features = *features & features_;
  peer_.incarnation = *incarnation;
  state_ = State::kProof;
  // The client proves first: a stranger gets nothing from a server to work on.
  if (role_ == Role::kClient) send_proof();
}

void Handshake::on_proof(std::string_view body) {
  bool proven = proves(body, self_.secret);
  if (!proven && role_ == Role::kServer && !self_.client_secret.empty())
    proven = by_client_secret_ = proves(body, self_.client_secret);
  if (!proven) {
    refuse(unauthenticated("{} could not prove that it belongs to this job; {}", peer_text(),
                           kSecretRemedy),
           fmt::format("the proof of the job's secret failed; {}", kSecretRemedy));
  }
  state_ = State::kDone;
  if (role_ == Role::kServer) send_proof();
}

bool Handshake::proves(std::string_view body, const std::string& secret) const {
  std::string expected = proof(role_ == Role::kClient ? Role::kServer : Role::kClient, secret);
  return body.size() == kProofBytes &&
         CRYPTO_memcmp(body.data(), expected.data(), kProofBytes) == 0;
}

void Handshake::send_hello() {
  own_hello_ = kMagic;
  put_fixed32(own_hello_, uint32_t(self_.major) << 16 | self_.minor);
  put_fixed32(own_hello_, features_);
  put_fixed64(own_hello_, self_.incarnation);
  char nonce[kNonceBytes];
  random_.fill(nonce, sizeof nonce);
  own_hello_.append(nonce, sizeof nonce);
  put_text(own_hello_, self_.name);
  put_text(own_hello_, unix_name_);
  send_record(kHelloRecord, own_hello_);
}

void Handshake::send_proof() {
  send_record(kProofRecord, proof(role_, by_client_secret_ ? self_.client_secret : self_.secret));
}

void Handshake::send_record(uint8_t kind, std::string_view body) {
  put_fixed32(output_, uint32_t(body.size() + 1));
  output_.push_back(char(kind));
  output_ += body;
}

void Handshake::refuse(const Error& error, std::string_view to_peer) {
  std::string body(1, char(error.code()));
  body += to_peer;
  send_record(kRefusalRecord, body);
  throw error;
}

// The client's hello, then the server's.
std::string Handshake::transcript() const {
  return role_ == Role::kClient ? own_hello_ + peer_hello_ : peer_hello_ + own_hello_;
}

uint64_t Handshake::link() const { return std::hash<std::string>()(transcript()); }

// Both hellos are under the proof, so nothing in them can be changed on the way; the label keeps
// one side's proof from being played back as the other's.
std::string Handshake::proof(Role role, const std::string& secret) const {
  std::string text = role == Role::kClient ? "capstan client proof\n" : "capstan server proof\n";
  text += transcript();
  return hmac_sha256(secret, text);
}

}  // namespace capstan
