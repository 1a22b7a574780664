// SPDX-License-Identifier: Apache-2.0
//
// ROS 1 bags of version 2.0 (https://wiki.ros.org/Bags/Format/2.0), which is what every ROS since
// 2010 writes. Chunks without compression or with bz2 or lz4, bags with and without an index, and
// bags whose recording was cut off (.bag.active). Not encrypted ones.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_ROS1_BAG_H_
#define VOXLOC_CLIENTS_DATASET_BAG_ROS1_BAG_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/dataset/bag/chunked_bag.h"
#include "clients/dataset/bag/ros1_records.h"

namespace voxloc::bag {

class Ros1Bag : public ChunkedBag {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Bag>> Open(const std::string& path);

  [[nodiscard]] absl::StatusOr<ChunkContents> Load(const Chunk& chunk) const override;

 private:
  using ChunkedBag::ChunkedBag;

  // The record at an offset of the file, without its data.
  struct Head {
    std::string bytes;  // of the header
    uint64_t data_offset = 0;
    uint64_t data_bytes = 0;
  };
  [[nodiscard]] absl::StatusOr<Head> HeadAt(uint64_t offset) const;

  // Fills the tables from the records at the bag's end. An error says why they cannot be used.
  [[nodiscard]] absl::Status ReadIndex(const Ros1Header& bag_header);
  // Fills the tables by reading all records, up to the first that is not whole.
  [[nodiscard]] absl::Status Walk();
  [[nodiscard]] absl::Status DefineAll(absl::string_view records);
  [[nodiscard]] absl::Status DefineOne(const Ros1Record& record);
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_ROS1_BAG_H_
