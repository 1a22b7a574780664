// SPDX-License-Identifier: Apache-2.0

#include "server/convert/options.h"

#include <google/protobuf/message.h>
#include <google/protobuf/wrappers.pb.h>

#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "core/text/number_range.h"
#include "server/convert/pose.h"
#include "server/convert/range.h"

namespace voxloc::server {
namespace {

constexpr size_t kMaxVehicleBytes = 128;
// Norms of steps, in metres and radians.
constexpr double kMinStep = 1e-6;
constexpr double kMaxStep = 100.0;
constexpr double kMinLeafM = 1e-9;

// The offset of the poses around a result, along each axis.
constexpr double kMaxOffsetM = 100.0;

// In the order of the contract.
constexpr NeighborSearch kSearchMethods[] = {NeighborSearch::kRadius, NeighborSearch::kDirect7,
                                             NeighborSearch::kDirect1};
constexpr bool kLineSearches[] = {false, true};
constexpr Curvature kCurvatures[] = {Curvature::kExact, Curvature::kReweighted};
constexpr ScoreKind kScoreTypes[] = {ScoreKind::kTransformProbability,
                                     ScoreKind::kNearestVoxelLikelihood};
constexpr AcceptanceRule kAcceptanceRules[] = {AcceptanceRule::kReference, AcceptanceRule::kStrict};
static_assert(std::size(kSearchMethods) == v1::SearchMethod_MAX &&
              std::size(kLineSearches) == v1::LineSearch_MAX &&
              std::size(kCurvatures) == v1::Curvature_MAX &&
              std::size(kScoreTypes) == v1::ScoreType_MAX &&
              std::size(kAcceptanceRules) == v1::AcceptanceRule_MAX &&
              std::size(kCovarianceMethods) == v1::CovarianceMethod_MAX);

// The optional numbers of a message of options, by their names. `path` leads to the message.
class OptionalNumbers {
 public:
  OptionalNumbers(const google::protobuf::Message& message, absl::string_view path)
      : message_(message), path_(path) {}

  // If the number, a DoubleValue, is set, assigns it to `value`. InvalidArgument: it is not from
  // `low` to `high`.
  [[nodiscard]] absl::Status Assign(const char* name, double low, double high,
                                    double& value) const {
    const auto* const field = message_.GetDescriptor()->FindFieldByName(name);
    const google::protobuf::Reflection& reflection = *message_.GetReflection();
    if (!reflection.HasField(message_, field)) return absl::OkStatus();
    const google::protobuf::Message& number = reflection.GetMessage(message_, field);
    value = static_cast<const google::protobuf::DoubleValue&>(number).value();
    return CheckRanges({{absl::StrCat(path_, ".", name), value, FromTo(low, high)}});
  }

