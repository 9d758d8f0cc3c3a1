#include "net/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/error.h"

namespace capstan {

std::string hmac_sha256(std::string_view key, std::string_view text) {
  // Without its clean-up at exit, which would pull locks from under threads that still end.
  static const int ready = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  if (!ready ||
      !HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
            reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac, &length)) {
    throw internal_error("OpenSSL cannot compute HMAC-SHA256");
  }
  return std::string(reinterpret_cast<char*>(mac), length);
}

}  // namespace capstan
