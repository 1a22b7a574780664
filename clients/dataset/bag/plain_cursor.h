// SPDX-License-Identifier: Apache-2.0
//
// Messages that were compressed one by one (rosbag2's compression mode MESSAGE, in either storage),
// decompressed as they are read.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_PLAIN_CURSOR_H_
#define VOXLOC_CLIENTS_DATASET_BAG_PLAIN_CURSOR_H_

#include <memory>

#include "clients/dataset/bag/bag.h"

namespace voxloc::bag {

// `contents`, of the bag that the cursor reads, must outlive what is returned.
[[nodiscard]] std::unique_ptr<Cursor> PlainCursor(const BagContents& contents,
                                                  std::unique_ptr<Cursor> cursor);

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_PLAIN_CURSOR_H_
