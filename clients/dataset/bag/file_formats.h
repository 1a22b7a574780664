// SPDX-License-Identifier: Apache-2.0
//
// The readers of each format of recordings. Messages that rosbag2 has compressed one by one are
// decompressed.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_FILE_FORMATS_H_
#define VOXLOC_CLIENTS_DATASET_BAG_FILE_FORMATS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/bag.h"

namespace voxloc::bag {

// MCAP files (https://mcap.dev/spec): what ROS 2 records to since Iron, and what many tools write.
// Chunks without compression or with lz4 or zstd, messages outside of chunks, files with and
// without a summary, and files that were not closed. Checksums of chunks and of the summary are
// checked.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Bag>> OpenMcapBag(const std::string& path);

// ROS 1 bags of version 2.0 (https://wiki.ros.org/Bags/Format/2.0), which is what every ROS since
// 2010 writes. Chunks without compression or with bz2 or lz4, bags with and without an index, and
// bags whose recording was cut off (.bag.active). Not encrypted ones.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Bag>> OpenRos1Bag(const std::string& path);

// rosbag2's SQLite files (.db3): the tables `topics` and `messages`. The file is read only, and
// what is in it is data: views, virtual tables and triggers are not run.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Bag>> OpenSqliteBag(const std::string& path);

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_FILE_FORMATS_H_
