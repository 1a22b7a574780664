// SPDX-License-Identifier: Apache-2.0
//
// What the moments of a tile are found by: the digest of its points, and the lattices on which they
// were summed. Plain values.

#ifndef VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_KEY_H_
#define VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_KEY_H_

#include <string>

#include "absl/types/span.h"
#include "core/checksum/sha256.h"
#include "core/map/cell_statistics.h"

namespace voxloc::server {

struct MomentsKey {
  Sha256Digest digest = {};
  std::string lattices;  // see LatticesText
};

// The lattices that an engine builds for these statistics: the cell sizes in metres, ascending,
// with all their digits, each with an f behind it where float sums belong to it, such as "1f,2".
// The same text means the same moments; what becomes of them afterwards is not in it.
[[nodiscard]] std::string LatticesText(absl::Span<const CellStatistics> statistics);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_KEY_H_
