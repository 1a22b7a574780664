// SPDX-License-Identifier: Apache-2.0

#include "server/convert/options.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/convert/estimate_options.h"
#include "server/convert/pose.h"
#include "server/convert/range.h"

namespace voxloc::server {
namespace {

constexpr size_t kMaxVehicleBytes = 128;
// Norms of steps, in metres and radians.
constexpr double kMinStep = 1e-6;
constexpr double kMaxStep = 100.0;
constexpr double kMinLeafM = 1e-9;

absl::Status Outside(absl::string_view field, double value, absl::string_view requirement) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be ", requirement, " (got ", value, ")"));
}

absl::Status OverrideSearch(const v1::AlignmentOverrides& overrides, Profile& profile) {
  for (Stage& stage : profile.stages) {
    switch (overrides.line_search()) {
      case v1::LINE_SEARCH_UNSPECIFIED:
        break;
      case v1::LINE_SEARCH_CLAMPED_STEP:
        stage.line_search = false;
        break;
      case v1::LINE_SEARCH_MORE_THUENTE:
        stage.line_search = true;
        break;
      default:
        return Outside("overrides.line_search", overrides.line_search(), "from 0 to 2");
    }
    switch (overrides.curvature()) {
      case v1::CURVATURE_UNSPECIFIED:
        break;
      case v1::CURVATURE_EXACT:
        stage.curvature = Curvature::kExact;
        break;
      case v1::CURVATURE_REWEIGHTED:
        stage.curvature = Curvature::kReweighted;
        break;
      default:
        return Outside("overrides.curvature", overrides.curvature(), "from 0 to 2");
    }
    switch (overrides.search_method()) {
      case v1::SEARCH_METHOD_UNSPECIFIED:
        break;
      case v1::SEARCH_METHOD_RADIUS:
        stage.search = NeighborSearch::kRadius;
        break;
      case v1::SEARCH_METHOD_DIRECT7:
        stage.search = NeighborSearch::kDirect7;
        break;
      case v1::SEARCH_METHOD_DIRECT1:
        stage.search = NeighborSearch::kDirect1;
        break;
      default:
        return Outside("overrides.search_method", overrides.search_method(), "from 0 to 3");
    }
  }
  return absl::OkStatus();
}

absl::Status OverrideNumbers(const v1::AlignmentOverrides& overrides, const Limits& limits,
                             Profile& profile) {
  for (Stage& stage : profile.stages) {
    if (overrides.has_max_iterations()) {
      const uint32_t value = overrides.max_iterations().value();
      if (value < 1 || value > limits.max_iterations) {
        return Outside("overrides.max_iterations", value,
                       absl::StrCat("from 1 to ", limits.max_iterations));
      }
      stage.max_iterations = static_cast<int>(value);
    }
    if (overrides.has_step_size_m()) {
      stage.max_step = overrides.step_size_m().value();
      absl::Status status = CheckRange("overrides.step_size_m", stage.max_step, kMinStep, kMaxStep);
      if (!status.ok()) return status;
    }
    if (overrides.has_transformation_epsilon()) {
      stage.epsilon = overrides.transformation_epsilon().value();
      absl::Status status =
          CheckRange("overrides.transformation_epsilon", stage.epsilon, 0.0, kMaxStep);
      if (!status.ok()) return status;
    }
    if (overrides.has_outlier_ratio()) {
      stage.outlier_ratio = overrides.outlier_ratio().value();
      absl::Status status =
          CheckRange("overrides.outlier_ratio", stage.outlier_ratio, kMinShare, kMaxShare);
      if (!status.ok()) return status;
    }
    if (overrides.has_step_floor()) stage.step_floor = overrides.step_floor().value();
  }
  return absl::OkStatus();
}

absl::Status ApplyOverrides(const v1::AlignmentOverrides& overrides, const Limits& limits,
                            AlignOptions& options) {
  if (absl::Status status = OverrideNumbers(overrides, limits, options.profile); !status.ok()) {
    return status;
  }
  if (absl::Status status = OverrideSearch(overrides, options.profile); !status.ok()) {
    return status;
  }
  if (overrides.degeneracy_aware().value()) {
    options.profile = AlongObservedDirections(std::move(options.profile));
  }
  const v1::RegularizationOptions& regularization = overrides.regularization();
  if (regularization.has_enable()) options.regularize = regularization.enable().value();
  if (regularization.has_scale_factor()) {
    const double scale = regularization.scale_factor().value();
    absl::Status status =
        CheckRange("overrides.regularization.scale_factor", scale, 0.0, kMaxFactor);
    if (!status.ok()) return status;
    options.profile.regularization_scale = scale;
  }
  if (regularization.has_score_includes_regularization()) {
    options.profile.score_includes_regularization =
        regularization.score_includes_regularization().value();
  }
  return absl::OkStatus();
}

absl::Status ApplyRule(v1::AcceptanceRule rule, AlignOptions& options) {
  switch (rule) {
    case v1::ACCEPTANCE_RULE_UNSPECIFIED:
      break;
    case v1::ACCEPTANCE_RULE_REFERENCE:
      options.profile.acceptance_rule = AcceptanceRule::kReference;
      break;
    case v1::ACCEPTANCE_RULE_STRICT:
      options.profile.acceptance_rule = AcceptanceRule::kStrict;
      break;
    default:
      return Outside("gate.rule", rule, "from 0 to 2");
  }
  if (options.profile.acceptance_rule == AcceptanceRule::kStrict) {
    options.limits.min_confidence = kStrictMinConfidence;
  }
  return absl::OkStatus();
}

absl::Status ApplyGate(const v1::GateOptions& gate, AlignOptions& options) {
  if (absl::Status status = ApplyRule(gate.rule(), options); !status.ok()) return status;
  if (absl::Status status = ApplyValidation(gate.validation(), options); !status.ok()) {
    return status;
  }
  switch (gate.score_type()) {
    case v1::SCORE_TYPE_UNSPECIFIED:
      break;
    case v1::SCORE_TYPE_TRANSFORM_PROBABILITY:
      options.profile.acceptance_score = ScoreKind::kTransformProbability;
      break;
    case v1::SCORE_TYPE_NVTL:
      options.profile.acceptance_score = ScoreKind::kNearestVoxelLikelihood;
      break;
    default:
      return Outside("gate.score_type", gate.score_type(), "from 0 to 2");
  }
  const struct {
    absl::string_view field;
    bool is_set;
    double value;
    double low;
    double high;
    double& option;
  } numbers[] = {
      {"gate.score_threshold", gate.has_score_threshold(), gate.score_threshold().value(),
       -kMaxScore, kMaxScore, options.profile.acceptance_threshold},
      {"gate.min_matched_ratio", gate.has_min_matched_ratio(), gate.min_matched_ratio().value(),
       0.0, 1.0, options.limits.min_matched_ratio},
      {"gate.min_confidence", gate.has_min_confidence(), gate.min_confidence().value(), 0.0, 1.0,
       options.limits.min_confidence},
      {"gate.rival_confidence", gate.has_rival_confidence(), gate.rival_confidence().value(), 0.0,
       1.0, options.rival_confidence},
      {"gate.odometry_drift", gate.has_odometry_drift(), gate.odometry_drift().value(), 0.0, 1.0,
       options.odometry_drift},
  };
  for (const auto& [field, is_set, value, low, high, option] : numbers) {
    if (!is_set) continue;
    if (absl::Status status = CheckRange(field, value, low, high); !status.ok()) return status;
    option = value;
  }
  return absl::OkStatus();
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
  auto covariance = CovarianceOptionsFromProto(options.covariance(), result.profile, result.sensor);
  if (!covariance.ok()) return covariance.status();
  result.covariance = *std::move(covariance);
  if (absl::Status status = ApplyOverrides(options.overrides(), config.limits, result);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = ApplyGate(options.gate(), result); !status.ok()) return status;
  if (absl::Status status = ValidateProfile(result.profile); !status.ok()) return status;
  return result;
}

absl::StatusOr<ScanFilters> ScanFiltersFromProto(const v1::ScanFilter& filter) {
  ScanFilters filters;
  for (const absl::Status& status :
       {CheckRange("filter.min_range_m", filter.min_range_m(), 0.0, kMaxLengthM),
        CheckRange("filter.max_range_m", filter.max_range_m(), 0.0, kMaxLengthM),
        CheckRange("filter.min_height_m", filter.min_height_m().value(), -kMaxLengthM, kMaxLengthM),
        CheckRange("filter.max_height_m", filter.max_height_m().value(), -kMaxLengthM, kMaxLengthM),
        CheckRangeOrZero("filter.voxel_leaf_m", filter.voxel_leaf_m(), kMinLeafM, kMaxLengthM,
                         "off")}) {
    if (!status.ok()) return status;
  }
  if (filter.min_range_m() > 0.0 || filter.max_range_m() > 0.0) {
    FilterOptions& sensor = filters.sensor.emplace();
    sensor.min_range_m = filter.min_range_m();
    if (filter.max_range_m() > 0.0) sensor.max_range_m = filter.max_range_m();
    if (absl::Status status = ValidateFilterOptions(sensor); !status.ok()) return status;
  }
  if (filter.has_min_height_m() || filter.has_max_height_m() || filter.has_box() ||
      filter.voxel_leaf_m() > 0.0 || filter.max_points() > 0) {
    FilterOptions& base = filters.base.emplace();
    if (filter.has_min_height_m()) base.min_height_m = filter.min_height_m().value();
    if (filter.has_max_height_m()) base.max_height_m = filter.max_height_m().value();
    if (filter.has_box()) {
      auto box = BoxFromProto(filter.box(), "filter.box");
      if (!box.ok()) return box.status();
      base.box = *box;
    }
    base.voxel_leaf_m = filter.voxel_leaf_m();
    base.max_points = filter.max_points();
    base.random_seed = filter.random_seed();
    if (absl::Status status = ValidateFilterOptions(base); !status.ok()) return status;
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
    absl::Status status = CheckRange("output.no_ground.z_margin_m", *choice.no_ground_z_margin_m,
                                     -kMaxLengthM, kMaxLengthM);
    if (!status.ok()) return status;
  }
  if (output.has_protection()) {
    const v1::ProtectionOptions& wanted = output.protection();
    ScanProtectionOptions& protection = choice.protection.emplace();
    if (wanted.has_risk()) protection.risk = wanted.risk().value();
    if (wanted.has_false_alarm()) protection.false_alarm = wanted.false_alarm().value();
    if (wanted.has_fault_probability()) {
      protection.fault_probability = wanted.fault_probability().value();
    }
    for (const absl::Status& status :
         {CheckRange("output.protection.risk", protection.risk, kMinProbability, kMaxShare),
          CheckRange("output.protection.false_alarm", protection.false_alarm, kMinProbability,
                     kMaxShare),
          CheckRangeOrZero("output.protection.fault_probability", protection.fault_probability,
                           kMinProbability, 1.0, "never")}) {
      if (!status.ok()) return status;
    }
    if (absl::Status status = ValidateScanProtectionOptions(protection); !status.ok()) {
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
  auto align = AlignOptionsFromProto(setup.options(), config);
  if (!align.ok()) return align.status();
  recipe.align = *std::move(align);
  auto filters = ScanFiltersFromProto(setup.filter());
  if (!filters.ok()) return filters.status();
  recipe.filters = *std::move(filters);
  auto choice = OutputFromProto(setup.output());
  if (!choice.ok()) return choice.status();
  recipe.output = *choice;
  if (setup.has_base_t_sensor()) {
    auto mount = MountFromProto(setup.base_t_sensor());
    if (!mount.ok()) return mount.status();
    recipe.base_T_sensor = *mount;
  }
  if (absl::Status status = CompleteRecipe(recipe); !status.ok()) return status;
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

}  // namespace voxloc::server
