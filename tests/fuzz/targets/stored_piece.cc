// SPDX-License-Identifier: Apache-2.0
//
// A compressed piece of the store: eight bytes of its length before compression, then its data,
// whose checksum is right.

#include <cstdint>
#include <cstring>

#include "core/checksum/crc32c.h"
#include "server/maps/store/contents.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {

absl::Status FuzzStoredPiece(absl::string_view bytes) {
  uint64_t raw_bytes = 0;
  if (bytes.size() < sizeof(raw_bytes)) return absl::InvalidArgumentError("no length");
  std::memcpy(&raw_bytes, bytes.data(), sizeof(raw_bytes));
  const absl::string_view data = bytes.substr(sizeof(raw_bytes));
  const auto raw = server::UnpackPiece({raw_bytes, Crc32c(data), std::string(data)});
  if (!raw.ok()) return raw.status();
  FuzzRequire(raw->size() == raw_bytes, "a piece has its length");
  const auto packed = server::PackPiece(*raw);
  FuzzRequire(packed.ok(), "a piece can be packed again");
  const auto again = server::UnpackPiece(*packed);
  FuzzRequire(again.ok() && *again == *raw, "a piece comes back as it was packed");
  return absl::OkStatus();
}

}  // namespace voxloc
