// SPDX-License-Identifier: Apache-2.0
//
// What shadow mode (voxloc.shadow) compares: the poses of scans with those of the incumbent, the
// localizer that the vehicle drives by. Not thread-safe.

#ifndef VOXLOC_CLIENTS_ROS_CORE_SHADOW_COMPARISON_H_
#define VOXLOC_CLIENTS_ROS_CORE_SHADOW_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "clients/ros/core/histories.h"
#include "clients/ros/core/messages.h"
#include "clients/ros/core/parameters.h"

namespace voxloc::ros {

// Scans, by who published a pose for them.
struct ShadowCounts {
  uint64_t compared = 0;  // both
  uint64_t only_voxloc = 0;
  uint64_t only_incumbent = 0;
};

// A scan once it is known whether the incumbent has a pose for it.
struct ShadowScan {
  int64_t stamp_ns = 0;
  std::optional<Pose> map_T_base;            // voxloc's, where it was published
  std::optional<Pose> incumbent_map_T_base;  // at the same stamp
  ShadowCounts counts;                       // up to this scan

  // voxloc's base in the incumbent's: voxloc minus incumbent, along the axes of the base. nullopt:
  // one of the two has no pose.
  [[nodiscard]] std::optional<Pose> Difference() const;
};

// The incumbent's poses.
class IncumbentHistory : public StampedHistory<PoseSample, kMaxPoses> {
 public:
  // Whether no pose of this stamp can still come: there is one, or a later one.
  [[nodiscard]] bool Reaches(int64_t stamp_ns) const {
    return !samples_.empty() && samples_.back().stamp_ns >= stamp_ns;
  }
  // The pose of this stamp, or between the two around it where they are at most 0.15 s apart:
  // linear, and along the shortest arc. nullopt: there is neither.
  [[nodiscard]] std::optional<Pose> At(int64_t stamp_ns) const;
};

class ShadowComparison {
 public:
  // Scans that wait for the incumbent's pose: 2 s at 10 Hz. Beyond, the oldest is taken as one
  // without.
  static constexpr size_t kMaxWaiting = 20;

  // The outcome of a scan, with its pose where it was published; and a pose of the incumbent. Both
  // return the scans that are known now.
  [[nodiscard]] std::vector<ShadowScan> AddScan(int64_t stamp_ns,
                                                const std::optional<Pose>& map_T_base);
  [[nodiscard]] std::vector<ShadowScan> AddIncumbent(int64_t stamp_ns, const Pose& map_T_base);

 private:
  std::vector<ShadowScan> TakeKnown();

  IncumbentHistory incumbent_;
  std::deque<ShadowScan> waiting_;
  ShadowCounts counts_;
};

// The shadow_status of a scan. WARN where the difference is over a limit of voxloc.shadow_max_*, or
// only one of the two published a pose.
[[nodiscard]] DiagnosticStatus ShadowStatus(const std::string& node_name,
                                            const BridgeParameters& parameters,
                                            const ShadowScan& scan);

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_SHADOW_COMPARISON_H_
