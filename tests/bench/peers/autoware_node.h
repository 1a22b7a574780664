// SPDX-License-Identifier: Apache-2.0
//
// AutowareNode: Autoware's NDT under the rules of its node, without ROS. It does for a scan what
// callback_sensor_points_main of ndt_scan_matcher_core.cpp does with the default parameters, in the
// same order, from the conversion of the message to the verdict:
//   - A scan whose farthest point is nearer than 10 m is not aligned, nor is any without a map.
//   - The result is accepted if its NVTL exceeds 2.3, and if it took fewer than 30 iterations or
//     turned back more than 10 times in a row.
// Nothing else of the default node decides: delays, the distance from the guess and the time taken
// give warnings. The guess is what the node's buffer of poses would give at the scan's stamp. All
// tiles are loaded; the node loads those within 150 m, beyond what its scans see. Not thread-safe.

#ifndef VOXLOC_TESTS_BENCH_PEERS_AUTOWARE_NODE_H_
#define VOXLOC_TESTS_BENCH_PEERS_AUTOWARE_NODE_H_

#include <memory>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc::bench {

struct AutowareResult {
  bool aligned = false;  // otherwise only the time means something
  bool accepted = false;
  Pose map_T_base;
  double transform_probability = 0.0;
  double nvtl = 0.0;
  int iterations = 0;
  double time_ms = 0.0;  // from points in memory to the verdict: the node's exe_time_ms
};

class AutowareNode {
 public:
  AutowareNode(const std::vector<PointCloud>& map_tiles, int threads);
  ~AutowareNode();

  [[nodiscard]] AutowareResult Localize(const PointCloud& scan_base, const Pose& map_T_base_guess);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_PEERS_AUTOWARE_NODE_H_
