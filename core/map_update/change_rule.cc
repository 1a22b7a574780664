// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/change_rule.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace voxloc {
namespace {

bool ShowChange(PassMask passes, PassMask contrary, const ChangeRule& rule,
                absl::Span<const int64_t> pass_start_ns) {
  const size_t count = CountPasses(passes);
  if (count < std::max<size_t>(1, rule.min_passes)) return false;
  const auto against = static_cast<double>(CountPasses(contrary));
  if (against > rule.max_contrary * (against + static_cast<double>(count))) return false;
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  for (size_t i = 0; i < pass_start_ns.size(); ++i) {
    if ((passes >> i & 1U) == 0) continue;
    first = std::min(first, pass_start_ns[i]);
    last = std::max(last, pass_start_ns[i]);
  }
  return static_cast<double>(last - first) >= 1e9 * rule.min_span_s;
}

}  // namespace

size_t CountPasses(PassMask passes) { return static_cast<size_t>(__builtin_popcountll(passes)); }

CubeFate DecideCube(const VotedCube& cube, const ChangeRule& rule,
                    absl::Span<const int64_t> pass_start_ns) {
  // Where a pass sees through a cube and has a point beside it, it may have seen a surface at a low
  // angle, or what stands close to it: it says nothing.
  const PassMask free = cube.through & ~cube.hit_near;
  if (cube.map_points > 0) {
    // A single ray of each pass will do: several have no wrong return at the same place.
    const PassMask absent = (cube.crossed_once | cube.behind) & ~cube.hit_near;
    const PassMask present = cube.hit | (cube.hit_near & ~cube.through);
    return ShowChange(absent, present, rule, pass_start_ns) ? CubeFate::kGone : CubeFate::kStays;
  }
  if (!cube.novel) return CubeFate::kStays;
  const auto is_share = [](PassMask part, double share, PassMask whole) {
    return static_cast<double>(CountPasses(part)) >=
           share * static_cast<double>(CountPasses(whole));
  };
  return is_share(cube.hit_near, rule.min_present, cube.seen) &&
                 is_share(cube.hit, rule.min_inside, cube.hit_near) &&
                 ShowChange(cube.hit_near, free, rule, pass_start_ns)
             ? CubeFate::kNew
             : CubeFate::kUnsettled;
}

bool CoverDirections(PassMask passes, const PassDirections& directions) {
  if (directions.one == 0 || directions.other == 0) return true;
  return (passes & directions.one) != 0 && (passes & directions.other) != 0;
}

PassMask FindDisagreeing(const CubeVotes& votes, size_t passes) {
  constexpr size_t kMinOthers = 3;
  // The share of the cubes that a pass alone sees through. The poses of passes that agree are right
  // to a few centimetres, and nearly none of the cubes within 0.1 m of a hit is seen through.
  constexpr double kMaxShare = 0.03;
  std::vector<double> alone(passes, 0.0);
  std::vector<double> seen(passes, 0.0);
  for (const VotedCube& cube : votes.cubes()) {
    const PassMask free = cube.through & ~cube.hit_near;
    if (CountPasses(cube.hit_near) < kMinOthers) continue;
    for (size_t pass = 0; pass < passes; ++pass) {
      const PassMask bit = PassMask{1} << pass;
      if (((cube.hit_near | free) & bit) != 0) seen[pass] += 1.0;
      if (free == bit) alone[pass] += 1.0;
    }
  }
  std::vector<std::pair<double, size_t>> worst;
  for (size_t pass = 0; pass < passes; ++pass) {
    if (alone[pass] > kMaxShare * seen[pass]) worst.emplace_back(alone[pass] / seen[pass], pass);
  }
  std::sort(worst.rbegin(), worst.rend());
  PassMask found = 0;
  for (size_t i = 0; i < std::min(worst.size(), passes / 4); ++i) {
    found |= PassMask{1} << worst[i].second;
  }
  return found;
}

}  // namespace voxloc
