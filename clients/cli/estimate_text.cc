// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/estimate_text.h"

#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/message_json.h"
#include "core/geometry/angles.h"

namespace voxloc::cli {
namespace {

constexpr std::array<const char*, 6> kAxes = {"x", "y", "z", "rx", "ry", "rz"};

std::vector<std::string> AxesWith(v1::AxisVerdict verdict, const v1::AlignmentResult& result) {
  std::vector<std::string> axes;
  for (int i = 0; i < result.degeneracy().axes_size() && i < 6; ++i) {
    if (result.degeneracy().axes(i) == verdict) axes.emplace_back(kAxes[static_cast<size_t>(i)]);
  }
  return axes;
}

}  // namespace

std::vector<std::string> UnobservedAxes(const v1::AlignmentResult& result) {
  return AxesWith(v1::AXIS_VERDICT_UNOBSERVED, result);
}

std::vector<std::string> WeakAxes(const v1::AlignmentResult& result) {
  return AxesWith(v1::AXIS_VERDICT_WEAK, result);
}

Json LeastObservedJson(const v1::AlignmentResult& result) {
  if (UnobservedAxes(result).empty() && WeakAxes(result).empty()) return nullptr;
  // Rows are eigenvectors, and eigenvalues of the information ascend.
  if (result.degeneracy().eigenvectors_size() != 36) return nullptr;
  Json direction = Json::array();
  for (int i = 0; i < 6; ++i) direction.push_back(result.degeneracy().eigenvectors(i));
  return direction;
}

Json ProtectionJson(const v1::AlignmentResult& result) {
  if (!result.has_protection()) return nullptr;
  const v1::ProtectionLevels& levels = result.protection();
  const auto bound = [](double level_m) {
    return std::isfinite(level_m) ? Json(level_m) : Json(nullptr);
  };
  return {{"horizontal_m", bound(levels.horizontal_m())},
          {"vertical_m", bound(levels.vertical_m())},
          {"risk", levels.risk()},
          {"fault_detected", levels.fault_detected()},
          {"excluded_points", levels.excluded_points()},
          {"pose", levels.has_map_t_base() ? MessageJson(levels.map_t_base()) : Json(nullptr)}};
}

std::string SigmaText(const v1::AlignmentResult& result) {
  if (result.map_t_base().covariance_size() != 36) return "";
  const auto sigma = [&result](int axis) {
    return std::sqrt(result.map_t_base().covariance(7 * axis));
  };
  return absl::StrFormat("x %.3f  y %.3f  z %.3f m   rx %.3f  ry %.3f  rz %.3f deg", sigma(0),
                         sigma(1), sigma(2), kDegreesPerRadian * sigma(3),
                         kDegreesPerRadian * sigma(4), kDegreesPerRadian * sigma(5));
}

std::string TrustText(const v1::AlignmentResult& result) {
  std::vector<std::string> parts;
  if (result.has_confidence()) {
    parts.push_back(absl::StrFormat("confidence %.2f", result.confidence().value()));
  }
  if (result.has_degeneracy()) {
    const std::vector<std::string> axes = UnobservedAxes(result);
    parts.push_back(axes.empty() ? "all axes observed"
                                 : absl::StrCat("not observed: ", absl::StrJoin(axes, ", ")));
  }
  if (result.has_protection()) {
    const v1::ProtectionLevels& levels = result.protection();
    parts.push_back(absl::StrFormat("within %.2f m horizontally, %.2f m vertically (risk %g)",
                                    levels.horizontal_m(), levels.vertical_m(), levels.risk()));
    if (levels.excluded_points() > 0) {
      parts.push_back(absl::StrCat("without ", levels.excluded_points(), " points"));
    }
  }
  return absl::StrJoin(parts, "   ");
}

}  // namespace voxloc::cli
