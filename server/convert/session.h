// SPDX-License-Identifier: Apache-2.0
//
// The options of a session that its scans do not have: how it looks for a lost vehicle, joins
// scans, and fuses them with odometry. Thread-safe: no shared state.
//
// Errors: InvalidArgument names the field, its value and what is allowed.

#ifndef VOXLOC_SERVER_CONVERT_SESSION_H_
#define VOXLOC_SERVER_CONVERT_SESSION_H_

#include "absl/status/statusor.h"
#include "core/tracking/pose_buffer.h"
#include "core/tracking/pose_filter.h"
#include "core/tracking/recovery.h"
#include "server/config/config.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::server {

[[nodiscard]] absl::StatusOr<RecoveryOptions> RecoveryOptionsFromProto(
    const v1::RecoveryOptions& options, const Limits& limits);

[[nodiscard]] absl::StatusOr<AccumulationOptions> AccumulationFromProto(
    const v1::ScanAccumulation& options, const Limits& limits);

[[nodiscard]] absl::StatusOr<OdometryErrors> OdometryErrorsFromProto(
    const v1::FusionOptions& options);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_SESSION_H_
