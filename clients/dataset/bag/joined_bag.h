// SPDX-License-Identifier: Apache-2.0
//
// Several files of one recording as one bag: recorders begin a new file when one is full.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_JOINED_BAG_H_
#define VOXLOC_CLIENTS_DATASET_BAG_JOINED_BAG_H_

#include <memory>
#include <vector>

#include "clients/dataset/bag/bag.h"

namespace voxloc::bag {

// At least one. Files are read one after the other, in the order of their first messages; files
// without messages give their topics. One bag is given back as it is.
[[nodiscard]] std::unique_ptr<Bag> JoinBags(std::vector<std::unique_ptr<Bag>> bags);

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_JOINED_BAG_H_