 private:
  const google::protobuf::Message& message_;
  const absl::string_view path_;
};

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

// The method of requests that name none is the profile's; what else they do not set is the
// sensor's.
absl::StatusOr<CovarianceOptions> CovarianceOptionsFromProto(const v1::CovarianceOptions& options,
                                                             const Profile& profile,
                                                             const SensorCalibration& sensor) {
  CovarianceOptions result;
  result.method = CovarianceMethodOf(profile);
  VOXLOC_TRY(
      EnumFromProto("covariance.method", options.method(), kCovarianceMethods, result.method));
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
    constexpr NumberRange kOffset = FromTo(-kMaxOffsetM, kMaxOffsetM);
    result.offsets_base.clear();
    for (int i = 0; i < options.offset_x_m_size(); ++i) {
      VOXLOC_TRY(CheckRanges({{"covariance.offset_x_m", options.offset_x_m(i), kOffset},
                              {"covariance.offset_y_m", options.offset_y_m(i), kOffset}}));
      result.offsets_base.emplace_back(options.offset_x_m(i), options.offset_y_m(i));
    }
  }
  if (options.has_temperature()) result.temperature = options.temperature().value();
  if (options.has_scale_factor()) result.scale_factor = options.scale_factor().value();
  constexpr NumberRange kFactor = FromTo(kMinFactor, kMaxFactor);
  VOXLOC_TRY(CheckRanges({{"covariance.temperature", result.temperature, kFactor},
                          {"covariance.scale_factor", result.scale_factor, kFactor}}));
  VOXLOC_TRY(ReadThree(options.systematic_position_sigma_m(), "systematic_position_sigma_m",
                       result.systematic.position_sigma_m));
  VOXLOC_TRY(ReadThree(options.systematic_rotation_sigma_rad(), "systematic_rotation_sigma_rad",
                       result.systematic.rotation_sigma_rad));
  if (options.has_systematic_time_sigma_s()) {
    result.systematic.time_sigma_s = options.systematic_time_sigma_s().value();
  }
  if (options.has_systematic_skew_sigma_s()) {
    result.systematic.skew_sigma_s = options.systematic_skew_sigma_s().value();
  }
  VOXLOC_TRY(PrefixField("covariance", ValidateCovarianceOptions(result)));
  return result;
}

// Sets `gate` and the limits of guesses. `options.profile` has been set.
absl::Status ApplyValidation(const v1::ValidationOptions& validation, AlignOptions& options) {
  const OptionalNumbers numbers(validation, "gate.validation");
  GateOptions& gate = options.gate;
  gate.required_distance_m = options.profile.required_distance_m;
  VOXLOC_TRY(numbers.Assign("required_distance_m", 0.0, kMaxLengthM, gate.required_distance_m));
  VOXLOC_TRY(numbers.Assign("guess_timeout_s", kMinLimit, kMaxSeconds, options.guess_timeout_s));
  VOXLOC_TRY(numbers.Assign("guess_distance_tolerance_m", kMinLimit, kMaxLengthM,
                            options.guess_distance_tolerance_m));
  VOXLOC_TRY(numbers.Assign("initial_to_result_distance_tolerance_m", 0.0, kMaxLengthM,
                            gate.initial_to_result_distance_tolerance_m));
  VOXLOC_TRY(numbers.Assign("max_execution_time_s", 0.0, kMaxSeconds, gate.max_execution_time_s));
  VOXLOC_TRY(numbers.Assign("max_delay_s", 0.0, kMaxSeconds, gate.timeout_s));
  if (validation.has_max_skipped_scans()) {
    gate.max_skipped_scans = validation.max_skipped_scans().value();
    VOXLOC_TRY(
        CheckRanges({{"gate.validation.max_skipped_scans", gate.max_skipped_scans, AtLeast(1)}}));
  }
  if (validation.has_max_oscillation_count()) {
    const uint32_t count = validation.max_oscillation_count().value();
    VOXLOC_TRY(CheckRanges({{"gate.validation.max_oscillation_count", count,
                             NumberRange().AtMost(std::numeric_limits<int>::max())}}));
    gate.max_oscillations = static_cast<int>(count);
  }
  return absl::OkStatus();
}

absl::Status OverrideStage(const v1::AlignmentOverrides& overrides, const Limits& limits,
                           Stage& stage) {
  if (overrides.has_max_iterations()) {
    const uint32_t value = overrides.max_iterations().value();
    VOXLOC_TRY(
        CheckRanges({{"overrides.max_iterations", value, FromTo(1, limits.max_iterations)}}));
    stage.max_iterations = static_cast<int>(value);
  }
  if (overrides.has_step_floor()) stage.step_floor = overrides.step_floor().value();
  const OptionalNumbers numbers(overrides, "overrides");
  VOXLOC_TRY(numbers.Assign("step_size_m", kMinStep, kMaxStep, stage.max_step));
  VOXLOC_TRY(numbers.Assign("transformation_epsilon", 0.0, kMaxStep, stage.epsilon));
  VOXLOC_TRY(numbers.Assign("outlier_ratio", kMinShare, kMaxShare, stage.outlier_ratio));
  VOXLOC_TRY(EnumFromProto("overrides.line_search", overrides.line_search(), kLineSearches,
                           stage.line_search));
  VOXLOC_TRY(
      EnumFromProto("overrides.curvature", overrides.curvature(), kCurvatures, stage.curvature));
  return EnumFromProto("overrides.search_method", overrides.search_method(), kSearchMethods,
                       stage.search);
}

absl::Status ApplyOverrides(const v1::AlignmentOverrides& overrides, const Limits& limits,
                            AlignOptions& options) {
  for (Stage& stage : options.profile.stages) {
    VOXLOC_TRY(OverrideStage(overrides, limits, stage));
  }
  if (overrides.has_independent_points()) {
    const double points = overrides.independent_points().value();
    VOXLOC_TRY(
        CheckRanges({{"overrides.independent_points", points, FromTo(0.001, 1e6).OrZero()}}));
    options.profile.independent_points = points;
  }
  // A weight is defined by a curvature that is nowhere negative.
  if (std::any_of(options.profile.stages.begin(), options.profile.stages.end(),
                  [](const Stage& stage) { return stage.curvature == Curvature::kExact; })) {
    options.profile.independent_points = 0.0;
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
  return OptionalNumbers(regularization, "overrides.regularization")
      .Assign("scale_factor", 0.0, kMaxFactor, options.profile.regularization_scale);
}

absl::Status ApplyGate(const v1::GateOptions& gate, AlignOptions& options) {
  Profile& profile = options.profile;
  VOXLOC_TRY(EnumFromProto("gate.rule", gate.rule(), kAcceptanceRules, profile.acceptance_rule));
  options.limits = LimitsOf(profile);
  VOXLOC_TRY(ApplyValidation(gate.validation(), options));
  VOXLOC_TRY(
      EnumFromProto("gate.score_type", gate.score_type(), kScoreTypes, profile.acceptance_score));
  const OptionalNumbers numbers(gate, "gate");
  VOXLOC_TRY(
      numbers.Assign("score_threshold", -kMaxScore, kMaxScore, profile.acceptance_threshold));
  VOXLOC_TRY(numbers.Assign("min_matched_ratio", 0.0, 1.0, options.limits.min_matched_ratio));
  VOXLOC_TRY(numbers.Assign("min_confidence", 0.0, 1.0, options.limits.min_confidence));
  VOXLOC_TRY(numbers.Assign("rival_confidence", 0.0, 1.0, options.rival_confidence));
  return numbers.Assign("odometry_drift", 0.0, 1.0, options.odometry_drift);
}

}  // namespace

absl::StatusOr<AlignOptions> AlignOptionsFromProto(const v1::AlignmentOptions& options,
                                                   const Config& config) {
  AlignOptions result;
  auto profile =
      config.profiles.Find(options.profile().empty() ? config.default_profile : options.profile());
  if (!profile.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("options.profile ", profile.status().message()));
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
  VOXLOC_TRY(ApplyOverrides(options.overrides(), config.limits, result));
  VOXLOC_TRY(ApplyGate(options.gate(), result));
  VOXLOC_TRY(ValidateProfile(result.profile));
  return result;
}

absl::StatusOr<ScanFilters> ScanFiltersFromProto(const v1::ScanFilter& filter) {
  ScanFilters filters;
  constexpr NumberRange kRange = FromTo(0.0, kMaxLengthM);
  constexpr NumberRange kHeight = FromTo(-kMaxLengthM, kMaxLengthM);
  VOXLOC_TRY(CheckRanges({{"filter.min_range_m", filter.min_range_m(), kRange},
                          {"filter.max_range_m", filter.max_range_m(), kRange},
                          {"filter.min_height_m", filter.min_height_m().value(), kHeight},
                          {"filter.max_height_m", filter.max_height_m().value(), kHeight}}));
  VOXLOC_TRY(CheckRangeOrZero("filter.voxel_leaf_m", filter.voxel_leaf_m(), kMinLeafM, kMaxLengthM,
                              "off"));
  if (filter.min_range_m() > 0.0 || filter.max_range_m() > 0.0) {
    FilterOptions& sensor = filters.sensor.emplace();
    sensor.min_range_m = filter.min_range_m();
    if (filter.max_range_m() > 0.0) sensor.max_range_m = filter.max_range_m();
    VOXLOC_TRY(ValidateFilterOptions(sensor));
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
    VOXLOC_TRY(ValidateFilterOptions(base));
  }
  return filters;
}

absl::Status OutputFromProto(const v1::OutputOptions& output, ScanRecipe& recipe) {
  if (output.point_colors() && !output.point_scores()) {
    return absl::InvalidArgumentError(
        "output.point_colors is true and output.point_scores false; colours need scores");
  }
  VOXLOC_TRY(CheckRanges({{"output.no_ground.z_margin_m", output.no_ground().z_margin_m(),
                           FromTo(-kMaxLengthM, kMaxLengthM)}}));
  recipe.output = output;
  recipe.protection.reset();
  if (!output.has_protection()) return absl::OkStatus();
  const OptionalNumbers numbers(output.protection(), "output.protection");
  ScanProtectionOptions& protection = recipe.protection.emplace();
  VOXLOC_TRY(numbers.Assign("risk", kMinProbability, kMaxShare, protection.risk));
  VOXLOC_TRY(numbers.Assign("false_alarm", kMinProbability, kMaxShare, protection.false_alarm));
  if (output.protection().has_fault_probability()) {
    protection.fault_probability = output.protection().fault_probability().value();
  }
  VOXLOC_TRY(CheckRangeOrZero("output.protection.fault_probability", protection.fault_probability,
                              kMinProbability, 1.0, "never"));
  return PrefixField("output.protection", ValidateScanProtectionOptions(protection));
}

absl::Status CompleteRecipe(ScanRecipe& recipe) {
  if (recipe.protection.has_value() &&
      recipe.align.covariance.method != CovarianceMethod::kCalibrated) {
    return absl::InvalidArgumentError(
        "output.protection is set and the covariance is not CALIBRATED; protection levels need "
        "covariance.method CALIBRATED");
  }
  recipe.estimate.protection = recipe.protection;
  recipe.estimate.covariance = recipe.align.covariance;
  // The strict rule asks for one of results that are far from their guess, whatever the limit.
  recipe.estimate.confidence = !recipe.output.no_confidence() ||
                               recipe.align.limits.min_confidence > 0.0 ||
                               recipe.align.profile.acceptance_rule == AcceptanceRule::kStrict;
  // What is below the limit is refused, whether it has a rival or not.
  if (recipe.align.rival_confidence > recipe.align.limits.min_confidence) {
    recipe.estimate.rival_confidence = recipe.align.rival_confidence;
  }
  recipe.estimate.no_ground_z_margin_m.reset();
  if (recipe.output.has_no_ground()) {
    recipe.estimate.no_ground_z_margin_m = recipe.output.no_ground().z_margin_m();
  }
  return absl::OkStatus();
}

absl::StatusOr<ScanRecipe> RecipeFromProto(const Config& config, const v1::ScanSetup& setup) {
  ScanRecipe recipe;
  VOXLOC_ASSIGN_OR_RETURN(recipe.align, AlignOptionsFromProto(setup.options(), config));
  VOXLOC_ASSIGN_OR_RETURN(recipe.filters, ScanFiltersFromProto(setup.filter()));
  VOXLOC_TRY(OutputFromProto(setup.output(), recipe));
  if (setup.has_base_t_sensor()) {
    VOXLOC_ASSIGN_OR_RETURN(recipe.base_T_sensor, MountFromProto(setup.base_t_sensor()));
  }
  VOXLOC_TRY(CompleteRecipe(recipe));
  return recipe;
}

absl::Status CheckVehicle(const std::string& vehicle) {
  VOXLOC_TRY(CheckBytes("vehicle", vehicle, kMaxVehicleBytes));
  // Not every database of maps can keep one.
  if (vehicle.find('\0') == std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError("vehicle must not have zero bytes");
}

void CellStatisticsToProto(const CellStatistics& statistics, v1::CellStatistics& proto) {
  proto.set_cell_size_m(statistics.cell_size_m);
  proto.set_min_points(statistics.gaussian.min_points);
  proto.set_identity_seed(statistics.gaussian.identity_seed);
  proto.set_eigenvalue_ratio(statistics.gaussian.eigenvalue_ratio);
  proto.set_merge_tiles(statistics.merge_tiles);
  proto.set_float_index(statistics.float_index);
}

void StageToProto(const Stage& stage, v1::ProfileStage& proto) {
  CellStatisticsToProto(stage.cells, *proto.mutable_cells());
  proto.set_search_method(EnumToProto<v1::SearchMethod>(kSearchMethods, stage.search));
  proto.set_outlier_ratio(stage.outlier_ratio);
  proto.set_max_iterations(static_cast<uint32_t>(stage.max_iterations));
  proto.set_step_size_m(stage.max_step);
  proto.set_transformation_epsilon(stage.epsilon);
  proto.set_step_floor(stage.step_floor);
  proto.set_line_search(EnumToProto<v1::LineSearch>(kLineSearches, stage.line_search));
  proto.set_small_angle_shortcut(stage.small_angle_shortcut);
  proto.set_exact_pitch_curvature(stage.exact_pitch_curvature);
  proto.set_float_transform(stage.float_transform);
  proto.set_curvature(EnumToProto<v1::Curvature>(kCurvatures, stage.curvature));
  proto.set_observed_ratio(stage.observed_ratio);
  proto.set_rotation_scale_m(stage.rotation_scale_m);
  proto.set_point_voxel_m(stage.point_voxel_m);
}

void ProfileToProto(const Profile& profile, v1::Profile& proto) {
  proto.set_name(profile.name);
  for (const Stage& stage : profile.stages) StageToProto(stage, *proto.add_stages());
  proto.set_score_type(EnumToProto<v1::ScoreType>(kScoreTypes, profile.acceptance_score));
  proto.set_score_threshold(profile.acceptance_threshold);
  proto.set_regularization_scale_factor(profile.regularization_scale);
  proto.set_score_includes_regularization(profile.score_includes_regularization);
  proto.set_score_stage(static_cast<uint32_t>(profile.score_stage));
  proto.set_judged(profile.judged);
  proto.set_allowed_loss(profile.allowed_loss);
  proto.set_acceptance_rule(
      EnumToProto<v1::AcceptanceRule>(kAcceptanceRules, profile.acceptance_rule));
  proto.set_independent_points(profile.independent_points);
  proto.set_observed_share(profile.observed_share);
  proto.set_required_distance_m(profile.required_distance_m);
  proto.set_covariance_method(
      EnumToProto<v1::CovarianceMethod>(kCovarianceMethods, CovarianceMethodOf(profile)));
}

}  // namespace voxloc::server
