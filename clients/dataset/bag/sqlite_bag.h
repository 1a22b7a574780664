// SPDX-License-Identifier: Apache-2.0
//
// rosbag2's SQLite files (.db3): the tables `topics` and `messages`. The file is read only, and
// what is in it is data: views, virtual tables and triggers are not run. Messages compressed one by
// one (rosbag2's compression mode MESSAGE) are decompressed.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_SQLITE_BAG_H_
#define VOXLOC_CLIENTS_DATASET_BAG_SQLITE_BAG_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/bag.h"

namespace voxloc::bag {

[[nodiscard]] absl::StatusOr<std::unique_ptr<Bag>> OpenSqliteBag(const std::string& path);

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_SQLITE_BAG_H_
