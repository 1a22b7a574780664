// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/cloud_builder.h"

namespace voxloc {
namespace {

// Float32 steps are 0.12 mm below this distance and 0.24 mm above it.
constexpr double kFloatIsEnough_m = 2048.0;
// Further out than any place on Earth in any frame in use: a broken point, no origin.
constexpr double kFurthestOrigin_m = 1e8;

}  // namespace

CloudBuilder::CloudBuilder(size_t expected_points, bool with_intensity,
                           const std::optional<Eigen::Vector3d>& origin)
    : origin_chosen_(origin.has_value()) {
  if (origin_chosen_) cloud_.origin = *origin;
  cloud_.Reserve(expected_points);
  if (with_intensity) cloud_.intensity.reserve(expected_points);
}

void CloudBuilder::ChooseOrigin(const Eigen::Vector3d& point) {
  if (!point.allFinite()) return;
  const double distance = point.cwiseAbs().maxCoeff();
  if (distance > kFurthestOrigin_m) return;
  origin_chosen_ = true;
  if (distance > kFloatIsEnough_m) cloud_.origin = point.array().round();
}

void CloudBuilder::Add(const Eigen::Vector3d& point) {
  if (!origin_chosen_) ChooseOrigin(point);
  const Eigen::Vector3f offset = (point - cloud_.origin).cast<float>();
  cloud_.PushBack(offset.x(), offset.y(), offset.z());
}

}  // namespace voxloc
