// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cpp/channel.h"
#include "clients/ros/core/parameter_table.h"

namespace voxloc::ros {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The contract's limits of iterations, steps, offsets and clouds; the server's of particles.
constexpr double kMaxIterations = 1000.0;
constexpr double kMaxStep = 100.0;
constexpr double kMaxParticles = 10'000.0;
constexpr size_t kMaxOffsets = 64;
constexpr size_t kMaxExtraTopics = 15;
constexpr size_t kCovarianceValues = 36;
constexpr size_t kMaxVehicleBytes = 128;

struct Range {
  const char* name;
  double value;
  double min;
  double max;
  bool open = false;  // the minimum itself is not allowed
};

absl::Status CheckRange(const Range& range) {
  const bool above = range.open ? range.value > range.min : range.value >= range.min;
  if (std::isfinite(range.value) && above && range.value <= range.max) return absl::OkStatus();
  const std::string upper = range.max < kInfinity ? absl::StrCat(" and at most ", range.max) : "";
  return absl::InvalidArgumentError(absl::StrCat("parameter ", range.name, " must be ",
                                                 range.open ? "over " : "at least ", range.min,
                                                 upper, " (got ", range.value, ")"));
}

absl::Status CheckChoice(const char* name, const std::string& value,
                         const std::vector<std::string>& allowed) {
  for (const std::string& choice : allowed) {
    if (value == choice) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("parameter ", name, " must be one of ",
                                                 absl::StrJoin(allowed, ", "), " (got '", value,
                                                 "')"));
}

absl::Status Invalid(absl::string_view what) { return absl::InvalidArgumentError(what); }

absl::Status CheckRanges(const Parameters& parameters) {
  const NdtParameters& ndt = parameters.ndt;
  const ValidationParameters& validation = parameters.validation;
  const ScoreEstimationParameters& score = parameters.score_estimation;
  const DynamicMapLoadingParameters& map = parameters.dynamic_map_loading;
  const BridgeParameters& own = parameters.voxloc;
  const auto particles = static_cast<double>(parameters.initial_pose_estimation.particles_num);
  const Range ranges[] = {
      {"sensor_points.timeout_sec", parameters.sensor_points.timeout_sec, 0.0, kInfinity},
      {"sensor_points.required_distance", parameters.sensor_points.required_distance, 0.0,
       kInfinity},
      {"ndt.trans_epsilon", ndt.trans_epsilon, 0.0, kMaxStep},
      {"ndt.step_size", ndt.step_size, 0.0, kMaxStep, true},
      {"ndt.resolution", ndt.resolution, 0.0, kInfinity, true},
      {"ndt.max_iterations", static_cast<double>(ndt.max_iterations), 1.0, kMaxIterations},
      {"ndt.regularization.scale_factor", ndt.regularization_scale_factor, 0.0, kInfinity},
      {"initial_pose_estimation.particles_num", particles, 1.0, kMaxParticles},
      {"initial_pose_estimation.n_startup_trials",
       static_cast<double>(parameters.initial_pose_estimation.n_startup_trials), 1.0, kInfinity},
      {"validation.initial_pose_timeout_sec", validation.initial_pose_timeout_sec, 0.0, kInfinity,
       true},
      {"validation.initial_pose_distance_tolerance_m", validation.initial_pose_distance_tolerance_m,
       0.0, kInfinity, true},
      {"validation.initial_to_result_distance_tolerance_m",
       validation.initial_to_result_distance_tolerance_m, 0.0, kInfinity},
      {"validation.critical_upper_bound_exe_time_ms", validation.critical_upper_bound_exe_time_ms,
       0.0, kInfinity},
      {"validation.skipping_publish_num", static_cast<double>(validation.skipping_publish_num), 1.0,
       kInfinity},
      {"score_estimation.converged_param_type", static_cast<double>(score.converged_param_type),
       0.0, 1.0},
      {"score_estimation.converged_param_transform_probability",
       score.converged_param_transform_probability, -kInfinity, kInfinity},
      {"score_estimation.converged_param_nearest_voxel_transformation_likelihood",
       score.converged_param_nearest_voxel_transformation_likelihood, -kInfinity, kInfinity},
      {"score_estimation.no_ground_points.z_margin_for_ground_removal",
       score.no_ground_points_z_margin_for_ground_removal, -kInfinity, kInfinity},
      {"covariance.covariance_estimation.covariance_estimation_type",
       static_cast<double>(parameters.covariance.covariance_estimation_type), 0.0, 3.0},
      {"covariance.covariance_estimation.temperature", parameters.covariance.temperature, 0.0,
       kInfinity, true},
      {"covariance.covariance_estimation.scale_factor", parameters.covariance.scale_factor, 0.0,
       kInfinity, true},
      {"dynamic_map_loading.update_distance", map.update_distance, 0.0, kInfinity},
      {"dynamic_map_loading.map_radius", map.map_radius, 0.0, kInfinity, true},
      {"dynamic_map_loading.lidar_radius", map.lidar_radius, 0.0, kInfinity},
      {"voxloc.points.int16_scale_m", own.points_int16_scale_m, 0.0, 1.0, true},
      {"voxloc.points.min_range_m", own.points_min_range_m, 0.0, kInfinity},
      {"voxloc.points.max_range_m", own.points_max_range_m, 0.0, kInfinity},
      {"voxloc.points.max_stamp_difference_sec", own.points_max_stamp_difference_sec, 0.0, 1.0,
       true},
      {"voxloc.tf_tolerance_sec", own.tf_tolerance_sec, 0.0, kInfinity},
      {"voxloc.deadline_sec", own.deadline_sec, 0.0, kInfinity},
      {"voxloc.min_confidence", own.min_confidence, 0.0, 1.0},
      {"voxloc.recovery.lost_after_scans", static_cast<double>(own.recovery_lost_after_scans), 1.0,
       static_cast<double>(std::numeric_limits<uint32_t>::max())},
      {"voxloc.recovery.initial_radius_m", own.recovery_initial_radius_m, 0.0, kInfinity, true},
      {"voxloc.recovery.max_radius_m", own.recovery_max_radius_m, own.recovery_initial_radius_m,
       kInfinity},
      {"voxloc.search.seed", static_cast<double>(own.search_seed), 0.0, kInfinity},
      {"voxloc.search.timeout_sec", own.search_timeout_sec, 0.0, kInfinity, true},
  };
  for (const Range& range : ranges) {
    if (absl::Status status = CheckRange(range); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckChoices(const BridgeParameters& own) {
  struct Choice {
    const char* name;
    const std::string& value;
    std::vector<std::string> allowed;
  };
  const Choice choices[] = {
      {"voxloc.points.encoding", own.points_encoding, {"auto", "as_is", "float32", "int16"}},
      {"voxloc.guess_source", own.guess_source, {"poses", "odometry"}},
      {"voxloc.twist_source", own.twist_source, {"server", "topic", "odometry"}},
      {"voxloc.tf_output", own.tf_output, {"base", "odom", "none"}},
      {"voxloc.acceptance_rule", own.acceptance_rule, {"profile", "reference", "strict"}},
  };
  for (const Choice& choice : choices) {
    if (absl::Status status = CheckChoice(choice.name, choice.value, choice.allowed);
        !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLists(const Parameters& parameters) {
  const CovarianceParameters& covariance = parameters.covariance;
  if (covariance.output_pose_covariance.size() != kCovarianceValues) {
    return Invalid(
        absl::StrCat("parameter covariance.output_pose_covariance must have 36 values "
                     "(got ",
                     covariance.output_pose_covariance.size(), ")"));
  }
  const size_t offsets = covariance.initial_pose_offset_model_x.size();
  if (offsets != covariance.initial_pose_offset_model_y.size() || offsets > kMaxOffsets) {
    return Invalid(absl::StrCat(
        "parameters covariance.covariance_estimation.initial_pose_offset_model_x and _y must have "
        "the same number of values, at most ",
        kMaxOffsets, " (got ", offsets, " and ", covariance.initial_pose_offset_model_y.size(),
        ")"));
  }
  const BridgeParameters& own = parameters.voxloc;
  if (own.points_crop_min.size() != own.points_crop_max.size() ||
      (!own.points_crop_min.empty() && own.points_crop_min.size() != 3)) {
    return Invalid(absl::StrCat(
        "parameters voxloc.points.crop_min and crop_max must both have 3 values or none (got ",
        own.points_crop_min.size(), " and ", own.points_crop_max.size(), ")"));
  }
  for (size_t i = 0; i < own.points_crop_min.size(); ++i) {
    if (own.points_crop_min[i] <= own.points_crop_max[i]) continue;
    return Invalid(absl::StrCat("parameter voxloc.points.crop_max[", i, "] must be at least ",
                                own.points_crop_min[i], ", as crop_min (got ",
                                own.points_crop_max[i], ")"));
  }
  if (own.points_extra_topics.size() > kMaxExtraTopics) {
    return Invalid(absl::StrCat("parameter voxloc.points.extra_topics must have at most ",
                                kMaxExtraTopics, " topics (got ", own.points_extra_topics.size(),
                                ")"));
  }
  return absl::OkStatus();
}

absl::Status CheckCombinations(const Parameters& parameters) {
  const BridgeParameters& own = parameters.voxloc;
  for (const auto& [name, value] :
       {std::pair<const char*, const std::string&>{"frame.base_frame", parameters.frame.base_frame},
        {"frame.ndt_base_frame", parameters.frame.ndt_base_frame},
        {"frame.map_frame", parameters.frame.map_frame},
        {"voxloc.server", own.server},
        {"voxloc.map", own.map},
        {"voxloc.map_feeder.map", own.map_feeder_map}}) {
    if (value.empty()) return Invalid(absl::StrCat("parameter ", name, " must not be empty"));
  }
  if (const absl::Status server = client::Channel::CheckServer(own.server); !server.ok()) {
    return Invalid(absl::StrCat("parameter voxloc.server: ", server.message()));
  }
  if (own.vehicle.size() > kMaxVehicleBytes) {
    return Invalid(absl::StrCat("parameter voxloc.vehicle must have at most ", kMaxVehicleBytes,
                                " bytes (got ", own.vehicle.size(), ")"));
  }
  const bool needs_odometry =
      own.tf_output == "odom" || own.guess_source == "odometry" || own.twist_source == "odometry";
  if (needs_odometry && own.odom_frame.empty()) {
    return Invalid(
        absl::StrCat("parameter voxloc.odom_frame must be set for voxloc.tf_output = odom and for "
                     "voxloc.guess_source or voxloc.twist_source = odometry (got '', ",
                     own.tf_output, ", ", own.guess_source, " and ", own.twist_source, ")"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateParameters(const Parameters& parameters) {
  if (absl::Status status = CheckRanges(parameters); !status.ok()) return status;
  if (absl::Status status = CheckChoices(parameters.voxloc); !status.ok()) return status;
  if (absl::Status status = CheckLists(parameters); !status.ok()) return status;
  return CheckCombinations(parameters);
}

}  // namespace voxloc::ros
