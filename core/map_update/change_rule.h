// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a cube of space, by the votes of the passes. Pure functions.

#ifndef VOXLOC_CORE_MAP_UPDATE_CHANGE_RULE_H_
#define VOXLOC_CORE_MAP_UPDATE_CHANGE_RULE_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "core/map_update/cube_votes.h"

namespace voxloc {

struct ChangeRule {
  // Passes that show a change, at the least. A place that every second car finds taken is taken in
  // five passes in a row with a chance of 3 %.
  size_t min_passes = 5;
  // From the first of these passes to the last: longer than most cars stay in a street by day.
  double min_span_s = 4.0 * 3600.0;
  // Passes that have points in a new cube or next to it, as a share of those that have points
  // within a metre or two, at the least; and passes that have points in the cube itself, as a share
  // of the former: the more passes there are, the more of them have a wrong return at any place,
  // most of all beside a surface.
  double min_present = 0.5;
  double min_inside = 0.2;
  // Passes that show the contrary, as a share of all that show either, at most: one in ten may have
  // a wrong return, or a passer-by in the way.
  double max_contrary = 0.1;
};

enum class CubeFate : uint8_t {
  kStays,      // as the map has it
  kGone,       // its points leave the map
  kNew,        // its points join the map
  kUnsettled,  // something that moves or parks, or too few passes
};

// `pass_start_ns`: of every pass.
[[nodiscard]] CubeFate DecideCube(const VotedCube& cube, const ChangeRule& rule,
                                  absl::Span<const int64_t> pass_start_ns);

// Passes that saw through what nearly all others have hit: their poses disagree with the others'.
// At most a quarter of the passes is named; with fewer than four, none.
[[nodiscard]] PassMask FindDisagreeing(const CubeVotes& votes, size_t passes);

// The passes that go one way at a place, and those that go the other way.
struct PassDirections {
  PassMask one = 0;
  PassMask other = 0;
};
// Whether these passes go both ways, where any go both ways.
[[nodiscard]] bool CoverDirections(PassMask passes, const PassDirections& directions);

[[nodiscard]] size_t CountPasses(PassMask passes);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_UPDATE_CHANGE_RULE_H_
