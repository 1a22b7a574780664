// SPDX-License-Identifier: Apache-2.0
//
// MCAP files (https://mcap.dev/spec): what ROS 2 records to since Iron, and what many tools write.
// Chunks without compression or with lz4 or zstd, messages outside of chunks, files with and
// without a summary, files that were not closed, and messages that rosbag2 compressed one by one.
// Checksums of chunks and of the summary are checked.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_MCAP_BAG_H_
#define VOXLOC_CLIENTS_DATASET_BAG_MCAP_BAG_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/dataset/bag/chunked_bag.h"
#include "clients/dataset/bag/mcap_records.h"

namespace voxloc::bag {

class McapBag : public ChunkedBag {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Bag>> Open(const std::string& path);

  [[nodiscard]] absl::StatusOr<ChunkContents> Load(const Chunk& chunk) const override;

 private:
  using ChunkedBag::ChunkedBag;

  // Fills the tables from the summary. An error says why it cannot be used.
  [[nodiscard]] absl::Status ReadSummary();
  [[nodiscard]] absl::Status TakeSummary(absl::string_view summary);
  // Fills the tables by reading all records, up to the first that is not whole.
  [[nodiscard]] absl::Status Walk();
  // Schemas and channels among the records.
  [[nodiscard]] absl::Status DefineAll(absl::string_view records);
  [[nodiscard]] absl::Status DefineOne(const McapRecord& record);

  absl::flat_hash_map<uint16_t, std::string> schemas_;
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_MCAP_BAG_H_
