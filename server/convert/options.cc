// SPDX-License-Identifier: Apache-2.0

#include "server/convert/options.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/try.h"
#include "server/convert/pose.h"
#include "server/convert/range.h"

namespace voxloc::server {
namespace {

constexpr size_t kMaxVehicleBytes = 128;
// Norms of steps, in metres and radians.
constexpr double kMinStep = 1e-6;
constexpr double kMaxStep = 100.0;
constexpr double kMinLeafM = 1e-9;

constexpr double kMinRecoveryRadiusM = 1e-3;
constexpr double kMaxRecoveryRadiusM = 1000.0;
// Of the poses around a result, along each axis.
constexpr double kMaxOffsetM = 100.0;
constexpr uint32_t kMaxConfirmationScans = 1000;
// Of seconds and metres that must be over 0: a nanosecond is what stamps can tell apart.
constexpr double kMinLimit = 1e-9;

absl::Status PrefixField(absl::string_view field, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(field, ".", status.message()));
}

absl::Status ApplyCounts(const v1::ValidationOptions& validation, GateOptions& gate) {
  if (validation.has_max_skipped_scans()) {
    gate.max_skipped_scans = validation.max_skipped_scans().value();
    if (gate.max_skipped_scans < 1) {
      return absl::InvalidArgumentError(
          "gate.validation.max_skipped_scans must be at least 1 (got 0)");
    }
  }
  if (validation.has_max_oscillation_count()) {
    constexpr auto kMost = static_cast<uint32_t>(std::numeric_limits<int>::max());
    const uint32_t count = validation.max_oscillation_count().value();
    if (count > kMost) {
      return absl::InvalidArgumentError(absl::StrCat(
          "gate.validation.max_oscillation_count must be at most ", kMost, " (got ", count, ")"));
    }
    gate.max_oscillations = static_cast<int>(count);
  }
  return absl::OkStatus();
}

// Leaves the default where there are none.
absl::Status ReadThree(const google::protobuf::RepeatedField<double>& values,
                       absl::string_view name, Eigen::Vector3d& three) {
  if (values.empty()) return absl::OkStatus();
  if (values.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("covariance.", name, " must have 3 values or none (got ", values.size(), ")"));
  }
  three = {values[0], values[1], values[2]};
  return absl::OkStatus();
}

// `profile` names the method and the required distance of requests that do not; what else they do
// not set is the sensor's.
absl::StatusOr<CovarianceOptions> CovarianceOptionsFromProto(const v1::CovarianceOptions& options,
                                                             const Profile& profile,
                                                             const SensorCalibration& sensor) {
  CovarianceOptions result;
  result.method = profile.name == AutowareProfile().name ? CovarianceMethod::kFixed
                                                         : CovarianceMethod::kCalibrated;
  absl::Status status = AssignIfSet(
      "covariance.method", options.method(),
      {CovarianceMethod::kFixed, CovarianceMethod::kLaplace, CovarianceMethod::kMultiNdt,
       CovarianceMethod::kMultiNdtScore, CovarianceMethod::kCalibrated},
      result.method);
  if (!status.ok()) return status;
  result.systematic = sensor.systematic();
  // It was learnt of the scan part of this method.
  if (result.method == CovarianceMethod::kCalibrated) {
    result.scale_factor = sensor.scan_scale.value;
  }
  VOXLOC_ASSIGN_OR_RETURN(
      auto fixed, CovarianceFromProto(options.fixed_covariance(), "covariance.fixed_covariance"));
  if (fixed.has_value()) result.fixed = *fixed;
  if (options.offset_x_m_size() != options.offset_y_m_size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "covariance.offset_x_m and offset_y_m must have the same number of values (got ",
        options.offset_x_m_size(), " and ", options.offset_y_m_size(), ")"));
  }
  if (options.offset_x_m_size() > 0) {
    result.offsets_base.clear();
    for (int i = 0; i < options.offset_x_m_size(); ++i) {
      status = FirstError(
          {CheckRange("covariance.offset_x_m", options.offset_x_m(i), -kMaxOffsetM, kMaxOffsetM),
           CheckRange("covariance.offset_y_m", options.offset_y_m(i), -kMaxOffsetM, kMaxOffsetM)});
      if (!status.ok()) return status;
      result.offsets_base.emplace_back(options.offset_x_m(i), options.offset_y_m(i));
    }
  }
  if (options.has_temperature()) result.temperature = options.temperature().value();
  if (options.has_scale_factor()) result.scale_factor = options.scale_factor().value();
  status = FirstError(
      {CheckRange("covariance.temperature", result.temperature, kMinFactor, kMaxFactor),
       CheckRange("covariance.scale_factor", result.scale_factor, kMinFactor, kMaxFactor),
       ReadThree(options.systematic_position_sigma_m(), "systematic_position_sigma_m",
                 result.systematic.position_sigma_m),
       ReadThree(options.systematic_rotation_sigma_rad(), "systematic_rotation_sigma_rad",
                 result.systematic.rotation_sigma_rad)});
  if (!status.ok()) return status;
  if (options.has_systematic_time_sigma_s()) {
    result.systematic.time_sigma_s = options.systematic_time_sigma_s().value();
  }
  if (options.has_systematic_skew_sigma_s()) {
    result.systematic.skew_sigma_s = options.systematic_skew_sigma_s().value();
  }
  status = PrefixField("covariance", ValidateCovarianceOptions(result));
  if (!status.ok()) return status;
  return result;
}

