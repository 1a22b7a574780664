// SPDX-License-Identifier: Apache-2.0

#include "core/engine/profile.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/engine/profile_fields.h"
#include "core/ndt/search_rules.h"
#include "core/text/number_range.h"

namespace voxloc {
namespace {

constexpr size_t kMaxStages = ndt::kMaxStages;

// Whether voxels of this edge consist of whole smallest voxels of the profile.
bool Nests(double point_voxel_m, const Profile& profile) {
  double smallest_m = point_voxel_m;
  for (const Stage& stage : profile.stages) {
    if (stage.point_voxel_m > 0.0) smallest_m = std::min(smallest_m, stage.point_voxel_m);
  }
  if (!(smallest_m > 0.0)) return true;
  const double ratio = point_voxel_m / smallest_m;
  return std::abs(ratio - std::round(ratio)) < 1e-9;
}

// Visits fields, and checks the numbers.
struct RangeCheck {
  absl::Status& status;  // the first error

  template <typename Number>
  void operator()(absl::string_view name, Number number, const NumberRange& range) const {
    status.Update(CheckRanges({{name, number, range}}));
  }
  template <typename Field, size_t count>
  void operator()(absl::string_view /*name*/, Field /*field*/,
                  const absl::string_view (&/*names*/)[count]) const {}
  void operator()(absl::string_view /*name*/, bool /*field*/) const {}
};

}  // namespace

bool operator==(const Stage& a, const Stage& b) {
  return a.cells == b.cells && a.search == b.search && a.point_voxel_m == b.point_voxel_m &&
         a.outlier_ratio == b.outlier_ratio && a.curvature == b.curvature &&
         a.max_step == b.max_step && a.epsilon == b.epsilon && a.step_floor == b.step_floor &&
         a.max_iterations == b.max_iterations && a.line_search == b.line_search &&
         a.exact_pitch_curvature == b.exact_pitch_curvature &&
         a.small_angle_shortcut == b.small_angle_shortcut &&
         a.float_transform == b.float_transform && a.observed_ratio == b.observed_ratio &&
         a.rotation_scale_m == b.rotation_scale_m;
}

Profile AlongObservedDirections(Profile profile) {
  // Open fields stay below these, streets above. Soft cells see something along a corridor too, as
  // much as streets may show in one direction: no ratio of theirs tells the two apart.
  constexpr double kSoftRatio = 0.02;
  constexpr double kSharpRatio = 0.005;
  for (Stage& stage : profile.stages) {
    stage.curvature = Curvature::kReweighted;
    stage.observed_ratio = stage.cells.gaussian.identity_seed ? kSoftRatio : kSharpRatio;
  }
  return profile;
}

std::vector<CellStatistics> RequiredStatistics(const std::vector<Profile>& profiles) {
  std::vector<CellStatistics> required;
  for (const Profile& profile : profiles) {
    for (const Stage& stage : profile.stages) {
      if (std::find(required.begin(), required.end(), stage.cells) == required.end()) {
        required.push_back(stage.cells);
      }
    }
  }
  return required;
}

absl::Status ValidateProfile(const Profile& profile) {
  if (profile.stages.empty() || profile.stages.size() > kMaxStages) {
    return absl::InvalidArgumentError(absl::StrCat("profile \"", profile.name,
                                                   "\" must have from 1 to ", kMaxStages,
                                                   " stages (got ", profile.stages.size(), ")"));
  }
  for (size_t i = 0; i < profile.stages.size(); ++i) {
    const Stage& stage = profile.stages[i];
    absl::Status status = ValidateCellStatistics(stage.cells);
    VisitStageFields(stage, RangeCheck{status});
    if (status.ok() && !Nests(stage.point_voxel_m, profile)) {
      status = absl::InvalidArgumentError(
          absl::StrCat("point_voxel_m must be a whole multiple of the smallest point_voxel_m (got ",
                       stage.point_voxel_m, ")"));
    }
    if (status.ok() && profile.independent_points > 0.0 &&
        stage.curvature != Curvature::kReweighted) {
      status = absl::InvalidArgumentError(
          "the curvature must be reweighted where independent_points is over 0");
    }
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("stage ", i, ": ", status.message()));
    }
  }
  absl::Status status;
  VisitProfileFields(profile, RangeCheck{status});
  return status;
}

}  // namespace voxloc
