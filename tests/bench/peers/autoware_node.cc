// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/peers/autoware_node.h"

#include <algorithm>
#include <cmath>
#include <src/ndt_scan_matcher_helper.hpp>

#include "absl/strings/str_cat.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/peers/autoware_ndt.h"

namespace voxloc::bench {
namespace {

// Of ndt_scan_matcher.param.yaml; the last is a constant of ndt_scan_matcher_core.cpp.
constexpr double kRequiredDistanceM = 10.0;
constexpr double kNvtlThreshold = 2.3;
constexpr int kOscillationThreshold = 10;

int CountOscillation(const pclomp::NdtResult& result) {
  std::vector<geometry_msgs::msg::Pose> poses;
  for (const Eigen::Matrix4f& pose : result.transformation_array) {
    poses.push_back({{pose(0, 3), pose(1, 3), pose(2, 3)}});
  }
  return autoware::ndt_scan_matcher::count_oscillation(poses);
}

}  // namespace

struct AutowareNode::State {
  AutowareNdt ndt;
};

AutowareNode::AutowareNode(const std::vector<PointCloud>& map_tiles, int threads)
    : state_(std::make_unique<State>()) {
  state_->ndt.setParams(AutowareParams(threads));
  for (size_t i = 0; i < map_tiles.size(); ++i) {
    state_->ndt.addTarget(ToAutoware(map_tiles[i]), absl::StrCat(i));
  }
  state_->ndt.createVoxelKdtree();
}

AutowareNode::~AutowareNode() = default;

AutowareResult AutowareNode::Localize(const PointCloud& scan_base, const Pose& map_T_base_guess) {
  AutowareNdt& ndt = state_->ndt;
  AutowareResult result;
  result.time_ms = TimeMs([&] {
    const AutowareCloud::Ptr scan = ToAutoware(scan_base);
    double max_distance = 0.0;
    for (const pcl::PointXYZ& point : *scan) {
      max_distance =
          std::max(max_distance, static_cast<double>(std::hypot(point.x, point.y, point.z)));
    }
    if (max_distance < kRequiredDistanceM || !ndt.hasTarget()) return;
    AutowareCloud moved;
    ndt.align(moved, ToAutoware(map_T_base_guess), scan);
    const pclomp::NdtResult found = ndt.getResult();
    result.aligned = true;
    result.map_T_base = FromAutoware(found.pose);
    result.transform_probability = found.transform_probability;
    result.nvtl = found.nearest_voxel_transformation_likelihood;
    result.iterations = found.iteration_num;
    result.accepted = (found.iteration_num < ndt.getMaximumIterations() ||
                       CountOscillation(found) > kOscillationThreshold) &&
                      result.nvtl > kNvtlThreshold;
  });
  return result;
}

}  // namespace voxloc::bench
