// SPDX-License-Identifier: Apache-2.0
//
// TrackCheck: whether a result that is far from its guess can be where its vehicle is, by the
// results before it. A lost vehicle gets poses that look right one by one, and that no vehicle
// could have driven. So a result that neither its guess expects nor the vehicle's track is believed
// only once several scans in a row lead from one to the next. Not thread-safe: its session locks.

#ifndef VOXLOC_CORE_TRACKING_TRACK_CHECK_H_
#define VOXLOC_CORE_TRACKING_TRACK_CHECK_H_

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <string>

#include "core/geometry/pose.h"

namespace voxloc {

class TrackCheck {
 public:
  // Scans in a row that must agree with a new track, or after which a track without a result is
  // over: as many as confirm the pose of a recovery, and as make a vehicle lost (RecoveryOptions).
  static constexpr int kInARow = 5;

  // Takes a result that is good enough by itself; `near_guess`: it is where its guess said. Empty:
  // so it is, or it follows from the track, or is confirmed, or it has no stamp (0), which says
  // nothing of the way. Otherwise why it is doubted.
  [[nodiscard]] std::string Add(int64_t stamp_ns, const Pose& map_T_base, bool near_guess);
  // A scan has no such result.
  void Miss();
  // Forgets the vehicle.
  void Reset() { *this = TrackCheck(); }

 private:
  // Results that lead from one to the next.
  struct Track {
    int64_t stamp_ns = 0;
    Pose map_T_base;
    std::optional<Eigen::Vector3d> velocity_base_m_s;  // by the last two; nullopt: there is one
    int results = 1;
  };

  // nullopt: it cannot be reached from there in time, is not later, or so late that the track says
  // nothing of it.
  [[nodiscard]] static std::optional<Track> Follow(const Track& track, int64_t stamp_ns,
                                                   const Pose& map_T_base);

  void CountMissed();

  std::optional<Track> track_;      // of accepted results
  int missed_ = 0;                  // scans since then
  std::optional<Track> candidate_;  // of those since that do not follow from it
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_TRACK_CHECK_H_