// Sets `gate` and the limits of guesses. `options.profile` has been set.
absl::Status ApplyValidation(const v1::ValidationOptions& validation, AlignOptions& options) {
  const v1::ValidationOptions& v = validation;
  GateOptions gate;
  if (options.profile.name != AutowareProfile().name) gate.required_distance_m = 0.0;
  absl::Status status = FirstError(
      {AssignIfSet("gate.validation.required_distance_m", v.has_required_distance_m(),
                   v.required_distance_m(), 0.0, kMaxLengthM, gate.required_distance_m),
       AssignIfSet("gate.validation.guess_timeout_s", v.has_guess_timeout_s(), v.guess_timeout_s(),
                   kMinLimit, kMaxSeconds, options.guess_timeout_s),
       AssignIfSet("gate.validation.guess_distance_tolerance_m", v.has_guess_distance_tolerance_m(),
                   v.guess_distance_tolerance_m(), kMinLimit, kMaxLengthM,
                   options.guess_distance_tolerance_m),
       AssignIfSet("gate.validation.initial_to_result_distance_tolerance_m",
                   v.has_initial_to_result_distance_tolerance_m(),
                   v.initial_to_result_distance_tolerance_m(), 0.0, kMaxLengthM,
                   gate.initial_to_result_distance_tolerance_m),
       AssignIfSet("gate.validation.max_execution_time_s", v.has_max_execution_time_s(),
                   v.max_execution_time_s(), 0.0, kMaxSeconds, gate.max_execution_time_s),
       AssignIfSet("gate.validation.max_delay_s", v.has_max_delay_s(), v.max_delay_s(), 0.0,
                   kMaxSeconds, gate.timeout_s)});
  if (status.ok()) status = ApplyCounts(v, gate);
  if (!status.ok()) return status;
  options.gate = gate;
  return absl::OkStatus();
}

absl::Status OverrideStage(const v1::AlignmentOverrides& overrides, const Limits& limits,
                           Stage& stage) {
  if (overrides.has_max_iterations()) {
    const uint32_t value = overrides.max_iterations().value();
    if (value < 1 || value > limits.max_iterations) {
      return absl::InvalidArgumentError(absl::StrCat("overrides.max_iterations must be from 1 to ",
                                                     limits.max_iterations, " (got ", value, ")"));
    }
    stage.max_iterations = static_cast<int>(value);
  }
  if (overrides.has_step_floor()) stage.step_floor = overrides.step_floor().value();
  return FirstError(
      {AssignIfSet("overrides.step_size_m", overrides.has_step_size_m(), overrides.step_size_m(),
                   kMinStep, kMaxStep, stage.max_step),
       AssignIfSet("overrides.transformation_epsilon", overrides.has_transformation_epsilon(),
                   overrides.transformation_epsilon(), 0.0, kMaxStep, stage.epsilon),
       AssignIfSet("overrides.outlier_ratio", overrides.has_outlier_ratio(),
                   overrides.outlier_ratio(), kMinShare, kMaxShare, stage.outlier_ratio),
       AssignIfSet("overrides.line_search", overrides.line_search(), {false, true},
                   stage.line_search),
       AssignIfSet("overrides.curvature", overrides.curvature(),
                   {Curvature::kExact, Curvature::kReweighted}, stage.curvature),
       AssignIfSet("overrides.search_method", overrides.search_method(),
                   {NeighborSearch::kRadius, NeighborSearch::kDirect7, NeighborSearch::kDirect1},
                   stage.search)});
}

