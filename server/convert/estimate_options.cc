// SPDX-License-Identifier: Apache-2.0

#include "server/convert/estimate_options.h"

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "server/convert/covariance.h"
#include "server/convert/range.h"

namespace voxloc::server {
namespace {

constexpr double kMinRecoveryRadiusM = 1e-3;
constexpr double kMaxRecoveryRadiusM = 1000.0;
// Of the poses around a result, along each axis.
constexpr double kMaxOffsetM = 100.0;
constexpr uint32_t kMaxConfirmationScans = 1000;
// Of seconds and metres that must be over 0: a nanosecond is what stamps can tell apart.
constexpr double kMinLimit = 1e-9;

absl::Status InField(absl::string_view field, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(field, ".", status.message()));
}

absl::StatusOr<CovarianceMethod> MethodFromProto(v1::CovarianceMethod method,
                                                 const Profile& profile) {
  switch (method) {
    case v1::COVARIANCE_METHOD_UNSPECIFIED:
      return profile.name == AutowareProfile().name ? CovarianceMethod::kFixed
                                                    : CovarianceMethod::kCalibrated;
    case v1::COVARIANCE_METHOD_FIXED:
      return CovarianceMethod::kFixed;
    case v1::COVARIANCE_METHOD_LAPLACE:
      return CovarianceMethod::kLaplace;
    case v1::COVARIANCE_METHOD_MULTI_NDT:
      return CovarianceMethod::kMultiNdt;
    case v1::COVARIANCE_METHOD_MULTI_NDT_SCORE:
      return CovarianceMethod::kMultiNdtScore;
    case v1::COVARIANCE_METHOD_CALIBRATED:
      return CovarianceMethod::kCalibrated;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("covariance.method must be from 0 to 5 (got ", method, ")"));
  }
}

// A limit that may be unset.
absl::Status TakeLimit(absl::string_view field, bool is_set,
                       const google::protobuf::DoubleValue& wrapper, double low, double high,
                       double& limit) {
  if (!is_set) return absl::OkStatus();
  limit = wrapper.value();
  return CheckRange(absl::StrCat("gate.validation.", field), limit, low, high);
}

absl::Status TakeCounts(const v1::ValidationOptions& validation, GateOptions& gate) {
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
        absl::StrCat(name, " must have 3 values or none (got ", values.size(), ")"));
  }
  three = {values[0], values[1], values[2]};
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CovarianceOptions> CovarianceOptionsFromProto(const v1::CovarianceOptions& options,
                                                             const Profile& profile,
                                                             const SensorCalibration& sensor) {
  CovarianceOptions result;
  auto method = MethodFromProto(options.method(), profile);
  if (!method.ok()) return method.status();
  result.method = *method;
  result.systematic = sensor.systematic();
  // It was learnt of the scan part of this method.
  if (result.method == CovarianceMethod::kCalibrated) {
    result.scale_factor = sensor.scan_scale.value;
  }
  auto fixed = CovarianceFromProto(options.fixed_covariance(), "covariance.fixed_covariance");
  if (!fixed.ok()) return fixed.status();
  if (fixed->has_value()) result.fixed = **fixed;
  if (options.offset_x_m_size() != options.offset_y_m_size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "covariance.offset_x_m and offset_y_m must have the same number of values (got ",
        options.offset_x_m_size(), " and ", options.offset_y_m_size(), ")"));
  }
  if (options.offset_x_m_size() > 0) {
    result.offsets_base.clear();
    for (int i = 0; i < options.offset_x_m_size(); ++i) {
      for (const absl::Status& status :
           {CheckRange("covariance.offset_x_m", options.offset_x_m(i), -kMaxOffsetM, kMaxOffsetM),
            CheckRange("covariance.offset_y_m", options.offset_y_m(i), -kMaxOffsetM,
                       kMaxOffsetM)}) {
        if (!status.ok()) return status;
      }
      result.offsets_base.emplace_back(options.offset_x_m(i), options.offset_y_m(i));
    }
  }
  if (options.has_temperature()) result.temperature = options.temperature().value();
  if (options.has_scale_factor()) result.scale_factor = options.scale_factor().value();
  for (const absl::Status& status :
       {CheckRange("covariance.temperature", result.temperature, kMinFactor, kMaxFactor),
        CheckRange("covariance.scale_factor", result.scale_factor, kMinFactor, kMaxFactor)}) {
    if (!status.ok()) return status;
  }
  for (const absl::Status& status :
       {ReadThree(options.systematic_position_sigma_m(), "systematic_position_sigma_m",
                  result.systematic.position_sigma_m),
        ReadThree(options.systematic_rotation_sigma_rad(), "systematic_rotation_sigma_rad",
                  result.systematic.rotation_sigma_rad)}) {
    if (!status.ok()) return InField("covariance", status);
  }
  if (options.has_systematic_time_sigma_s()) {
    result.systematic.time_sigma_s = options.systematic_time_sigma_s().value();
  }
  if (options.has_systematic_skew_sigma_s()) {
    result.systematic.skew_sigma_s = options.systematic_skew_sigma_s().value();
  }
  if (absl::Status status = InField("covariance", ValidateCovarianceOptions(result));
      !status.ok()) {
    return status;
  }
  return result;
}

