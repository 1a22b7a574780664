// SPDX-License-Identifier: Apache-2.0

#include "core/checksum/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>
#include <new>

#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

constexpr absl::string_view kHexDigits = "0123456789abcdef";

}  // namespace

struct Sha256::Context {
  Context() : state(EVP_MD_CTX_new()) {
    if (state == nullptr) throw std::bad_alloc();
    if (EVP_DigestInit_ex(state, EVP_sha256(), nullptr) != 1) {
      EVP_MD_CTX_free(state);
      throw std::bad_alloc();
    }
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { EVP_MD_CTX_free(state); }

  EVP_MD_CTX* const state;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::Update(absl::string_view bytes) {
  EVP_DigestUpdate(context_->state, bytes.data(), bytes.size());
}

Sha256Digest Sha256::Finish() {
  Sha256Digest digest{};
  EVP_DigestFinal_ex(context_->state, digest.data(), nullptr);
  return digest;
}

Sha256Digest Sha256Of(absl::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

std::string ToHex(const Sha256Digest& digest) {
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const uint8_t byte : digest) {
    hex.push_back(kHexDigits[byte >> 4]);
    hex.push_back(kHexDigits[byte & 0xfU]);
  }
  return hex;
}

absl::StatusOr<Sha256Digest> Sha256FromHex(absl::string_view hex) {
  Sha256Digest digest{};
  bool digits = hex.size() == 2 * digest.size();
  for (size_t i = 0; digits && i < hex.size(); ++i) {
    const size_t value = kHexDigits.find(hex[i]);
    digits = value != absl::string_view::npos;
    digest[i / 2] = static_cast<uint8_t>((digest[i / 2] << 4) | value);
  }
  if (!digits) {
    return absl::InvalidArgumentError(
        absl::StrCat("a SHA-256 has ", 2 * digest.size(), " hexadecimal digits in lower case"));
  }
  return digest;
}

std::string ToBytes(const Sha256Digest& digest) { return {digest.begin(), digest.end()}; }

absl::StatusOr<Sha256Digest> Sha256FromBytes(absl::string_view bytes) {
  Sha256Digest digest{};
  if (bytes.size() != digest.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a SHA-256 has ", digest.size(), " bytes, not ", bytes.size()));
  }
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

}  // namespace voxloc
