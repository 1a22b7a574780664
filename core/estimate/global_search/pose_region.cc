// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/estimate/global_search/global_search.h"
#include "core/text/number_range.h"

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
  if (absl::Status status =
          CheckRanges({{"yaw_rad", region.yaw_rad, Finite()},
                       {"max_tilt_rad", region.max_tilt_rad, FromTo(0.0, kMaxTilt_rad)}});
      !status.ok()) {
    return status;
  }
  // Pi as it comes through a conversion from degrees.
  if (!(region.yaw_half_range_rad > 0.0 && region.yaw_half_range_rad <= M_PI + 1e-9)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "yaw_half_range_rad must be over 0 and at most pi (got ", region.yaw_half_range_rad, ")"));
  }
  return absl::OkStatus();
}

}  // namespace voxloc
