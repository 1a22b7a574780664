// SPDX-License-Identifier: Apache-2.0
//
// The records of MCAP (https://mcap.dev/spec), out of their bytes. Pure functions.
//
// A record is its kind (a byte), the length of its content (uint64) and the content; all numbers
// are little-endian. Kinds that are not needed here are skipped, as the specification asks.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_MCAP_BAG_H_
#define VOXLOC_CLIENTS_DATASET_BAG_MCAP_BAG_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/dataset/bag/byte_reader.h"
#include "clients/dataset/bag/chunked_bag.h"

namespace voxloc::bag {

constexpr absl::string_view kMcapMagic("\x89MCAP0\r\n", 8);
constexpr size_t kMcapRecordHeadBytes = 9;

enum class McapKind : uint8_t {
  kHeader = 0x01,
  kFooter = 0x02,
  kSchema = 0x03,
  kChannel = 0x04,
  kMessage = 0x05,
  kChunk = 0x06,
  kChunkIndex = 0x08,
  kStatistics = 0x0B,
  kDataEnd = 0x0F,
};

struct McapRecord {
  uint8_t kind = 0;
  absl::string_view content;
  [[nodiscard]] bool Is(McapKind wanted) const { return kind == static_cast<uint8_t>(wanted); }
};
// Calls `take` with each record, until an error of its own. InvalidArgument: the last is not whole.
[[nodiscard]] absl::Status ForEachMcapRecord(
    absl::string_view records, absl::FunctionRef<absl::Status(const McapRecord&)> take);

struct McapSchema {
  uint16_t id = 0;  // 0: none
  absl::string_view name;
};
struct McapChannel {
  uint16_t id = 0;
  uint16_t schema_id = 0;
  absl::string_view topic;
  absl::string_view encoding;
};
struct McapMessage {
  uint16_t channel = 0;
  int64_t recorded_ns = 0;
  absl::string_view bytes;
};
struct McapChunk {
  uint64_t uncompressed_bytes = 0;
  uint32_t crc = 0;  // CRC-32 of the uncompressed bytes; 0: not known
  absl::string_view compression;
  absl::string_view stored;
};
struct McapStatistics {
  uint64_t messages = 0;
  uint32_t chunks = 0;
  std::vector<std::pair<uint16_t, uint64_t>> messages_of_channel;
};
struct McapFooter {
  uint64_t summary_start = 0;  // 0: there is no summary
  uint32_t summary_crc = 0;    // 0: not known
};

// InvalidArgument: the content is too short.
[[nodiscard]] absl::StatusOr<McapSchema> McapSchemaOf(absl::string_view content);
[[nodiscard]] absl::StatusOr<McapChannel> McapChannelOf(absl::string_view content);
[[nodiscard]] absl::StatusOr<McapMessage> McapMessageOf(absl::string_view content);
[[nodiscard]] absl::StatusOr<McapChunk> McapChunkOf(absl::string_view content);
[[nodiscard]] absl::StatusOr<Chunk> McapChunkIndexOf(absl::string_view content);
[[nodiscard]] absl::StatusOr<McapStatistics> McapStatisticsOf(absl::string_view content);
[[nodiscard]] absl::StatusOr<McapFooter> McapFooterOf(absl::string_view content);

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_MCAP_BAG_H_
