// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/drive_errors.h"

#include <algorithm>
#include <cmath>

namespace voxloc {
namespace {

using Eigen::numext::abs2;

// Between two samples: a tenth of a stretch, so that a stretch is compared ten times.
constexpr double kStepM = 0.1 * kMapChangeM;
// The start counts as much as three stretches, 60 m, and 50 of them, 1 km, are remembered: a
// district, of which a vehicle that comes into another one forgets two thirds in the next
// kilometre.
constexpr double kStartStretches = 3.0;
constexpr double kRememberedStretches = 50.0;
// Of the start's standard deviation: displacements that change over 80 m and more differ by less
// over a stretch than this share of their size.
constexpr double kLeastShare = 0.25;
// Single stamps vary by so much of what their offset is taken to be at the start: 2 ms by default,
// as where a driver reads a packet late.
constexpr double kJitterShare = 0.1;
// A difference that is larger says nothing about the offset: a result has slid, or a wheel.
constexpr double kOutlierSigmas = 3.0;
// A displacement of a map without any would make the offset known at once.
constexpr double kLeastSigmaM = 1e-3;

}  // namespace

void DriveErrors::Move(const Pose& from_T_to, const std::optional<Twist>& base_twist) {
  odometry_T_base_ = odometry_T_base_ * from_T_to;
  base_twist_ = base_twist;
  way_m_ += from_T_to.translation.norm();
}

void DriveErrors::Observe(const Pose& map_T_base, const SystematicError& start) {
  if (!samples_.empty() && way_m_ < samples_.back().way_m + kStepM) return;
  samples_.push_back({way_m_, odometry_T_base_, base_twist_, map_T_base});
  if (way_m_ < samples_.front().way_m + kMapChangeM) return;
  const Sample before = samples_.front();
  samples_.pop_front();
  const Pose before_T_now = before.odometry_T_base.Inverse() * odometry_T_base_;
  Eigen::Vector3d difference_base =
      map_T_base.rotation.conjugate() *
      (map_T_base.translation - (before.map_T_base * before_T_now).translation);

  constexpr double kWeight = kStepM / kMapChangeM;  // stretches overlap
  const double keep = std::min(1.0, kRememberedStretches / (stretches_ + kWeight));
  if (before.base_twist.has_value() && base_twist_.has_value()) {
    const Eigen::Vector3d moved_by_offset =
        base_twist_->linear_m_s -
        before_T_now.rotation.conjugate() *
            (before.base_twist->linear_m_s +
             before.base_twist->angular_rad_s.cross(before_T_now.translation));
    const Eigen::Array3d variances =
        2.0 * start.position_sigma_m.cwiseMax(kLeastSigmaM).array().square();
    const Eigen::Array3d expected_variances =
        variances + abs2(StampSigma(start)) * moved_by_offset.array().square();
    const Eigen::Array3d rest =
        (difference_base - StampOffset(start) * moved_by_offset).array().abs();
    if ((rest <= kOutlierSigmas * expected_variances.sqrt()).all()) {
      offset_information_ += (kWeight * moved_by_offset.array().square() / variances).sum();
      offset_sum_ +=
          (kWeight * moved_by_offset.array() * difference_base.array() / variances).sum();
    }
    difference_base -= StampOffset(start) * moved_by_offset;
  }
  offset_information_ *= keep;
  offset_sum_ *= keep;
  displacement_m2_ = keep * (displacement_m2_ + kWeight * 0.5 * difference_base.cwiseAbs2());
  stretches_ = keep * (stretches_ + kWeight);
}

double DriveErrors::StampOffset(const SystematicError& start) const {
  const double variance = abs2(start.time_sigma_s);
  return offset_sum_ * variance / (1.0 + offset_information_ * variance);
}

double DriveErrors::StampSigma(const SystematicError& start) const {
  const double variance = abs2(start.time_sigma_s);
  return std::sqrt(variance / (1.0 + offset_information_ * variance) +
                   abs2(kJitterShare) * variance);
}

SystematicError DriveErrors::Adapt(const SystematicError& start) const {
  SystematicError adapted = start;
  adapted.time_sigma_s =
      std::min(kMaxTimeSigmaS, std::hypot(StampOffset(start), StampSigma(start)));
  const Eigen::Array3d variance =
      (kStartStretches * start.position_sigma_m.cwiseAbs2() + displacement_m2_).array() /
      (kStartStretches + stretches_);
  adapted.position_sigma_m = variance.sqrt()
                                 .min(start.position_sigma_m.array())
                                 .max(kLeastShare * start.position_sigma_m.array());
  return adapted;
}

}  // namespace voxloc
