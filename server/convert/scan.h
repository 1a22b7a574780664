// SPDX-License-Identifier: Apache-2.0
//
// Scans on the wire: what they say besides their points, checked field by field. Thread-safe: no
// shared state.
//
// Errors: InvalidArgument names the field, its value and what is allowed.

#ifndef VOXLOC_SERVER_CONVERT_SCAN_H_
#define VOXLOC_SERVER_CONVERT_SCAN_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

// A scan of more clouds is malformed.
inline constexpr int kMaxClouds = 16;

// A cloud farther in time from its scan's stamp is malformed, seconds.
inline constexpr double kMaxCloudOffsetS = 1.0;

// The number of points of all clouds. Looks at mounts and stamps too, and takes no time: it does
// not look at the points. `max_points` holds for the sum.
[[nodiscard]] absl::StatusOr<size_t> CheckScanClouds(const v1::Scan& scan, uint64_t max_points);

// Whether any cloud of the scan has bytes.
[[nodiscard]] bool HasPointData(const v1::Scan& scan);

// Seconds from the scan's stamp to the cloud's.
[[nodiscard]] double CloudOffsetS(const v1::Scan& scan, const v1::SensorCloud& cloud);

// Optional inputs of a scan for its pose and time.
struct ScanHints {
  std::optional<Pose> guess_map_T_base;
  std::optional<Matrix6> guess_covariance;  // only with a guess
  std::optional<Pose> odom_T_base;
  std::optional<Twist> base_twist;
  std::optional<Eigen::Vector3d> reference_map;
  double timeout_s = 0.0;  // 0: the session's
  double age_s = 0.0;      // 0: not known
};
[[nodiscard]] absl::StatusOr<ScanHints> ScanHintsFromProto(const v1::Scan& scan);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_SCAN_H_
