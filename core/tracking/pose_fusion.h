// SPDX-License-Identifier: Apache-2.0
//
// PoseFusion: the pose of a vehicle by its scans and its odometry, scan by scan. Each scan begins
// with a prediction, from which it can be aligned, and ends with the fused pose, whether its result
// is used or not:
//
//   const auto prediction = fusion.Begin(stamp_ns, odometry_T_base, base_twist, systematic);
//   ... align from prediction.map_T_base ...
//   const auto fused = fusion.End(prediction.scan, observation);
//
// Scans may end in another order than they began: a late observation enters at its own time, and
// what followed is computed anew.
//
// Observations that contradict the prediction are left out. When several in a row contradict it and
// agree with each other, the fused pose is theirs.
//
// Not thread-safe: its session locks.

#ifndef VOXLOC_CORE_TRACKING_POSE_FUSION_H_
#define VOXLOC_CORE_TRACKING_POSE_FUSION_H_

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/estimate/covariance/covariance_estimator.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"
#include "core/tracking/drive_errors.h"
#include "core/tracking/pose_filter.h"

namespace voxloc {

// Twice what tyres hold on a dry road: the odometry has slipped, or a stamp is wrong.
inline constexpr double kMaxAccelerationMps2 = 15.0;

struct GuessedPose {
  Pose map_T_base;
  Matrix6 covariance = Matrix6::Zero();  // about fixed map axes, positive definite
};

// What a scan says about the pose of its base.
struct ScanObservation {
  Pose map_T_base;
  // Of the pose, about fixed map axes: positive definite, and without the errors that neighbouring
  // scans have in common, which are in the other one.
  Matrix6 covariance = Matrix6::Identity();
  Matrix6 systematic_covariance = Matrix6::Zero();
  Degeneracy degeneracy;     // its spectrum
  double cell_size_m = 0.5;  // of the stage that gave the pose
  // The guess that the alignment began from, where it has a covariance: what a filter that knows no
  // pose takes along directions that the scan does not observe.
  std::optional<GuessedPose> guess = std::nullopt;
};

// Of an aligned scan, whose covariance is that of the method kCalibrated with `systematic` in it.
[[nodiscard]] ScanObservation ObserveByScan(const Pose& map_T_base, const Matrix6& covariance,
                                            const Matrix6& systematic_covariance,
                                            const Degeneracy& degeneracy, double cell_size_m);

// What of a scan enters a filter.
struct ObservedPart : PoseObservation {
  // How much of each axis of the base is observed, order x y z rx ry rz, 0 to 1.
  Vector6 observed = Vector6::Zero();
};

// The directions of the scan's spectrum that it observes, for a filter of this covariance. A
// direction with a share s of the largest information says nothing up to a least share t; above it,
// its weight rises as (1 - t / s)^2.
//
// The least share is kGatedRatio where the filter is sure to a small part of the cells' edge, and
// kObservedRatio where it is not sure to the edge. Along walls that are alike everywhere, scores
// have ripples of about that length, whose tops look like a little information.
//
// The directions of a spectrum are known to a degree or two only. Where the filter is unsure by
// metres along a direction that is not observed, the others would seem to measure it by the little
// that they turn from scan to scan. So they are made to say nothing along the filter's own
// direction there.
[[nodiscard]] ObservedPart PartOf(const ScanObservation& scan, const Matrix6& pose_covariance);

// All scans of the choosing list in towns, halls, garages and forests have more in each direction;
// see kDegeneracyLimits.
constexpr double kObservedRatio = 2e-2;

struct KnownTwist {
  Twist twist;
  Matrix6 covariance = Matrix6::Zero();  // order vx vy vz wx wy wz, the axes of the base
};

struct FusedPose {
  Pose map_T_base;  // at the stamp: without the offset that DriveErrors has learnt
  Matrix6 covariance = Matrix6::Zero();  // about fixed map axes, without systematic errors
  // Way since each axis of the base was observed, order x y z rx ry rz; 0: by this scan.
  std::array<double, 6> since_observed_m{};
  uint32_t resets = 0;  // times that the pose did not follow from its past, the first included
  std::string refusal;  // why the scan's observation was not used; empty: it was
  double scale = 1.0;   // see PoseFilter
  double scale_sigma = 0.0;
  double yaw_rate_bias_radps = 0.0;
  double yaw_rate_bias_sigma_radps = 0.0;
  double stamp_offset_s = 0.0;
  double stamp_sigma_s = 0.0;  // of it, with the jitter of single stamps
  // Mean since the scan before, with the odometry's scale and bias corrected. nullopt: not known.
  std::optional<KnownTwist> base_twist;
};

class PoseFusion {
 public:
  // Observations in a row that must contradict the prediction and agree with each other. Two can do
  // so where scans slide, and each one more keeps the pose wrong for longer after a wheel has
  // slipped.
  static constexpr int kContradictions = 3;
  // Scans that may have begun and not ended; beyond it, the oldest cannot be used any more.
  static constexpr size_t kMaxOpenScans = 16;

