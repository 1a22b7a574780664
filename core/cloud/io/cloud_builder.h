// SPDX-License-Identifier: Apache-2.0
//
// Collects points given in double into a PointCloud, choosing the origin from the first point that
// is finite: zero where float32 is good enough there, else that point rounded to whole metres.

#ifndef VOXLOC_CORE_CLOUD_IO_CLOUD_BUILDER_H_
#define VOXLOC_CORE_CLOUD_IO_CLOUD_BUILDER_H_

#include <cstddef>
#include <optional>
#include <utility>

#include "core/cloud/point_cloud.h"

namespace voxloc {

class CloudBuilder {
 public:
  // `origin`: what the points before these have chosen, where they are part of a larger cloud.
  CloudBuilder(size_t expected_points, bool with_intensity,
               const std::optional<Eigen::Vector3d>& origin = std::nullopt);

  void Add(const Eigen::Vector3d& point);
  // Once per point where the cloud has intensity.
  void AddIntensity(double intensity) { cloud_.intensity.push_back(static_cast<float>(intensity)); }

  // nullopt: no point was finite.
  [[nodiscard]] std::optional<Eigen::Vector3d> origin() const {
    return origin_chosen_ ? std::optional<Eigen::Vector3d>(cloud_.origin) : std::nullopt;
  }

  [[nodiscard]] PointCloud Take() && { return std::move(cloud_); }

 private:
  void ChooseOrigin(const Eigen::Vector3d& point);

  PointCloud cloud_;
  bool origin_chosen_ = false;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_CLOUD_BUILDER_H_
