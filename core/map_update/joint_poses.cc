// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/joint_poses.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>

#include "core/geometry/covariance.h"

namespace voxloc {
namespace {

// Standard deviations along and about the map's axes. Of an alignment with a map that has not
// changed, its drift included; of a motion between scans 4 m apart, which tells less of height,
// roll and pitch (MeasureMotions). Measured in the simulated towns of seeds 102 and 103 with a
// sensor of 16 rings.
using Six = std::array<double, 6>;
constexpr Six kAlignedSigma = {0.07, 0.07, 0.07, 0.0035, 0.0035, 0.0035};
constexpr Six kMotionSigma = {0.01, 0.01, 0.05, 0.006, 0.006, 0.001};
// What is doubted together: a wall that moved pulls the place; it hardly turns the pose, and the
// ground holds the rest.
constexpr std::array<Six, 3> kParts = {
    Six{1, 1, 0, 0, 0, 0}, {0, 0, 1, 1, 1, 0}, {0, 0, 0, 0, 0, 1}};
// The squared difference in standard deviations, 0.1 m here, at which an alignment has a quarter of
// its weight.
constexpr double kInlier = 2.0;
// From a start that is a least-squares problem without weights.
constexpr double kSoftStart = 1e6;
constexpr double kHarden = 1.4;
constexpr int kLastSteps = 5;

Vector6 WeightsOf(const Six& sigma) {
  return Eigen::Map<const Vector6>(sigma.data()).cwiseAbs2().cwiseInverse();
}

Eigen::Matrix3d Cross(const Eigen::Vector3d& v) {
  Eigen::Matrix3d cross;
  cross << 0.0, -v.z(), v.y(), v.z(), 0.0, -v.x(), -v.y(), v.x(), 0.0;
  return cross;
}

// A step of Gauss and Newton: normal equations whose blocks are those of scans and of neighbours.
class Chain {
 public:
  explicit Chain(size_t scans)
      : own_(scans, Matrix6::Zero()),
        next_(scans, Matrix6::Zero()),
        right_(scans, Vector6::Zero()) {}

  void AddAligned(size_t scan, const Vector6& residual, const Vector6& weights) {
    own_[scan].diagonal() += weights;
    right_[scan] -= weights.cwiseProduct(residual);
  }

  // The residual's derivatives are `from` by the scan and the identity by the next one.
  void AddMotion(size_t scan, const Vector6& residual, const Matrix6& from,
                 const Vector6& weights) {
    const Matrix6 weighed = from.transpose() * weights.asDiagonal();
    own_[scan] += weighed * from;
    next_[scan] += weighed;
    own_[scan + 1].diagonal() += weights;
    right_[scan] -= weighed * residual;
    right_[scan + 1] -= weights.cwiseProduct(residual);
  }

  std::vector<Vector6> Solve() {
    for (size_t i = 0; i + 1 < own_.size(); ++i) {
      const Matrix6 factor = own_[i].ldlt().solve(next_[i]).transpose();
      own_[i + 1] -= factor * next_[i];
      right_[i + 1] -= factor * right_[i];
    }
    std::vector<Vector6> steps(own_.size());
    for (size_t i = own_.size(); i-- > 0;) {
      if (i + 1 < own_.size()) right_[i] -= next_[i] * steps[i + 1];
      steps[i] = own_[i].ldlt().solve(right_[i]);
    }
    return steps;
  }

 private:
  std::vector<Matrix6> own_;
  std::vector<Matrix6> next_;  // by a scan and the one after it
  std::vector<Vector6> right_;
};

}  // namespace

std::vector<Pose> RefineTogether(absl::Span<const Pose> aligned,
                                 absl::Span<const std::optional<Pose>> motions) {
  const Vector6 aligned_weights = WeightsOf(kAlignedSigma);
  const Vector6 motion_weights = WeightsOf(kMotionSigma);
  std::vector<Pose> poses(aligned.begin(), aligned.end());
  // Returns the largest squared difference, over that of a weight of a quarter.
  const auto step = [&](double softness) {
    Chain chain(poses.size());
    double worst = 0.0;
    for (size_t i = 0; i < poses.size(); ++i) {
      const Vector6 beside = FixedAxesDifference(aligned[i], poses[i]);
      for (const Six& part : kParts) {
        const Vector6 weights =
            Eigen::Map<const Vector6>(part.data()).cwiseProduct(aligned_weights);
        const double ratio = beside.cwiseAbs2().dot(weights) / kInlier;
        worst = std::max(worst, ratio);
        const double root = softness / (softness + ratio);
        chain.AddAligned(i, beside, root * root * weights);
      }
      if (i + 1 == poses.size() || !motions[i].has_value()) continue;
      Matrix6 from = -Matrix6::Identity();
      from.topRightCorner<3, 3>() = Cross(poses[i].rotation * motions[i]->translation);
      chain.AddMotion(i, FixedAxesDifference(poses[i] * *motions[i], poses[i + 1]), from,
                      motion_weights);
    }
    const std::vector<Vector6> steps = chain.Solve();
    for (size_t i = 0; i < poses.size(); ++i) {
      poses[i] = ApplyFixedAxesDifference(poses[i], steps[i]);
    }
    return worst;
  };
  step(kSoftStart);
  for (double softness = 2.0 * step(kSoftStart); softness > 1.0; softness /= kHarden) {
    step(softness);
  }
  for (int i = 0; i < kLastSteps; ++i) step(1.0);
  return poses;
}

}  // namespace voxloc
