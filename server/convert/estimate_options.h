// SPDX-License-Identifier: Apache-2.0
//
// Options on the wire of what is built around an alignment: its covariance, the checks, the search
// for a lost vehicle, the earlier scans that are joined. Thread-safe: no shared state.
//
// InvalidArgument names the field, its value and what is allowed.

#ifndef VOXLOC_SERVER_CONVERT_ESTIMATE_OPTIONS_H_
#define VOXLOC_SERVER_CONVERT_ESTIMATE_OPTIONS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/tracking/recovery.h"
#include "core/tracking/scan_history.h"
#include "server/config/config.h"
#include "server/convert/scan_recipe.h"
#include "voxloc/v1/localization_service.pb.h"
#include "voxloc/v1/options.pb.h"

namespace voxloc::server {

// `profile` names the method and the required distance of requests that do not; what else they do
// not set is the sensor's.
[[nodiscard]] absl::StatusOr<CovarianceOptions> CovarianceOptionsFromProto(
    const v1::CovarianceOptions& options, const Profile& profile, const SensorCalibration& sensor);

// Sets `gate` and the limits of guesses. `options.profile` has been set.
[[nodiscard]] absl::Status ApplyValidation(const v1::ValidationOptions& validation,
                                           AlignOptions& options);

[[nodiscard]] absl::StatusOr<RecoveryOptions> RecoveryOptionsFromProto(
    const v1::RecoveryOptions& options, const Limits& limits);

[[nodiscard]] absl::StatusOr<AccumulationOptions> AccumulationFromProto(
    const v1::ScanAccumulation& options, const Limits& limits);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_ESTIMATE_OPTIONS_H_
