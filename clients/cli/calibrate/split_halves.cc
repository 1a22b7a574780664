// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/calibrate/split_halves.h"

#include <Eigen/Cholesky>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "clients/dataset/summary.h"
#include "core/estimate/covariance/point_clusters.h"
#include "core/geometry/covariance.h"

namespace voxloc::cli {
namespace {

// Median of chi squared with six degrees of freedom.
constexpr double kMedianOfSix = 5.34812;

double SquaredDistance(const HalvesAnswer& scan) {
  const Eigen::Matrix<double, 6, 1> difference =
      FixedAxesDifference(scan.first.map_T_base, scan.second.map_T_base);
  const Eigen::LLT<Matrix6> factor(scan.first.covariance + scan.second.covariance);
  if (factor.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
  return difference.dot(factor.solve(difference));
}

}  // namespace

std::pair<PointCloud, PointCloud> CutInHalves(const PointCloud& scan) {
  std::pair<PointCloud, PointCloud> halves;
  const PointGroups clusters = ClusterPoints(scan);
  if (clusters.ends.size() < 2) return halves;
  halves.first.origin = halves.second.origin = scan.origin;
  size_t next = 0;
  for (size_t cluster = 0; cluster < clusters.ends.size(); ++cluster) {
    PointCloud& half = cluster % 2 == 0 ? halves.first : halves.second;
    for (; next < clusters.ends[cluster]; ++next) {
      const uint32_t i = clusters.places[next];
      half.PushBack(scan.x[i], scan.y[i], scan.z[i]);
    }
  }
  return halves;
}

Estimated ScanPartFactor(const std::vector<HalvesAnswer>& scans) {
  std::vector<double> distances;
  for (const HalvesAnswer& scan : scans) distances.push_back(SquaredDistance(scan));
  const auto factor = [&distances](const std::vector<size_t>& places) {
    std::vector<double> drawn;
    for (const size_t place : places) drawn.push_back(distances[place]);
    return std::vector<double>{Summarize(std::move(drawn)).p50 / kMedianOfSix};
  };
  return WithIntervals(scans.size(), factor).front();
}

}  // namespace voxloc::cli
