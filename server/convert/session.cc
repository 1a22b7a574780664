// SPDX-License-Identifier: Apache-2.0

#include "server/convert/session.h"

#include "core/status/try.h"
#include "core/text/number_range.h"
#include "server/convert/pose.h"
#include "server/convert/range.h"

namespace voxloc::server {
namespace {

constexpr double kMinRecoveryRadiusM = 1e-3;
constexpr double kMaxRecoveryRadiusM = 1000.0;
constexpr uint32_t kMaxConfirmationScans = 1000;

}  // namespace

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
  VOXLOC_TRY(CheckRangeOrZero("recovery.false_confirmation_rate", options.false_confirmation_rate(),
                              kMinProbability, kMaxShare, "the default"));
  constexpr NumberRange kRadius = FromTo(kMinRecoveryRadiusM, kMaxRecoveryRadiusM);
  VOXLOC_TRY(CheckRanges({{"recovery.initial_radius_m", result.initial_radius_m, kRadius},
                          {"recovery.max_radius_m", result.max_radius_m, kRadius},
                          {"recovery.min_confirmation_travel_m", result.min_confirmation_travel_m,
                           FromTo(0.0, kMaxLengthM)}}));
  VOXLOC_TRY(CheckRanges({{"recovery.max_confirmation_scans", options.max_confirmation_scans(),
                           NumberRange().AtMost(kMaxConfirmationScans)}}));
  if (options.max_confirmation_scans() > 0) {
    result.confirmation.max_observations = static_cast<int>(options.max_confirmation_scans());
  }
  VOXLOC_TRY(PrefixField("recovery", ValidateRecoveryOptions(result)));
  return result;
}

absl::StatusOr<AccumulationOptions> AccumulationFromProto(const v1::ScanAccumulation& options,
                                                          const Limits& limits) {
  AccumulationOptions result;
  result.max_scans = options.scans();
  if (options.max_age_s() != 0.0) result.max_age_s = options.max_age_s();
  if (options.max_distance_m() != 0.0) result.max_distance_m = options.max_distance_m();
  result.max_points = limits.max_accumulated_points;
  VOXLOC_TRY(CheckRangeOrZero("accumulation.max_age_s", options.max_age_s(), kMinLimit, kMaxSeconds,
                              "the default"));
  VOXLOC_TRY(PrefixField("accumulation", ValidateAccumulationOptions(result)));
  return result;
}

absl::StatusOr<OdometryErrors> OdometryErrorsFromProto(const v1::FusionOptions& options) {
  OdometryErrors errors;
  const auto assign = [](bool has, const google::protobuf::DoubleValue& option, double& value) {
    if (has) value = option.value();
  };
  assign(options.has_scale_sigma(), options.scale_sigma(), errors.scale_sigma);
  assign(options.has_position_sigma_per_metre(), options.position_sigma_per_metre(),
         errors.position_sigma_per_metre);
  assign(options.has_rotation_sigma_per_metre(), options.rotation_sigma_per_metre(),
         errors.rotation_sigma_per_metre);
  assign(options.has_rotation_sigma_per_radian(), options.rotation_sigma_per_radian(),
         errors.rotation_sigma_per_radian);
  assign(options.has_yaw_rate_bias_sigma_radps(), options.yaw_rate_bias_sigma_radps(),
         errors.yaw_rate_bias_sigma_radps);
  VOXLOC_TRY(PrefixField("fusion", ValidateOdometryErrors(errors)));
  return errors;
}

}  // namespace voxloc::server
