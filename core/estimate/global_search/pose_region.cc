// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/estimate/global_search/global_search.h"

namespace voxloc {
namespace {

constexpr double kMaxTilt_rad = 0.5;

}  // namespace

absl::Status ValidatePoseRegion(const PoseRegion& region) {
  if (region.box.has_value()) {
    const char* const names[] = {"x", "y", "z"};
    for (int axis = 0; axis < 3; ++axis) {
      const double low = region.box->min[axis];
      const double high = region.box->max[axis];
      if (std::isfinite(low) && std::isfinite(high) && low <= high) continue;
      return absl::InvalidArgumentError(absl::StrCat("the region's ", names[axis],
                                                     " must be finite and ascending (got ", low,
                                                     " to ", high, ")"));
    }
  }
  if (!std::isfinite(region.yaw_rad)) {
    return absl::InvalidArgumentError(
        absl::StrCat("yaw_rad must be finite (got ", region.yaw_rad, ")"));
  }
  // Pi as it comes through a conversion from degrees.
  if (!(region.yaw_half_range_rad > 0.0 && region.yaw_half_range_rad <= M_PI + 1e-9)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "yaw_half_range_rad must be over 0 and at most pi (got ", region.yaw_half_range_rad, ")"));
  }
  if (!(region.max_tilt_rad >= 0.0 && region.max_tilt_rad <= kMaxTilt_rad)) {
    return absl::InvalidArgumentError(absl::StrCat("max_tilt_rad must be from 0 to ", kMaxTilt_rad,
                                                   " (got ", region.max_tilt_rad, ")"));
  }
  return absl::OkStatus();
}

}  // namespace voxloc
