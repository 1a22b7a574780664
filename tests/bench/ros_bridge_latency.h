// SPDX-License-Identifier: Apache-2.0
//
// Latency added by the ROS bridge: the time from the cloud's callback to the publication of its
// pose, minus the round trip of the same scan through the client library. The server is in this
// process and answers at once.

#ifndef VOXLOC_TESTS_BENCH_ROS_BRIDGE_LATENCY_H_
#define VOXLOC_TESTS_BENCH_ROS_BRIDGE_LATENCY_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/pointcloud2/point_cloud2.h"

namespace voxloc::bench {

// Of each scan, milliseconds of wall time.
struct RosBridgeTimes {
  std::vector<double> bridge_ms;      // callback to publication
  std::vector<double> round_trip_ms;  // of the encoded scan
  std::vector<double> added_ms;       // the difference of the two, which follow each other
};

// Of `repeat` scans, encoded as by default; one more before them is not counted. Unavailable: no
// answer within 30 s.
[[nodiscard]] absl::StatusOr<RosBridgeTimes> MeasureRosBridge(const ros::PointCloud2View& cloud,
                                                              size_t repeat);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_ROS_BRIDGE_LATENCY_H_
