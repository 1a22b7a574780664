// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/shadow_comparison.h"

#include <iterator>

#include "absl/strings/str_format.h"
#include "clients/ros/core/diagnostics.h"
#include "core/geometry/euler.h"
#include "core/geometry/stamp.h"

namespace voxloc::ros {
namespace {

// Poses at 10 Hz are interpolated, but not over one that is missing among them: with an
// acceleration of 2 m/s^2 the middle is off by 2 * 0.15^2 / 8 = 6 mm.
constexpr double kMaxGapS = 0.15;

}  // namespace

std::optional<Pose> ShadowScan::Difference() const {
  if (!map_T_base.has_value() || !incumbent_map_T_base.has_value()) return std::nullopt;
  return incumbent_map_T_base->Inverse() * *map_T_base;
}

std::optional<Pose> IncumbentHistory::At(int64_t stamp_ns) const {
  const Iterator after = FirstAfter(stamp_ns);
  if (after == samples_.begin()) return std::nullopt;
  const PoseSample& older = *std::prev(after);
  if (older.stamp_ns == stamp_ns) return older.map_T_base;
  if (after == samples_.end()) return std::nullopt;
  const double gap_s = SecondsBetween(older.stamp_ns, after->stamp_ns);
  if (gap_s > kMaxGapS) return std::nullopt;
  const double share = SecondsBetween(older.stamp_ns, stamp_ns) / gap_s;
  const Pose& from = older.map_T_base;
  const Pose& to = after->map_T_base;
  return Pose{from.translation + share * (to.translation - from.translation),
              from.rotation.slerp(share, to.rotation)};
}

std::vector<ShadowScan> ShadowComparison::AddScan(int64_t stamp_ns,
                                                  const std::optional<Pose>& map_T_base) {
  waiting_.push_back({stamp_ns, map_T_base, std::nullopt, {}});
  return TakeKnown();
}

std::vector<ShadowScan> ShadowComparison::AddIncumbent(int64_t stamp_ns, const Pose& map_T_base) {
  incumbent_.Push({stamp_ns, map_T_base, Matrix6::Zero()});
  return TakeKnown();
}

std::vector<ShadowScan> ShadowComparison::TakeKnown() {
  std::vector<ShadowScan> known;
  for (auto scan = waiting_.begin(); scan != waiting_.end();) {
    if (!incumbent_.Reaches(scan->stamp_ns) && waiting_.size() <= kMaxWaiting) {
      ++scan;
      continue;
    }
    scan->incumbent_map_T_base = incumbent_.At(scan->stamp_ns);
    if (scan->Difference().has_value()) {
      ++counts_.compared;
    } else if (scan->map_T_base.has_value()) {
      ++counts_.only_voxloc;
    } else if (scan->incumbent_map_T_base.has_value()) {
      ++counts_.only_incumbent;
    }
    scan->counts = counts_;
    known.push_back(*scan);
    scan = waiting_.erase(scan);
  }
  return known;
}

DiagnosticStatus ShadowStatus(const std::string& node_name, const BridgeParameters& parameters,
                              const ShadowScan& scan) {
  StatusReport report(node_name, kShadowStatus);
  report.SetInt("topic_time_stamp", scan.stamp_ns);
  report.SetBool("is_published", scan.map_T_base.has_value());
  report.SetBool("is_incumbent_published", scan.incumbent_map_T_base.has_value());
  report.SetInt("compared", scan.counts.compared);
  report.SetInt("only_voxloc", scan.counts.only_voxloc);
  report.SetInt("only_incumbent", scan.counts.only_incumbent);
  if (const std::optional<Pose> difference = scan.Difference()) {
    const Eigen::Vector3d& position_m = difference->translation;
    const Eigen::Vector3d angles_deg =
        kDegreesPerRadian * RosAnglesFromRotation(difference->rotation);
    const double distance_m = position_m.norm();
    const double rotation_deg = kDegreesPerRadian * RotationDistance(*difference, Pose());
    report.SetDouble("difference_x", position_m.x());
    report.SetDouble("difference_y", position_m.y());
    report.SetDouble("difference_z", position_m.z());
    report.SetDouble("difference_roll", angles_deg.x());
    report.SetDouble("difference_pitch", angles_deg.y());
    report.SetDouble("difference_yaw", angles_deg.z());
    report.SetDouble("difference_position", distance_m);
    report.SetDouble("difference_rotation", rotation_deg);
    const double max_m = parameters.shadow_max_position_m;
    const double max_deg = parameters.shadow_max_rotation_deg;
    if (distance_m > max_m || rotation_deg > max_deg) {
      report.Warn(absl::StrFormat(
          "the pose should be at most %g m and %g degrees from the incumbent's (got %.3f m and "
          "%.3f degrees)",
          max_m, max_deg, distance_m, rotation_deg));
    }
  } else if (scan.map_T_base.has_value()) {
    report.Warn("the incumbent has no pose for the scan");
  } else if (scan.incumbent_map_T_base.has_value()) {
    report.Warn("the incumbent has a pose for the scan, which voxloc did not accept");
  }
  return report.Status();
}

}  // namespace voxloc::ros
