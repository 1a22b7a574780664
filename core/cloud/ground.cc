// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/ground.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

constexpr double kNear_m = 1.0;
constexpr double kFar_m = 4.0;
// Slopes of up to a quarter are lower, over the 8 m that a far column and its neighbour reach.
constexpr double kStep_m = 2.0;
constexpr double kMaxCoordinate_m = 1e9;

}  // namespace

absl::StatusOr<PointCloud> CropAboveGround(const PointCloud& cloud, const GroundRange& range) {
  LowestNearby near(kNear_m);
  LowestNearby far(kFar_m);
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (!cloud.IsFinite(i)) continue;
    const Eigen::Vector3d point = cloud.Point(i);
    if (point.head<2>().cwiseAbs().maxCoeff() > kMaxCoordinate_m) {
      return absl::InvalidArgumentError(absl::StrCat("x and y of points must be from ",
                                                     -kMaxCoordinate_m, " to ", kMaxCoordinate_m,
                                                     " m (got ", point.x(), ", ", point.y(), ")"));
    }
    near.Add(point);
    far.Add(point);
  }
  PointCloud kept;
  kept.origin = cloud.origin;
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (!cloud.IsFinite(i)) continue;
    const Eigen::Vector3d point = cloud.Point(i);
    const double near_m = near.At(point);
    const double far_m = far.At(point);
    const double height_m = point.z() - (near_m > far_m + kStep_m ? far_m : near_m);
    if (height_m < range.min_m || height_m > range.max_m) continue;
    kept.PushBack(cloud.x[i], cloud.y[i], cloud.z[i]);
    if (cloud.has_intensity()) kept.intensity.push_back(cloud.intensity[i]);
  }
  return kept;
}

}  // namespace voxloc