absl::Status ApplyOverrides(const v1::AlignmentOverrides& overrides, const Limits& limits,
                            AlignOptions& options) {
  for (Stage& stage : options.profile.stages) {
    VOXLOC_TRY(OverrideStage(overrides, limits, stage));
  }
  if (overrides.degeneracy_aware().value()) {
    options.profile = AlongObservedDirections(std::move(options.profile));
  }
  const v1::RegularizationOptions& regularization = overrides.regularization();
  if (regularization.has_enable()) options.regularize = regularization.enable().value();
  if (regularization.has_score_includes_regularization()) {
    options.profile.score_includes_regularization =
        regularization.score_includes_regularization().value();
  }
  return AssignIfSet("overrides.regularization.scale_factor", regularization.has_scale_factor(),
                     regularization.scale_factor(), 0.0, kMaxFactor,
                     options.profile.regularization_scale);
}

absl::Status ApplyGate(const v1::GateOptions& gate, AlignOptions& options) {
  Profile& profile = options.profile;
  absl::Status status =
      AssignIfSet("gate.rule", gate.rule(), {AcceptanceRule::kReference, AcceptanceRule::kStrict},
                  profile.acceptance_rule);
  if (!status.ok()) return status;
  if (profile.acceptance_rule == AcceptanceRule::kStrict) {
    options.limits.min_confidence = kStrictMinConfidence;
  }
  if (status = ApplyValidation(gate.validation(), options); !status.ok()) return status;
  return FirstError(
      {AssignIfSet("gate.score_type", gate.score_type(),
                   {ScoreKind::kTransformProbability, ScoreKind::kNearestVoxelLikelihood},
                   profile.acceptance_score),
       AssignIfSet("gate.score_threshold", gate.has_score_threshold(), gate.score_threshold(),
                   -kMaxScore, kMaxScore, profile.acceptance_threshold),
       AssignIfSet("gate.min_matched_ratio", gate.has_min_matched_ratio(), gate.min_matched_ratio(),
                   0.0, 1.0, options.limits.min_matched_ratio),
       AssignIfSet("gate.min_confidence", gate.has_min_confidence(), gate.min_confidence(), 0.0,
                   1.0, options.limits.min_confidence),
       AssignIfSet("gate.rival_confidence", gate.has_rival_confidence(), gate.rival_confidence(),
                   0.0, 1.0, options.rival_confidence),
       AssignIfSet("gate.odometry_drift", gate.has_odometry_drift(), gate.odometry_drift(), 0.0,
                   1.0, options.odometry_drift)});
}

}  // namespace

absl::StatusOr<AlignOptions> AlignOptionsFromProto(const v1::AlignmentOptions& options,
                                                   const Config& config) {
  AlignOptions result;
  auto profile =
      FindProfile(options.profile().empty() ? config.default_profile : options.profile());
  if (!profile.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("options.profile must be one of ", absl::StrJoin(ProfileNames(), ", "),
                     " (got '", absl::CEscape(options.profile().substr(0, 64)), "')"));
  }
  result.profile = *std::move(profile);
  auto sensor = config.sensors.Find(options.sensor());
  if (!sensor.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("options.sensor: ", sensor.status().message()));
  }
  result.sensor = *std::move(sensor);
  VOXLOC_ASSIGN_OR_RETURN(
      result.covariance,
      CovarianceOptionsFromProto(options.covariance(), result.profile, result.sensor));
  absl::Status status = ApplyOverrides(options.overrides(), config.limits, result);
  if (status.ok()) status = ApplyGate(options.gate(), result);
  if (status.ok()) status = ValidateProfile(result.profile);
  if (!status.ok()) return status;
  return result;
}

