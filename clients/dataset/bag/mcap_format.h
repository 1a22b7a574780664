// SPDX-License-Identifier: Apache-2.0
//
// What the reader and the writer of MCAP files (https://mcap.dev/spec) share.
//
// A record is its kind (a byte), the length of its content (uint64) and the content; all numbers
// are little-endian.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_MCAP_FORMAT_H_
#define VOXLOC_CLIENTS_DATASET_BAG_MCAP_FORMAT_H_

#include <zlib.h>

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace voxloc::bag {

inline constexpr absl::string_view kMcapMagic("\x89MCAP0\r\n", 8);
inline constexpr size_t kMcapRecordHeadBytes = 9;

enum class McapKind : uint8_t {
  kHeader = 0x01,
  kFooter = 0x02,
  kSchema = 0x03,
  kChannel = 0x04,
  kMessage = 0x05,
  kChunk = 0x06,
  kMessageIndex = 0x07,
  kChunkIndex = 0x08,
  kStatistics = 0x0B,
  kDataEnd = 0x0F,
};

// `before`: of the bytes before these.
[[nodiscard]] inline uint32_t Crc32(absl::string_view bytes, uint32_t before = 0) {
  // zlib's function with size_t as its length takes bytes of any number.
  return static_cast<uint32_t>(
      ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_MCAP_FORMAT_H_
