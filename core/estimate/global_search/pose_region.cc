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
      return absl::InvalidArgumentError(absl::StrCat("the region's ", names[axis], " is ", low,
                                                     " to ", high,
                                                     "; it must be finite and ascend"));
    }
  }
  if (!std::isfinite(region.yaw_rad)) {
    return absl::InvalidArgumentError(
        absl::StrCat("yaw_rad is ", region.yaw_rad, "; it must be finite"));
  }
  // Pi as it comes through a conversion from degrees.
  if (!(region.yaw_half_range_rad > 0.0 && region.yaw_half_range_rad <= M_PI + 1e-9)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "yaw_half_range_rad is ", region.yaw_half_range_rad, "; it must be over 0 and up to pi"));
  }
  if (!(region.max_tilt_rad >= 0.0 && region.max_tilt_rad <= kMaxTilt_rad)) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_tilt_rad is ", region.max_tilt_rad, "; it must be 0 to ", kMaxTilt_rad));
  }
  return absl::OkStatus();
}

}  // namespace voxloc