absl::StatusOr<ScanFilters> ScanFiltersFromProto(const v1::ScanFilter& filter) {
  ScanFilters filters;
  absl::Status status = FirstError(
      {CheckRange("filter.min_range_m", filter.min_range_m(), 0.0, kMaxLengthM),
       CheckRange("filter.max_range_m", filter.max_range_m(), 0.0, kMaxLengthM),
       CheckRange("filter.min_height_m", filter.min_height_m().value(), -kMaxLengthM, kMaxLengthM),
       CheckRange("filter.max_height_m", filter.max_height_m().value(), -kMaxLengthM, kMaxLengthM),
       CheckRangeOrZero("filter.voxel_leaf_m", filter.voxel_leaf_m(), kMinLeafM, kMaxLengthM,
                        "off")});
  if (!status.ok()) return status;
  if (filter.min_range_m() > 0.0 || filter.max_range_m() > 0.0) {
    FilterOptions& sensor = filters.sensor.emplace();
    sensor.min_range_m = filter.min_range_m();
    if (filter.max_range_m() > 0.0) sensor.max_range_m = filter.max_range_m();
    if (status = ValidateFilterOptions(sensor); !status.ok()) return status;
  }
  if (filter.has_min_height_m() || filter.has_max_height_m() || filter.has_box() ||
      filter.voxel_leaf_m() > 0.0 || filter.max_points() > 0) {
    FilterOptions& base = filters.base.emplace();
    if (filter.has_min_height_m()) base.min_height_m = filter.min_height_m().value();
    if (filter.has_max_height_m()) base.max_height_m = filter.max_height_m().value();
    if (filter.has_box()) {
      VOXLOC_ASSIGN_OR_RETURN(base.box, BoxFromProto(filter.box(), "filter.box"));
    }
    base.voxel_leaf_m = filter.voxel_leaf_m();
    base.max_points = filter.max_points();
    base.random_seed = filter.random_seed();
    if (status = ValidateFilterOptions(base); !status.ok()) return status;
  }
  return filters;
}

absl::StatusOr<OutputChoice> OutputFromProto(const v1::OutputOptions& output) {
  if (output.point_colors() && !output.point_scores()) {
    return absl::InvalidArgumentError(
        "output.point_colors is true and output.point_scores false; colours need scores");
  }
  OutputChoice choice;
  choice.trace = output.trace();
  choice.point_scores = output.point_scores();
  choice.point_colors = output.point_colors();
  choice.aligned_cloud = output.aligned_cloud();
  choice.hessian = output.hessian();
  choice.diagnostics = output.diagnostics();
  choice.confidence = !output.no_confidence();
  if (output.has_no_ground()) {
    choice.no_ground_z_margin_m = output.no_ground().z_margin_m();
    choice.no_ground_cloud = output.no_ground().cloud();
    VOXLOC_TRY(CheckRange("output.no_ground.z_margin_m", *choice.no_ground_z_margin_m, -kMaxLengthM,
                          kMaxLengthM));
  }
  if (output.has_protection()) {
    const v1::ProtectionOptions& protection_options = output.protection();
    ScanProtectionOptions& protection = choice.protection.emplace();
    if (protection_options.has_risk()) protection.risk = protection_options.risk().value();
    if (protection_options.has_false_alarm())
      protection.false_alarm = protection_options.false_alarm().value();
    if (protection_options.has_fault_probability()) {
      protection.fault_probability = protection_options.fault_probability().value();
    }
    absl::Status status = FirstError(
        {CheckRange("output.protection.risk", protection.risk, kMinProbability, kMaxShare),
         CheckRange("output.protection.false_alarm", protection.false_alarm, kMinProbability,
                    kMaxShare),
         CheckRangeOrZero("output.protection.fault_probability", protection.fault_probability,
                          kMinProbability, 1.0, "never")});
    if (!status.ok()) return status;
    if (status = ValidateScanProtectionOptions(protection); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("output.protection.", status.message()));
    }
  }
  return choice;
}

absl::Status CompleteRecipe(ScanRecipe& recipe) {
  if (recipe.output.protection.has_value() &&
      recipe.align.covariance.method != CovarianceMethod::kCalibrated) {
    return absl::InvalidArgumentError(
        "output.protection is set and the covariance is not CALIBRATED; protection levels need "
        "covariance.method CALIBRATED");
  }
  recipe.estimate.protection = recipe.output.protection;
  recipe.estimate.covariance = recipe.align.covariance;
  // The strict rule asks for one of results that are far from their guess, whatever the limit.
  recipe.estimate.confidence = recipe.output.confidence ||
                               recipe.align.limits.min_confidence > 0.0 ||
                               recipe.align.profile.acceptance_rule == AcceptanceRule::kStrict;
  // What is below the limit is refused, whether it has a rival or not.
  if (recipe.align.rival_confidence > recipe.align.limits.min_confidence) {
    recipe.estimate.rival_confidence = recipe.align.rival_confidence;
  }
  recipe.estimate.no_ground_z_margin_m = recipe.output.no_ground_z_margin_m;
  return absl::OkStatus();
}

