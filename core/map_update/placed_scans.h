// SPDX-License-Identifier: Apache-2.0
//
// PlacedScans: the scans of the passes at poses that are refined step by step, and their votes on
// cubes of space. One scan in ten is held out: it is placed like the others, and does not vote.
// Not thread-safe; the engine, the profile and the request must outlive it.

#ifndef VOXLOC_CORE_MAP_UPDATE_PLACED_SCANS_H_
#define VOXLOC_CORE_MAP_UPDATE_PLACED_SCANS_H_

#include <Eigen/Core>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "core/engine/profile.h"
#include "core/geometry/pose.h"
#include "core/map_update/change_rule.h"
#include "core/map_update/cube_votes.h"
#include "core/map_update/scan_motions.h"
#include "core/map_update/update_request.h"

namespace voxloc {

// A cube counts as hit up to a cube beside it: of walls 0.3 m apart, the space between is seen.
constexpr double kVoteCubeM = 0.1;
// Of points that vote and of rays: farther away, an error of the rotation of 0.1 degrees moves them
// by more than 4 cm.
constexpr double kVoteRangeM = 25.0;
// Between a recorded pose and the aligned one: accepted poses are right to much less, so that
// something else may be wrong with the scan as well.
constexpr double kMaxCorrectionM = 0.5;
// New structure is looked for so far above and below what is known.
constexpr double kHeadroomM = 20.0;

class PlacedScans {
 public:
  // At their recorded poses, all of them used.
  PlacedScans(Engine& engine, const Profile& profile, const UpdateRequest& request);

  using Map = std::shared_ptr<const ResidentMap>;
  // Aligns each scan of the list with the map, from its pose, and calls visit(scan, result).
  void ForEachResult(absl::Span<const size_t> scans, const Map& map,
                     absl::FunctionRef<void(size_t, const AlignResult&)> visit) const;

  // How the vehicles moved from each scan that is used to the next one of its pass
  // (MeasureMotions).
  [[nodiscard]] absl::Status MeasureMotions(TiltPoints tilt_points);
  // To the next scan that is used; nullptr: not known.
  [[nodiscard]] const Pose* MotionTo(size_t scan, size_t next) const;

  [[nodiscard]] const Pose& pose(size_t scan) const { return poses_[scan]; }
  [[nodiscard]] bool used(size_t scan) const { return used_[scan]; }
  // `used`: whether the pose is one by alignment that Refine starts from, and the scan may vote.
  void Place(size_t scan, const Pose& map_T_base, bool used);
  void LeaveOut(size_t scan) { used_[scan] = false; }

  // RefineTogether, of the scans of each pass that are used, with their motions.
  void Refine();

  // In the order of the request; and of each pass.
  [[nodiscard]] std::vector<size_t> Used() const;
  [[nodiscard]] std::vector<std::vector<size_t>> UsedByPass() const;
  [[nodiscard]] std::vector<size_t> UsedAndHeldOut() const;
  [[nodiscard]] static bool IsHeldOut(size_t scan);

  [[nodiscard]] Eigen::Vector3d SensorOf(size_t scan) const;
  // In the map's frame; those that vote lie within kVoteRangeM of the sensor.
  [[nodiscard]] std::vector<Eigen::Vector3d> PointsOf(size_t scan) const;
  [[nodiscard]] std::vector<Eigen::Vector3d> VotingPointsOf(size_t scan) const;

  // Which way the passes with a scan that is used within kVoteRangeM of a place go there, by the x
  // axis of the nearest such scan, in x and y. The first of these passes goes one way.
  [[nodiscard]] PassDirections DirectionsAt(const Eigen::Vector3d& place_map) const;

  // Of the scans that are used, on `votes`, which knows the map. Passes that disagree with the
  // others are left out from then on, and returned.
  [[nodiscard]] PassMask Vote(absl::FunctionRef<bool(const Eigen::Vector3d&)> explained,
                              CubeVotes& votes);

 private:
  Engine& engine_;
  const Profile& profile_;
  const UpdateRequest& request_;
  std::vector<Pose> aligned_;
  std::vector<Pose> poses_;
  std::vector<bool> used_;
  std::vector<std::pair<size_t, Pose>> motions_;  // to the next of the pass; 0: not known
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_UPDATE_PLACED_SCANS_H_
