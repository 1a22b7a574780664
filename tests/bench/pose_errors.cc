// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/pose_errors.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/geometry/euler.h"
#include "tests/bench/bench_options.h"

namespace voxloc::bench {

void PoseErrors::Add(const AlignResult& result, const Profile& profile, const Pose& true_map_T_base,
                     const ErrorLimits& limits) {
  AddPose(result.map_T_base, result.iterations, true_map_T_base, limits);
  evaluations.push_back(result.evaluations);
  if (Judge(result, profile) == Acceptance::kAccepted) ++accepted;
}

void PoseErrors::AddPose(const Pose& map_T_base, int iterations_taken, const Pose& true_map_T_base,
                         const ErrorLimits& limits) {
  translation_m.push_back(TranslationDistance(map_T_base, true_map_T_base));
  rotation_deg.push_back(RotationDistance(map_T_base, true_map_T_base) * kDegreesPerRadian);
  const Eigen::Vector3d body =
      true_map_T_base.rotation.conjugate() * (map_T_base.translation - true_map_T_base.translation);
  for (size_t axis = 0; axis < 3; ++axis) {
    body_m[axis].push_back(std::abs(body[static_cast<Eigen::Index>(axis)]));
  }
  iterations.push_back(iterations_taken);
  const bool within =
      translation_m.back() <= limits.distance_m && rotation_deg.back() <= limits.angle_deg;
  if (!within) ++beyond;
}

nlohmann::json ToJson(const PoseErrors& errors) {
  nlohmann::json json = {{"scans", errors.count()},
                         {"lost", errors.beyond},
                         {"translation_error_m", ToJson(Summarize(errors.translation_m))},
                         {"rotation_error_deg", ToJson(Summarize(errors.rotation_deg))},
                         {"body_error_m",
                          {{"x", ToJson(Summarize(errors.body_m[0]))},
                           {"y", ToJson(Summarize(errors.body_m[1]))},
                           {"z", ToJson(Summarize(errors.body_m[2]))}}},
                         {"iterations", ToJson(Summarize(errors.iterations))}};
  if (!errors.evaluations.empty()) {
    json["accepted"] = errors.accepted;
    json["evaluations"] = ToJson(Summarize(errors.evaluations));
  }
  return json;
}

void AddLimitFlags(CLI::App& app, ErrorLimits& limits, const char* what) {
  app.add_option("--limit-distance", limits.distance_m,
                 absl::StrCat("An error over this is ", what, ", m"))
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--limit-angle", limits.angle_deg,
                 absl::StrCat("An error over this is ", what, ", deg"))
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace voxloc::bench
