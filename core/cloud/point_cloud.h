// SPDX-License-Identifier: Apache-2.0
//
// PointCloud: points as structure of arrays around a double origin.
//
// Point i lies at origin + (x[i], y[i], z[i]), in metres, in the cloud's frame (a sensor's, a
// vehicle's or a map's; the variable that holds the cloud says which). Float32 offsets from a
// double origin keep sub-millimetre steps at coordinates of 4e6 m. Clouds in a sensor frame have a
// zero origin. A plain value: any number of threads may read one.

#ifndef VOXLOC_CORE_CLOUD_POINT_CLOUD_H_
#define VOXLOC_CORE_CLOUD_POINT_CLOUD_H_

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/geometry/pose.h"

namespace voxloc {

struct PointCloud {
  Eigen::Vector3d origin = Eigen::Vector3d::Zero();
  std::vector<float> x;
  std::vector<float> y;
  std::vector<float> z;
  // Empty, or one value a point, in the sensor's own unit.
  std::vector<float> intensity;

  [[nodiscard]] size_t size() const { return x.size(); }
  [[nodiscard]] bool empty() const { return x.empty(); }
  [[nodiscard]] bool has_intensity() const { return !intensity.empty(); }

  [[nodiscard]] Eigen::Vector3f Offset(size_t i) const { return {x[i], y[i], z[i]}; }
  [[nodiscard]] Eigen::Vector3d Point(size_t i) const { return origin + Offset(i).cast<double>(); }

  // Whether the offset is finite. Where the origin is within 1e9 m, as in every cloud that an
  // engine accepts (core/engine/job_check.h), the point is then finite too, also in float32.
  [[nodiscard]] bool IsFinite(size_t i) const {
    return std::isfinite(x[i]) && std::isfinite(y[i]) && std::isfinite(z[i]);
  }

  void Reserve(size_t count);
  void PushBack(float offset_x, float offset_y, float offset_z) {
    x.push_back(offset_x);
    y.push_back(offset_y);
    z.push_back(offset_z);
  }
};

// The origin of a cloud whose points are given in double, this one the first: zero up to 2048 m
// from it, where float32 has steps of at most 0.12 mm, else the point in whole metres. nullopt for
// a point that chooses none: one that is not finite, or over 1e8 m from zero, beyond any coordinate
// on Earth in any frame in use.
[[nodiscard]] std::optional<Eigen::Vector3d> OriginFor(const Eigen::Vector3d& point);

// Smallest and largest coordinates of the finite points, with the origin added.
struct Bounds {
  Eigen::Vector3d min = Eigen::Vector3d::Zero();
  Eigen::Vector3d max = Eigen::Vector3d::Zero();
  size_t finite_points = 0;  // 0: min and max mean nothing
};
[[nodiscard]] Bounds ComputeBounds(const PointCloud& cloud);
// To the box of both, with the points of both.
void Enlarge(const Bounds& by, Bounds& bounds);

// Root mean square distance of the finite points from the frame's zero, metres; 0 without any.
[[nodiscard]] double RootMeanSquareRange(const PointCloud& cloud);

// The cloud moved into frame a. The result's origin is a_T_b.translation plus the rotated origin,
// so float32 offsets stay as small as they were.
[[nodiscard]] PointCloud Transform(const Pose& a_T_b, const PointCloud& cloud_b);

// Appends `more` (not `cloud` itself) to `cloud`, expressed around `cloud`'s origin. Intensity is
// kept only if both have it; an empty cloud counts as having it.
void Append(const PointCloud& more, PointCloud& cloud);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_POINT_CLOUD_H_
