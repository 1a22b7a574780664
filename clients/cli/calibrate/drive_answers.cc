// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/calibrate/drive_answers.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "clients/dataset/summary.h"
#include "core/estimate/covariance/point_clusters.h"
#include "core/geometry/covariance.h"

namespace voxloc::cli {
namespace {

// 5 and 95 % of 200 repetitions have ten beyond them each.
constexpr size_t kRepetitions = 200;
constexpr size_t kBeyond = kRepetitions / 20;
// Few enough that a run is longer than what neighbours have in common, and enough of them to draw.
constexpr size_t kBlocks = 20;

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

std::vector<Estimated> WithIntervals(
    size_t count,
    const std::function<std::vector<double>(const std::vector<size_t>& indices)>& estimate) {
  std::vector<size_t> indices(count);
  std::iota(indices.begin(), indices.end(), size_t{0});
  std::vector<Estimated> results;
  for (const double value : estimate(indices)) results.push_back({value, value, value});
  const size_t block = std::max<size_t>(1, count / kBlocks);
  std::mt19937_64 random(1);  // no std distribution: those differ between standard libraries
  std::vector<std::vector<double>> drawn(results.size());
  for (size_t repetition = 0; repetition < kRepetitions; ++repetition) {
    indices.clear();
    while (indices.size() < count) {
      const size_t begin = static_cast<size_t>(random() % (count - block + 1));
      for (size_t i = 0; i < block && indices.size() < count; ++i) indices.push_back(begin + i);
    }
    const std::vector<double> values = estimate(indices);
    for (size_t k = 0; k < drawn.size(); ++k) drawn[k].push_back(values[k]);
  }
  for (size_t k = 0; k < drawn.size(); ++k) {
    std::sort(drawn[k].begin(), drawn[k].end());
    results[k].low = drawn[k][kBeyond];
    results[k].high = drawn[k][kRepetitions - 1 - kBeyond];
  }
  return results;
}

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
  const auto factor = [&distances](const std::vector<size_t>& indices) {
    std::vector<double> drawn;
    for (const size_t i : indices) drawn.push_back(distances[i]);
    return std::vector<double>{Summarize(std::move(drawn)).p50 / kMedianOfSix};
  };
  return WithIntervals(scans.size(), factor).front();
}

}  // namespace voxloc::cli
