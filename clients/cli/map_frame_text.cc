// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map_frame_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/geometry/angles.h"

namespace voxloc::cli {

// Nine digits of degrees are finer than a centimetre.
std::string ProjectorText(const v1::MapProjector& projector) {
  std::string text = projector.projector_type();
  if (!projector.mgrs_grid().empty()) absl::StrAppend(&text, ", grid ", projector.mgrs_grid());
  if (projector.has_map_origin()) {
    absl::StrAppend(
        &text,
        absl::StrFormat(", origin %.9g, %.9g, scale %.9g", projector.map_origin().latitude_deg(),
                        projector.map_origin().longitude_deg(), projector.scale_factor()));
  }
  if (!projector.vertical_datum().empty()) {
    absl::StrAppend(&text, ", heights ", projector.vertical_datum());
  }
  return text;
}

std::string OriginText(const v1::Wgs84Origin& origin) {
  return absl::StrFormat("%.9g, %.9g, %g m; x axis %g deg from east", origin.point().latitude_deg(),
                         origin.point().longitude_deg(), origin.point().altitude_m(),
                         origin.x_axis_yaw_rad() * kDegreesPerRadian);
}

}  // namespace voxloc::cli