absl::Status ApplyValidation(const v1::ValidationOptions& validation, AlignOptions& options) {
  const v1::ValidationOptions& v = validation;
  GateOptions gate;
  if (options.profile.name != AutowareProfile().name) gate.required_distance_m = 0.0;
  const struct {
    absl::string_view field;
    bool is_set;
    const google::protobuf::DoubleValue& value;
    double low;
    double high;
    double& limit;
  } limits[] = {
      {"required_distance_m", v.has_required_distance_m(), v.required_distance_m(), 0.0,
       kMaxLengthM, gate.required_distance_m},
      {"guess_timeout_s", v.has_guess_timeout_s(), v.guess_timeout_s(), kMinLimit, kMaxSeconds,
       options.guess_timeout_s},
      {"guess_distance_tolerance_m", v.has_guess_distance_tolerance_m(),
       v.guess_distance_tolerance_m(), kMinLimit, kMaxLengthM, options.guess_distance_tolerance_m},
      {"initial_to_result_distance_tolerance_m", v.has_initial_to_result_distance_tolerance_m(),
       v.initial_to_result_distance_tolerance_m(), 0.0, kMaxLengthM,
       gate.initial_to_result_distance_tolerance_m},
      {"max_execution_time_s", v.has_max_execution_time_s(), v.max_execution_time_s(), 0.0,
       kMaxSeconds, gate.max_execution_time_s},
      {"max_delay_s", v.has_max_delay_s(), v.max_delay_s(), 0.0, kMaxSeconds, gate.timeout_s},
  };
  for (const auto& [field, is_set, value, low, high, limit] : limits) {
    if (absl::Status status = TakeLimit(field, is_set, value, low, high, limit); !status.ok()) {
      return status;
    }
  }
  if (absl::Status status = TakeCounts(validation, gate); !status.ok()) return status;
  options.gate = gate;
  return absl::OkStatus();
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
  for (const absl::Status& status :
       {CheckRangeOrZero("recovery.false_confirmation_rate", options.false_confirmation_rate(),
                         kMinProbability, kMaxShare, "the default"),
        CheckRange("recovery.initial_radius_m", result.initial_radius_m, kMinRecoveryRadiusM,
                   kMaxRecoveryRadiusM),
        CheckRange("recovery.max_radius_m", result.max_radius_m, kMinRecoveryRadiusM,
                   kMaxRecoveryRadiusM),
        CheckRange("recovery.min_confirmation_travel_m", result.min_confirmation_travel_m, 0.0,
                   kMaxLengthM)}) {
    if (!status.ok()) return status;
  }
  if (options.max_confirmation_scans() > kMaxConfirmationScans) {
    return absl::InvalidArgumentError(
        absl::StrCat("recovery.max_confirmation_scans must be at most ", kMaxConfirmationScans,
                     " (got ", options.max_confirmation_scans(), ")"));
  }
  if (options.max_confirmation_scans() > 0) {
    result.confirmation.max_observations = static_cast<int>(options.max_confirmation_scans());
  }
  if (absl::Status status = InField("recovery", ValidateRecoveryOptions(result)); !status.ok()) {
    return status;
  }
  return result;
}

absl::StatusOr<AccumulationOptions> AccumulationFromProto(const v1::ScanAccumulation& options,
                                                          const Limits& limits) {
  AccumulationOptions result;
  result.max_scans = options.scans();
  if (options.max_age_s() != 0.0) result.max_age_s = options.max_age_s();
  if (options.max_distance_m() != 0.0) result.max_distance_m = options.max_distance_m();
  result.max_points = limits.max_accumulated_points;
  absl::Status age = CheckRangeOrZero("accumulation.max_age_s", options.max_age_s(), kMinLimit,
                                      kMaxSeconds, "the default");
  if (!age.ok()) return age;
  if (absl::Status status = InField("accumulation", ValidateAccumulationOptions(result));
      !status.ok()) {
    return status;
  }
  return result;
}

}  // namespace voxloc::server
