// SPDX-License-Identifier: Apache-2.0

#include "server/maps/map_build.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/errors/error_details.h"

namespace voxloc::server {
namespace {

constexpr double kMinCellSizeM = 0.1;
constexpr double kMaxCellSizeM = 100.0;

void ScaleCells(double score_cell_size_m, Profile& profile) {
  if (score_cell_size_m == 0.0) return;
  const double own = profile.stages[profile.score_stage].cells.cell_size_m;
  // The score stage gets exactly the requested size, independent of the rounding of the factor.
  // Point voxels keep their ratio to the cells.
  for (Stage& stage : profile.stages) {
    stage.cells.cell_size_m = stage.cells.cell_size_m == own
                                  ? score_cell_size_m
                                  : stage.cells.cell_size_m * (score_cell_size_m / own);
    stage.point_voxel_m *= score_cell_size_m / own;
  }
}

}  // namespace

std::string ToText(const MapBuildRequest& request) {
  const nlohmann::json json = {{"profiles", request.profiles},
                               {"cell_size_m", request.cell_size_m}};
  return json.dump();
}

absl::StatusOr<MapBuildRequest> MapBuildRequestFromText(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto bad = [&] {
    return absl::DataLossError(absl::StrCat("the options of a map are not readable: ",
                                            absl::CEscape(text.substr(0, 256))));
  };
  if (!json.is_object() || !json.contains("profiles") || !json["profiles"].is_array() ||
      !json.contains("cell_size_m") || !json["cell_size_m"].is_number()) {
    return bad();
  }
  MapBuildRequest request;
  request.cell_size_m = json["cell_size_m"].get<double>();
  for (const nlohmann::json& profile : json["profiles"]) {
    if (!profile.is_string()) return bad();
    request.profiles.push_back(profile.get<std::string>());
  }
  return request;
}

absl::StatusOr<MapBuild> MakeMapBuild(const MapBuildRequest& request, const ProfileSet& profiles) {
  MapBuild build;
  build.request = request;
  if (request.cell_size_m != 0.0 &&
      !(request.cell_size_m >= kMinCellSizeM && request.cell_size_m <= kMaxCellSizeM)) {
    return absl::InvalidArgumentError(absl::StrCat("options.cell_size_m must be from ",
                                                   kMinCellSizeM, " to ", kMaxCellSizeM, " m (got ",
                                                   request.cell_size_m, ")"));
  }
  if (build.request.profiles.empty()) build.request.profiles = profiles.Names();
  std::vector<Profile> served;
  for (const std::string& name : build.request.profiles) {
    auto profile = profiles.Find(name);
    if (!profile.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("each of options.profiles ", profile.status().message()));
    }
    ScaleCells(request.cell_size_m, *profile);
    served.push_back(*std::move(profile));
  }
  const std::set<std::string> names(build.request.profiles.begin(), build.request.profiles.end());
  build.request.profiles.assign(names.begin(), names.end());
  build.statistics = RequiredStatistics(served);
  return build;
}

absl::StatusOr<Profile> ProfileOnMap(Profile profile, const MapBuild& build,
                                     absl::string_view map) {
  const std::vector<std::string>& served = build.request.profiles;
  if (std::find(served.begin(), served.end(), profile.name) == served.end()) {
    return WithReason(absl::FailedPreconditionError(
                          absl::StrCat("map ", map, " was built without the profile ", profile.name,
                                       "; it serves ", absl::StrJoin(served, ", "))),
                      "PROFILE_NOT_IN_MAP", {{"map", std::string(map)}, {"profile", profile.name}});
  }
  ScaleCells(build.request.cell_size_m, profile);
  return profile;
}

}  // namespace voxloc::server
