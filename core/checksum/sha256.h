// SPDX-License-Identifier: Apache-2.0
//
// SHA-256, which names the content of tiles (FIPS 180-4; OpenSSL computes it). Thread-safe: no
// shared state.

#ifndef VOXLOC_CORE_CHECKSUM_SHA256_H_
#define VOXLOC_CORE_CHECKSUM_SHA256_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace voxloc {

using Sha256Digest = std::array<uint8_t, 32>;

// Incremental hashing. Movable. The constructor allocates the state and throws std::bad_alloc when
// it cannot; nothing after that can fail.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void Update(absl::string_view bytes);

  // The digest of all bytes so far. No call may follow.
  [[nodiscard]] Sha256Digest Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

[[nodiscard]] Sha256Digest Sha256Of(absl::string_view bytes);

// As 64 hexadecimal digits in lower case, and back. InvalidArgument: not 64 such digits.
[[nodiscard]] std::string ToHex(const Sha256Digest& digest);
[[nodiscard]] absl::StatusOr<Sha256Digest> Sha256FromHex(absl::string_view hex);

// As 32 bytes, and back. InvalidArgument: not 32 bytes.
[[nodiscard]] std::string ToBytes(const Sha256Digest& digest);
[[nodiscard]] absl::StatusOr<Sha256Digest> Sha256FromBytes(absl::string_view bytes);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CHECKSUM_SHA256_H_
