// SPDX-License-Identifier: Apache-2.0
//
// CloudBuilder: collects points given in double into a PointCloud, and chooses its origin.

#ifndef VOXLOC_CORE_CLOUD_IO_CLOUD_BUILDER_H_
#define VOXLOC_CORE_CLOUD_IO_CLOUD_BUILDER_H_

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/cloud/point_cloud.h"

namespace voxloc {

// The origin is that for the first point that chooses one (OriginFor). Coordinates are metres, in
// the file's frame.
class CloudBuilder {
 public:
  // `origin`: the one already chosen, if these points are a later part of a larger cloud.
  CloudBuilder(size_t expected_points, bool with_intensity,
               const std::optional<Eigen::Vector3d>& origin = std::nullopt)
      : origin_(origin) {
    if (origin.has_value()) cloud_.origin = *origin;
    cloud_.Reserve(expected_points);
    if (with_intensity) cloud_.intensity.reserve(expected_points);
  }

  void Add(const Eigen::Vector3d& point) {
    if (!origin_.has_value()) {
      origin_ = OriginFor(point);
      if (origin_.has_value()) cloud_.origin = *origin_;
    }
    const Eigen::Vector3f offset = (point - cloud_.origin).cast<float>();
    cloud_.PushBack(offset.x(), offset.y(), offset.z());
  }
  // Once per point where the cloud has intensity.
  void AddIntensity(double intensity) { cloud_.intensity.push_back(static_cast<float>(intensity)); }

  [[nodiscard]] size_t size() const { return cloud_.size(); }
  // nullopt: no point has chosen one.
  [[nodiscard]] const std::optional<Eigen::Vector3d>& origin() const { return origin_; }
  [[nodiscard]] PointCloud Take() && { return std::move(cloud_); }

 private:
  PointCloud cloud_;
  std::optional<Eigen::Vector3d> origin_;  // once it is chosen
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_CLOUD_BUILDER_H_
