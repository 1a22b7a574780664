// SPDX-License-Identifier: Apache-2.0
//
// ChangedCubes: what becomes of each cube that passes voted on, once noise is left out: changed
// cubes with too few others within a metre stay as they are, and new ones that a parked car could
// be are not settled. Immutable; the votes must outlive it.

#ifndef VOXLOC_CORE_MAP_UPDATE_CHANGED_CUBES_H_
#define VOXLOC_CORE_MAP_UPDATE_CHANGED_CUBES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/map_update/change_rule.h"
#include "core/map_update/cube_votes.h"

namespace voxloc {

class ChangedCubes {
 public:
  ChangedCubes(const CubeVotes& votes, const ChangeRule& rule,
               absl::Span<const int64_t> pass_start_ns);

  // Of the cube with this number in the votes.
  [[nodiscard]] CubeFate fate(size_t cube) const { return fates_[cube]; }
  // Whether it is gone or new together with so much above the height of cars that it is no noise.
  [[nodiscard]] bool IsLarge(size_t cube) const { return large_[cube]; }

 private:
  std::vector<CubeFate> fates_;
  std::vector<bool> large_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_UPDATE_CHANGED_CUBES_H_
