#pragma once

// The first words of a connection: who speaks which version, and a mutual proof of the job's
// secret. A state machine without a socket, the same for both sides; the driver reads exactly
// wanted() bytes, feeds them, and sends what output() gives. docs/formats/wire.md describes the
// records.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/random.h"

namespace capstan {

constexpr uint16_t kProtocolMajor = 1;
constexpr uint16_t kProtocolMinor = 0;

// What the connection may use; both sides must say so.
enum Feature : uint32_t { kFeatureShm = 1 };

struct Identity {
  std::string name;  // "worker/0"; for messages, not for trust
  uint64_t incarnation = 0;
  std::string secret;
  // Of a server: what clients that do not know the job's secret may prove instead; empty: nothing.
  std::string client_secret = {};
  uint16_t major = kProtocolMajor;
  uint16_t minor = kProtocolMinor;
};

struct PeerIdentity {
  uint16_t major = 0, minor = 0;
  uint32_t features = 0;
  uint64_t incarnation = 0;
  std::string name;
  std::string unix_name;  // of a server: where peers of its host find it; may be empty
};

class Handshake {
 public:
  enum class Role { kClient, kServer };
  // `where` names the other side in errors until it has said its name. A client's `features` are
  // what it asks for, a server's what it grants.
  Handshake(Role role, const Identity& self, uint32_t features, std::string unix_name,
            std::string where, Random& random);

  // Bytes to read before feed() can do anything; 0 when done.
  size_t wanted() const;
  // Throws FailedPrecondition (another major), Unauthenticated, DataLoss; whatever is thrown, the
  // output still has to be sent: it tells the other side why.
  void feed(std::string_view bytes);
  std::string take_output() { return std::exchange(output_, {}); }
  bool done() const { return state_ == State::kDone; }
  const PeerIdentity& peer() const { return peer_; }
  // Names this connection, on both of its sides.
  uint64_t link() const;
  std::string peer_text() const;  // "worker/0 at 10.0.0.1:4711"

 private:
  enum class State { kHello, kProof, kDone };
  void on_record(uint8_t kind, std::string_view body);
  void on_hello(std::string_view body);
  void on_proof(std::string_view body);
  void send_hello();
  void send_proof();
  void send_record(uint8_t kind, std::string_view body);
  [[noreturn]] void refuse(const Error& error, std::string_view to_peer);
  std::string proof(Role role, const std::string& secret) const;
  bool proves(std::string_view body, const std::string& secret) const;
  std::string transcript() const;

  const Role role_;
  const Identity self_;
  const uint32_t features_;
  const std::string unix_name_;
  const std::string where_;
  Random& random_;
  State state_ = State::kHello;
  bool by_client_secret_ = false;  // what the client proved, and gets proved in return
  PeerIdentity peer_;
  std::string input_, output_;
  std::string own_hello_, peer_hello_;
};

}  // namespace capstan
