// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/live_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace voxloc::cli {

void LiveReport::Add(const ReplayRow& row) {
  ++replies_;
  ++recent_;
  latency_ms_ += row.latency_ms;
  if (row.accepted) ++accepted_;
  if (row.map_T_base.has_value()) {
    ++recent_poses_;
    translation_error_m_ += row.translation_error_m;
    rotation_error_deg_ += row.rotation_error_deg;
  }
  if (!line_.due()) return;
  line_.Show(Text());
  recent_ = 0;
  recent_poses_ = 0;
  translation_error_m_ = 0.0;
  rotation_error_deg_ = 0.0;
  latency_ms_ = 0.0;
}

std::string LiveReport::Text() const {
  std::string text = absl::StrFormat("scan %d of %d   accepted %d   ", replies_, scans_, accepted_);
  if (recent_poses_ > 0) {
    const auto poses = static_cast<double>(recent_poses_);
    absl::StrAppend(
        &text, absl::StrFormat("error %.1f cm %.3f deg   ", 100.0 * translation_error_m_ / poses,
                               rotation_error_deg_ / poses));
  }
  const auto recent = static_cast<double>(recent_);
  return absl::StrCat(text, absl::StrFormat("round trip %.2f ms", latency_ms_ / recent));
}

}  // namespace voxloc::cli
