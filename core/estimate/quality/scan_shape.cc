// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/scan_shape.h"

#include "core/estimate/quality/ground_grid.h"

namespace voxloc {
namespace {

constexpr float kRaisedScanPoint_m = 0.7F;

std::vector<uint8_t> FindRaised(const PointCloud& scan_base, const Eigen::Quaterniond& map_R_base) {
  const Eigen::Matrix3f turn = map_R_base.toRotationMatrix().cast<float>();
  std::vector<Eigen::Vector3f> level(scan_base.size());
  for (size_t i = 0; i < scan_base.size(); ++i) level[i] = turn * scan_base.Offset(i);
  const GroundGrid ground(level);
  std::vector<uint8_t> raised(scan_base.size(), 0);
  for (size_t i = 0; i < scan_base.size(); ++i) {
    if (level[i].allFinite() && ground.HeightOf(level[i]) > kRaisedScanPoint_m) raised[i] = 1;
  }
  return raised;
}

}  // namespace

ScanShape ShapeOf(const PointCloud& scan_base, const ScanRays& rays,
                  const Eigen::Quaterniond& map_R_base) {
  const PointCloud& seen_base = rays.points_base == nullptr ? scan_base : *rays.points_base;
  return {FindRaised(scan_base, map_R_base), SampleFreeSpace(seen_base, rays.sensor_position_base)};
}

}  // namespace voxloc
