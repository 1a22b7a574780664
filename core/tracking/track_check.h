// SPDX-License-Identifier: Apache-2.0
//
// TrackCheck: whether a result that is far from its guess is plausible, given the results before
// it. The results of a lost vehicle may each look right, but no vehicle could have driven from one
// to the next. So a result that is near neither its guess nor the vehicle's track is accepted only
// after several consecutive scans form a new track. Not thread-safe: its session locks.

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
  static constexpr int kRequiredInARow = 5;

  // Adds a result that is good enough by itself; `near_guess`: it is near its guess. Empty: the
  // result is accepted, because it is near its guess, continues the track, is confirmed, or has no
  // stamp (0). Otherwise the reason for the rejection.
  [[nodiscard]] std::string Add(int64_t stamp_ns, const Pose& map_T_base, bool near_guess);
  // A scan without such a result.
  void AddMiss();
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

  // The track extended by this pose. nullopt: the pose cannot be reached in that time, is not later
  // than the track, or is too late for a prediction.
  [[nodiscard]] static std::optional<Track> Extend(const Track& track, int64_t stamp_ns,
                                                   const Pose& map_T_base);

  void CountMiss();

  std::optional<Track> track_;      // of accepted results
  int missed_ = 0;                  // scans since then
  std::optional<Track> candidate_;  // of those since that do not follow from it
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_TRACK_CHECK_H_
