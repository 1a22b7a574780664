// SPDX-License-Identifier: Apache-2.0
//
// The records of ROS 1 bags of version 2.0 (https://wiki.ros.org/Bags/Format/2.0), out of their
// bytes. Pure functions.
//
// A record is the length of its header (uint32), the header, the length of its data (uint32) and
// the data. A header is a list of fields: a length (uint32), a name, '=' and a value. All numbers
// are little-endian.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_ROS1_BAG_H_
#define VOXLOC_CLIENTS_DATASET_BAG_ROS1_BAG_H_

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

constexpr absl::string_view kRos1Magic = "#ROSBAG V2.0\n";

enum class Ros1Kind : uint8_t {
  kMessage = 0x02,
  kBagHeader = 0x03,
  kChunk = 0x05,
  kChunkInfo = 0x06,
  kConnection = 0x07,
};

// A record's header. The fields that a kind has not are empty.
class Ros1Header {
 public:
  // InvalidArgument: not a list of fields.
  [[nodiscard]] static absl::StatusOr<Ros1Header> Parse(absl::string_view bytes);

  [[nodiscard]] bool Is(Ros1Kind kind) const;
  [[nodiscard]] absl::string_view Text(absl::string_view name) const;
  // InvalidArgument names the field: missing, or of another length.
  [[nodiscard]] absl::StatusOr<uint32_t> Uint32(absl::string_view name) const;
  [[nodiscard]] absl::StatusOr<uint64_t> Uint64(absl::string_view name) const;
  [[nodiscard]] absl::StatusOr<int64_t> Time(absl::string_view name) const;  // nanoseconds

 private:
  std::vector<std::pair<absl::string_view, absl::string_view>> fields_;
};

struct Ros1Record {
  Ros1Header header;
  absl::string_view data;
};
// Calls `take` with each record, until an error of its own. InvalidArgument: the last is not whole.
[[nodiscard]] absl::Status ForEachRos1Record(
    absl::string_view records, absl::FunctionRef<absl::Status(const Ros1Record&)> take);

struct Ros1Connection {
  uint32_t id = 0;
  absl::string_view topic;
  absl::string_view type;
};
[[nodiscard]] absl::StatusOr<Ros1Connection> Ros1ConnectionOf(const Ros1Record& record);

struct Ros1ChunkInfo {
  Chunk chunk;
  std::vector<std::pair<uint32_t, uint32_t>> messages_of_connection;
};
[[nodiscard]] absl::StatusOr<Ros1ChunkInfo> Ros1ChunkInfoOf(const Ros1Record& record);

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_ROS1_BAG_H_
