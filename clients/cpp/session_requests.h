// SPDX-License-Identifier: Apache-2.0
//
// The messages that a session sends, and the outcomes that it has to make itself. Included by this
// library's sources only. Thread-safe: no shared state.

#ifndef VOXLOC_CLIENTS_CPP_SESSION_REQUESTS_H_
#define VOXLOC_CLIENTS_CPP_SESSION_REQUESTS_H_

#include <Eigen/Core>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cpp/session.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::client {

// Without a sequence number. InvalidArgument: not exactly one cloud.
[[nodiscard]] absl::StatusOr<v1::AlignScansRequest> ScanRequest(const ScanInput& scan);

[[nodiscard]] v1::AlignScansRequest PoseRequest(int64_t stamp_ns, const Pose& map_T_base,
                                                const std::optional<Matrix6>& covariance);
[[nodiscard]] v1::AlignScansRequest ReferenceRequest(int64_t stamp_ns,
                                                     const Eigen::Vector3d& position_map);
[[nodiscard]] v1::AlignScansRequest ActivateRequest(bool active);
[[nodiscard]] v1::AlignScansRequest ConfigureRequest(const v1::ScanSetup& setup);

// The result of a scan that the session gives up.
[[nodiscard]] v1::AlignmentResult LocalOutcome(const v1::Scan& scan, v1::AlignmentStatus status,
                                               absl::string_view detail);

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_SESSION_REQUESTS_H_