  explicit PoseFusion(const OdometryErrors& errors) : last_(errors) {}

  struct Prediction {
    uint64_t scan = 0;   // for End
    bool known = false;  // false: there is no pose yet, and only `systematic` has a meaning
    Pose map_T_base;     // as a scan shows it: with the offset of its stamp
    Matrix6 covariance = Matrix6::Zero();  // as FusedPose::covariance
    Pose motion;                           // since the last observation that was used
    SystematicError systematic;            // that of Begin, as DriveErrors has adapted it
  };
  // The motion since the scan before is that of the odometry, where both scans have it; else that
  // of the twist. Without either, after a pause or a jump of the odometry, the pose is forgotten.
  // `stamp_ns` of 0: not known.
  [[nodiscard]] Prediction Begin(int64_t stamp_ns, const std::optional<Pose>& odometry_T_base,
                                 const std::optional<Twist>& base_twist,
                                 const SystematicError& systematic);

  // nullopt: no pose is known. `observation` is null for a scan without an accepted result.
  [[nodiscard]] std::optional<FusedPose> End(uint64_t scan, const ScanObservation* observation);

  // Forgets the pose; what has been learnt of odometry, stamps and map stays.
  void Clear();

 private:
  struct State {
    explicit State(const OdometryErrors& errors) : filter(errors) {}

    PoseFilter filter;
    bool known = false;
    // By the observations that contradict the filter, and how many have agreed in a row.
    std::optional<PoseFilter> rival;
    int rival_scans = 0;
    std::array<double, 6> since_observed_m{};
    // Mean of the squared innovations over what the covariances say; see WidenByInnovations.
    double innovation_ratio = 1.0;
    Pose motion;  // since the last observation that was used
    DriveErrors drive_errors;
    uint32_t resets = 0;
    std::optional<KnownTwist> base_twist;  // of the last prediction
  };
  // From one scan to the next.
  struct ScanMotion {
    BaseMotion base;
    Matrix6 motion_covariance;        // of what is not odometry: part of that of `base`
    std::optional<Twist> base_twist;  // at its end, where scans show the offset of their stamps
    bool has_slipped = false;
  };
  struct Step {
    uint64_t scan = 0;
    std::optional<ScanMotion> motion;  // from the step before; nullopt: not known
    std::optional<Twist> base_twist;
    SystematicError systematic;  // that of Begin
    State before;                // predicted, without the scan's observation
    bool ended = false;
    std::optional<ScanObservation> observation;
  };

  // nullopt: the motion since the newest step is not known.
  [[nodiscard]] std::optional<BaseMotion> MotionTo(double duration_s,
                                                   const std::optional<Pose>& odometry_T_base,
                                                   const std::optional<Twist>& base_twist) const;
  static void Predict(const std::optional<ScanMotion>& motion, State& state);
  // Returns why the observation is not used; empty: it is.
  static std::string Observe(const ScanObservation& scan, const SystematicError& systematic,
                             State& state);

  State last_;              // after the newest step
  std::deque<Step> steps_;  // from the oldest one that has not ended
  uint64_t scans_ = 0;
  int64_t stamp_ns_ = 0;  // of the newest step
  std::optional<Pose> odometry_T_base_;
  std::optional<Twist> twist_;  // by the last motion
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_POSE_FUSION_H_
