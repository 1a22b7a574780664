// SPDX-License-Identifier: Apache-2.0
//
// Scans and clouds on the wire: what a scan says besides its points, checked field by field, and
// clouds from bytes to structure of arrays in one pass, and back. Thread-safe: no shared state.
//
// Errors: InvalidArgument names the field, its value and what is allowed.

#ifndef VOXLOC_SERVER_CONVERT_SCAN_H_
#define VOXLOC_SERVER_CONVERT_SCAN_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"
#include "voxloc/v1/cloud.pb.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

// A scan of more clouds is malformed.
inline constexpr int kMaxClouds = 16;

// A cloud farther in time from its scan's stamp is malformed, seconds.
inline constexpr double kMaxCloudOffsetS = 1.0;

// Scan points farther than this from the sensor, on any axis, count as filtered out: no LiDAR sees
// so far, and the arithmetic behind stays within its ranges.
inline constexpr double kMaxScanReachM = 1e5;

// Times of points farther from their cloud's stamp than this count as not finite: no sweep lasts so
// long.
inline constexpr float kMaxPointTimeS = 1.0F;

// The number of points of all clouds. Looks at mounts and stamps too, and takes no time: it does
// not look at the points. `max_points` holds for the sum.
[[nodiscard]] absl::StatusOr<size_t> CheckScanClouds(const v1::Scan& scan, uint64_t max_points);

// The same of one cloud, without mounts and stamps.
[[nodiscard]] absl::StatusOr<size_t> CheckScanCloud(const v1::Cloud& cloud, uint64_t max_points);

// Whether any cloud of the scan has bytes.
[[nodiscard]] bool HasPointData(const v1::Scan& scan);

// Whether points of the scan have times that differ from its stamp.
[[nodiscard]] bool HasPointTimes(const v1::Scan& scan);

// Seconds from the scan's stamp to the cloud's.
[[nodiscard]] double CloudOffsetS(const v1::Scan& scan, const v1::SensorCloud& cloud);

// Optional inputs of a scan for its pose and time.
struct ScanHints {
  std::optional<Pose> guess_map_T_base;
  std::optional<Matrix6> guess_covariance;  // only with a guess
  std::optional<Matrix6> motion_covariance;
  std::optional<Pose> odom_T_base;
  std::optional<Twist> base_twist;
  std::optional<Eigen::Vector3d> reference_map;
  bool has_point_times = false;  // see HasPointTimes
  double timeout_s = 0.0;        // 0: the session's
  double age_s = 0.0;            // 0: not known
};
[[nodiscard]] absl::StatusOr<ScanHints> ScanHintsFromProto(const v1::Scan& scan);

// Whether the cloud's layout has a time for each point.
[[nodiscard]] bool CloudHasTimes(const v1::Cloud& cloud);

struct DecodedCloud {
  PointCloud cloud;           // finite points, in their order; without intensity
  std::vector<float> time_s;  // of each, after the cloud's stamp; empty: the layout has no times
  size_t received = 0;        // = cloud.size() + not_finite + out_of_reach
  size_t not_finite = 0;      // coordinates, or a time that is not finite or over kMaxPointTimeS
  size_t out_of_reach = 0;    // 0 for tiles
};

// The cloud must have passed CheckScanCloud.
[[nodiscard]] DecodedCloud DecodeScan(const v1::Cloud& cloud);

// Checks and decodes points of a map. InvalidArgument: malformed, or with times; ResourceExhausted:
// more than `max_bytes` of points.
[[nodiscard]] absl::StatusOr<DecodedCloud> DecodeTilePoints(const v1::Cloud& cloud,
                                                            uint64_t max_bytes);

// As CLOUD_LAYOUT_FLOAT32_XYZ around the cloud's origin: up to `most` points from `first` on.
void EncodeCloud(const PointCloud& cloud, v1::Cloud& proto, size_t first = 0,
                 size_t most = std::numeric_limits<size_t>::max());

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_SCAN_H_
