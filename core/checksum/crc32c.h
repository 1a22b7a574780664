// SPDX-License-Identifier: Apache-2.0
//
// CRC-32C (Castagnoli), the checksum that points carry on the wire. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_CHECKSUM_CRC32C_H_
#define VOXLOC_CORE_CHECKSUM_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace voxloc {

// Extends `crc`, the checksum of the preceding bytes (0: there are none), by `bytes`.
[[nodiscard]] uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes);

// The portable version, for processors without a CRC-32C instruction; several times slower.
[[nodiscard]] uint32_t ExtendCrc32cByTable(uint32_t crc, absl::string_view bytes);

[[nodiscard]] inline uint32_t Crc32c(absl::string_view bytes) { return ExtendCrc32c(0, bytes); }

}  // namespace voxloc

#endif  // VOXLOC_CORE_CHECKSUM_CRC32C_H_
