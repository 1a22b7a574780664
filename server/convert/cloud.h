// SPDX-License-Identifier: Apache-2.0
//
// Clouds on the wire: from bytes to structure of arrays in one pass, and back. Thread-safe: no
// shared state.

#ifndef VOXLOC_SERVER_CONVERT_CLOUD_H_
#define VOXLOC_SERVER_CONVERT_CLOUD_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/cloud.pb.h"

namespace voxloc::server {

// Scan points farther than this from the sensor, on any axis, count as filtered out: no LiDAR sees
// so far, and the arithmetic behind stays within its ranges.
inline constexpr double kMaxScanReachM = 1e5;

// Times of points farther from their cloud's stamp than this count as not finite: no sweep lasts so
// long.
inline constexpr float kMaxPointTimeS = 1.0F;

// The number of points. InvalidArgument: malformed, or more than `max_points`. Takes no time: it
// does not look at the points.
[[nodiscard]] absl::StatusOr<size_t> CheckScanCloud(const v1::Cloud& cloud, uint64_t max_points);

// Whether its layout has a time a point.
[[nodiscard]] bool CloudHasTimes(const v1::Cloud& cloud);

struct DecodedCloud {
  PointCloud cloud;           // finite points, in their order; without intensity
  std::vector<float> time_s;  // of each, after the cloud's stamp; empty: the layout has no times
  size_t received = 0;        // = cloud.size() + not_finite + out_of_reach
  size_t not_finite = 0;      // coordinates, or a time that is not finite or over kMaxPointTimeS
  size_t out_of_reach = 0;    // 0 for tiles
};

// Of a cloud that CheckScanCloud has passed.
[[nodiscard]] DecodedCloud DecodeScan(const v1::Cloud& cloud);

// Checks and decodes points of a map. InvalidArgument: malformed, or with times; ResourceExhausted:
// more than `max_bytes` of points.
[[nodiscard]] absl::StatusOr<DecodedCloud> DecodeTilePoints(const v1::Cloud& cloud,
                                                            uint64_t max_bytes);

// As CLOUD_LAYOUT_FLOAT32_XYZ around the cloud's origin.
void EncodeCloud(const PointCloud& cloud, v1::Cloud& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_CLOUD_H_
