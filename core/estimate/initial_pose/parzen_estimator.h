// SPDX-License-Identifier: Apache-2.0
//
// ParzenEstimator: a tree-structured Parzen estimator over poses, with Autoware's numbers. Told
// where trials ended and how well, it proposes poses to try: of many drawn from the prior, those
// that lie near good trials and far from bad ones. One thread at a time per instance.
//
// Autoware proposes one pose, waits for its trial, and proposes the next. Here q poses can be
// proposed at once and aligned as one batch ("constant liar"): until its trial ends, a proposal
// counts as a bad trial at the proposed pose, so that the next proposals of the batch lie elsewhere
// instead of crowding around the same maximum. With q = 1 the rule is Autoware's.

#ifndef VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PARZEN_ESTIMATOR_H_
#define VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PARZEN_ESTIMATOR_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/estimate/initial_pose/random_draws.h"
#include "core/geometry/pose.h"

namespace voxloc {

// Kernel densities over planar poses: a product of three normal densities around every centre, with
// Autoware's widths, yaw on the circle. Height and tilt do not count: they follow from the ground.
struct PlanarPose {
  double x_m = 0.0;
  double y_m = 0.0;
  double yaw_rad = 0.0;  // [-pi, pi]
};

// Standard deviations of a kernel.
constexpr double kParzenWidthM = 0.25;  // along x and y
constexpr double kParzenWidthRad = 2.5 * 3.14159265358979323846 / 180.0;

// log(exp(a) + exp(b)), without overflow.
[[nodiscard]] double LogAddExp(double a, double b);

// All poses against all centres: the logarithm of the sum of the kernels, each of which integrates
// to 1, at every pose. Minus infinity without centres.
[[nodiscard]] std::vector<double> LogParzenSums(absl::Span<const PlanarPose> poses,
                                                absl::Span<const PlanarPose> centers);

// A pose as it is drawn and compared: x, y, z in metres; roll, pitch, yaw as ROS has them.
using PoseParameters = Eigen::Matrix<double, 6, 1>;

[[nodiscard]] PoseParameters ParametersFromPose(const Pose& map_T_base);
[[nodiscard]] Pose PoseFromParameters(const PoseParameters& parameters);

// x, y, z, roll and pitch are normal and independent; yaw is anything.
struct ParzenPrior {
  using Vector5 = Eigen::Matrix<double, 5, 1>;
  Vector5 mean = Vector5::Zero();
  Vector5 sigma = Vector5::Zero();
};

class ParzenEstimator {
 public:
  // Proposals are draws from the prior while it knows of fewer than `startup_trials`, or of fewer
  // than ten.
  ParzenEstimator(const ParzenPrior& prior, size_t startup_trials, uint64_t seed);

  // A trial that ended there; a larger score is better, and one that is no number is worst.
  void AddTrial(const PoseParameters& parameters, double score);

  [[nodiscard]] std::vector<PoseParameters> Propose(size_t count);

 private:
  struct Trial {
    PlanarPose pose;
    double score;
  };

  [[nodiscard]] PoseParameters Draw();

  const ParzenPrior prior_;
  const size_t startup_trials_;
  RandomDraws random_;
  std::vector<Trial> trials_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PARZEN_ESTIMATOR_H_