absl::StatusOr<ScanRecipe> RecipeFromProto(const Config& config, const v1::ScanSetup& setup) {
  ScanRecipe recipe;
  VOXLOC_ASSIGN_OR_RETURN(recipe.align, AlignOptionsFromProto(setup.options(), config));
  VOXLOC_ASSIGN_OR_RETURN(recipe.filters, ScanFiltersFromProto(setup.filter()));
  VOXLOC_ASSIGN_OR_RETURN(recipe.output, OutputFromProto(setup.output()));
  if (setup.has_base_t_sensor()) {
    VOXLOC_ASSIGN_OR_RETURN(recipe.base_T_sensor, MountFromProto(setup.base_t_sensor()));
  }
  VOXLOC_TRY(CompleteRecipe(recipe));
  return recipe;
}

absl::Status CheckVehicle(const std::string& vehicle) {
  if (vehicle.size() > kMaxVehicleBytes) {
    return absl::InvalidArgumentError(absl::StrCat("vehicle must have at most ", kMaxVehicleBytes,
                                                   " bytes (got ", vehicle.size(), ")"));
  }
  // Not every database of maps can keep one.
  if (vehicle.find('\0') == std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError("vehicle must not have zero bytes");
}

absl::StatusOr<RecoveryOptions> RecoveryOptionsFromProto(const v1::RecoveryOptions& options,
                                                         const Limits& limits) {
  RecoveryOptions result;
  result.lost_after_scans = options.lost_after_scans();
  result.initial_radius_m = options.initial_radius_m();
  result.max_radius_m = options.max_radius_m();
  result.apply = options.apply();
  result.candidates = limits.max_recovery_candidates;
  result.min_confirmation_travel_m = options.min_confirmation_travel_m();
  if (options.false_confirmation_rate() != 0.0) {
    result.confirmation.false_acceptance = options.false_confirmation_rate();
  }
  absl::Status status = FirstError(
      {CheckRangeOrZero("recovery.false_confirmation_rate", options.false_confirmation_rate(),
                        kMinProbability, kMaxShare, "the default"),
       CheckRange("recovery.initial_radius_m", result.initial_radius_m, kMinRecoveryRadiusM,
                  kMaxRecoveryRadiusM),
       CheckRange("recovery.max_radius_m", result.max_radius_m, kMinRecoveryRadiusM,
                  kMaxRecoveryRadiusM),
       CheckRange("recovery.min_confirmation_travel_m", result.min_confirmation_travel_m, 0.0,
                  kMaxLengthM)});
  if (!status.ok()) return status;
  if (options.max_confirmation_scans() > kMaxConfirmationScans) {
    return absl::InvalidArgumentError(
        absl::StrCat("recovery.max_confirmation_scans must be at most ", kMaxConfirmationScans,
                     " (got ", options.max_confirmation_scans(), ")"));
  }
  if (options.max_confirmation_scans() > 0) {
    result.confirmation.max_observations = static_cast<int>(options.max_confirmation_scans());
  }
  status = PrefixField("recovery", ValidateRecoveryOptions(result));
  if (!status.ok()) return status;
  return result;
}

absl::StatusOr<AccumulationOptions> AccumulationFromProto(const v1::ScanAccumulation& options,
                                                          const Limits& limits) {
  AccumulationOptions result;
  result.max_scans = options.scans();
  if (options.max_age_s() != 0.0) result.max_age_s = options.max_age_s();
  if (options.max_distance_m() != 0.0) result.max_distance_m = options.max_distance_m();
  result.max_points = limits.max_accumulated_points;
  absl::Status status =
      FirstError({CheckRangeOrZero("accumulation.max_age_s", options.max_age_s(), kMinLimit,
                                   kMaxSeconds, "the default"),
                  PrefixField("accumulation", ValidateAccumulationOptions(result))});
  if (!status.ok()) return status;
  return result;
}

}  // namespace voxloc::server
