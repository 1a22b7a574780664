// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/cluster_covariance.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "core/geometry/covariance.h"
#include "core/ndt/chart_derivatives.h"

namespace voxloc {
namespace {

constexpr size_t kMinClusterPoints = 4;

struct alignas(16) PlacedPoint {
  float offset[3];  // from the scan's origin
  uint32_t place;   // in the scan
};

// The longest edge of the points' box.
struct Edge {
  size_t axis = 0;
  float low = 0.0F;
  float length = 0.0F;
};

Edge LongestEdgeOf(absl::Span<const PlacedPoint> points) {
  const auto coordinates = [&points](size_t i) {
    Eigen::Array4f array;  // with the place as a fourth, which does not count
    std::memcpy(array.data(), &points[i], sizeof array);
    return array;
  };
  // Even and odd points apart, since each minimum waits for the one before.
  Eigen::Array4f low = coordinates(0);
  Eigen::Array4f high = low;
  Eigen::Array4f odd_low = low;
  Eigen::Array4f odd_high = low;
  for (size_t i = points.size() % 2; i < points.size(); i += 2) {
    low = low.min(coordinates(i));
    high = high.max(coordinates(i));
    odd_low = odd_low.min(coordinates(i + 1));
    odd_high = odd_high.max(coordinates(i + 1));
  }
  low = low.min(odd_low);
  high = high.max(odd_high);
  Edge edge;
  edge.length = (high - low).head<3>().maxCoeff(&edge.axis);
  edge.low = low[static_cast<Eigen::Index>(edge.axis)];
  return edge;
}

// Buffers of a split, each as large as all points together.
struct SplitBuffers {
  explicit SplitBuffers(size_t points) : bins(points), below(points), middle(points) {}

  std::vector<uint8_t> bins;
  std::vector<PlacedPoint> below;
  std::vector<PlacedPoint> middle;
};

// Divides the points along this edge into bins of equal length, and gives each its bin. The bin
// that holds the nth point.
uint8_t FillBins(absl::Span<const PlacedPoint> points, const Edge& edge, size_t nth,
                 std::vector<uint8_t>& bins) {
  constexpr size_t kBins = 64;
  const float bins_per_m =
      edge.length > 0.0F ? std::min(kBins / edge.length, std::numeric_limits<float>::max()) : 0.0F;
  // Counters of even and of odd points, since neighbours in the scan often share their bin, and
  // each increment waits for the one before.
  std::array<uint32_t, kBins> counts{};
  std::array<uint32_t, kBins> odd_counts{};
  uint8_t* const bin_of = bins.data();
  const auto fill = [&](size_t i, std::array<uint32_t, kBins>& counters) {
    // The last bin also where the length overflows, since then the product is not a number.
    const float bin =
        std::min(float{kBins - 1}, (points[i].offset[edge.axis] - edge.low) * bins_per_m);
    bin_of[i] = static_cast<uint8_t>(static_cast<int32_t>(bin));
    ++counters[bin_of[i]];
  };
  for (size_t i = 0; i + 1 < points.size(); i += 2) {
    fill(i, counts);
    fill(i + 1, odd_counts);
  }
  if (points.size() % 2 == 1) fill(points.size() - 1, counts);
  uint8_t bin = 0;
  for (size_t below = 0; (below += counts[bin] + odd_counts[bin]) <= nth;) ++bin;
  return bin;
}

// What std::nth_element does along the longest axis, where points that share a coordinate ascend by
// place. Its branches are not predictable for points in no order, which costs most of its time: it
// gets the points of one bin, and all others move without a branch that depends on them.
void Select(absl::Span<PlacedPoint> points, size_t nth, SplitBuffers& buffers) {
  const Edge edge = LongestEdgeOf(points);
  const uint8_t middle_bin = FillBins(points, edge, nth, buffers.bins);
  size_t below = 0;
  size_t middle = 0;
  size_t above = 0;  // to the front of `points`, which has been read
  for (size_t i = 0; i < points.size(); ++i) {
    const PlacedPoint point = points[i];
    const uint8_t bin = buffers.bins[i];
    buffers.below[below] = point;
    buffers.middle[middle] = point;
    points[above] = point;
    below += static_cast<size_t>(bin < middle_bin);
    middle += static_cast<size_t>(bin == middle_bin);
    above += static_cast<size_t>(bin > middle_bin);
  }
  std::copy_backward(points.begin(), points.begin() + above, points.end());
  std::copy_n(buffers.below.begin(), below, points.begin());
  const auto in_middle = points.begin() + below;
  std::copy_n(buffers.middle.begin(), middle, in_middle);
  std::nth_element(in_middle, points.begin() + nth, in_middle + middle,
                   [axis = edge.axis](const PlacedPoint& a, const PlacedPoint& b) {
                     if (a.offset[axis] != b.offset[axis]) return a.offset[axis] < b.offset[axis];
                     return a.place < b.place;
                   });
}

// Gives each point its cluster, by its place; clusters are counted from `first` on.
void SplitIntoClusters(absl::Span<PlacedPoint> points, size_t parts, size_t first,
                       SplitBuffers& buffers, std::vector<uint8_t>& cluster_of) {
  if (parts == 1) {
    for (const PlacedPoint& point : points) cluster_of[point.place] = static_cast<uint8_t>(first);
    return;
  }
  const size_t half = points.size() / 2;
  Select(points, half, buffers);
  SplitIntoClusters(points.subspan(0, half), parts / 2, first, buffers, cluster_of);
  SplitIntoClusters(points.subspan(half), parts / 2, first + parts / 2, buffers, cluster_of);
}
static_assert(kMaxPointGroups <= 256, "clusters are counted in bytes");

// A power of two, since points are halved.
size_t ClusterCount(size_t points) {
  size_t parts = 1;
  while (2 * parts <= kMaxPointGroups && points / (2 * parts) >= kMinClusterPoints) parts *= 2;
  return parts;
}

// A cluster that holds nearly all information about a direction leaves this share of it.
constexpr double kMinRemaining = 0.1;
// Least standard deviation, of a scan without noise in a map without.
constexpr double kMinSigmaM = 1e-6;

// (I - leverage)^-1/2 g, where no eigenvalue of I - leverage counts for less than kMinRemaining.
// Any square root makes the variance of g, which is in proportion to I - leverage, that of the
// noise.
Vector6 CorrectLeverage(const Matrix6& leverage, const Vector6& gradient) {
  const Matrix6 rest = Matrix6::Identity() - leverage;
  // The norm bounds the eigenvalues of the leverage: then none of the rest is less.
  if (leverage.squaredNorm() <= (1.0 - kMinRemaining) * (1.0 - kMinRemaining)) {
    return rest.llt().matrixL().solve(gradient);
  }
  const SymmetricEigen<6> eigen = DecomposeSymmetric(rest);
  const Vector6 inverse = eigen.values.cwiseMax(kMinRemaining).cwiseInverse().cwiseSqrt();
  return eigen.vectors * inverse.cwiseProduct(eigen.vectors.transpose() * gradient);
}

// The clusters in coordinates in which the information is the identity. There is nothing along a
// column of zeros.
std::vector<ScoreTerms> Whitened(absl::Span<const ScoreTerms> clusters, const Matrix6& whitening) {
  std::vector<ScoreTerms> white;
  white.reserve(clusters.size());
  for (const ScoreTerms& cluster : clusters) {
    white.push_back({whitening.transpose() * cluster.gradient,
                     whitening.transpose() * cluster.information * whitening});
  }
  return white;
}

// Of the gradients of whitened clusters at the optimum, which is a step away.
Matrix6 ClusterNoise(absl::Span<const ScoreTerms> white, const Vector6& step) {
  Matrix6 noise = Matrix6::Zero();
  for (const ScoreTerms& cluster : white) {
    const Vector6 deviation =
        CorrectLeverage(cluster.information, cluster.gradient - cluster.information * step);
    noise += deviation * deviation.transpose();
  }
  return noise;
}

// Of each direction of whitened clusters: how many of equal weight would tell as much about the
// variance along it as these do (Kish's effective sample size). 0 where there is nothing.
Vector6 EffectiveClusters(absl::Span<const ScoreTerms> white) {
  Vector6 sum = Vector6::Zero();
  Vector6 squares = Vector6::Zero();
  for (const ScoreTerms& cluster : white) {
    const Vector6 leverage = cluster.information.diagonal().cwiseMax(0.0);
    sum += leverage;
    squares += leverage.cwiseAbs2();
  }
  return (squares.array() > 0.0).select(sum.array().square() / squares.array(), 0.0);
}

// What a variance that was measured on so many clusters is multiplied by, for one standard
// deviation to contain what it does of a normal distribution: the square of that quantile of
// Student's t with one degree of freedom less than clusters (by the expansion of Abramowitz and
// Stegun, 26.7.5).
Vector6 StudentWidening(const Vector6& effective_clusters) {
  const Eigen::Array<double, 6, 1> inverse_freedom =
      (effective_clusters.array() - 1.0).max(1.0).inverse();
  return (1.0 + 0.5 * inverse_freedom + 0.25 * inverse_freedom.square()).square();
}

}  // namespace

PointGroups ClusterPoints(const PointCloud& scan) {
  std::vector<PlacedPoint> points;
  points.reserve(scan.size());
  for (size_t i = 0; i < scan.size(); ++i) {
    if (!scan.IsFinite(i)) continue;
    points.push_back({{scan.x[i], scan.y[i], scan.z[i]}, static_cast<uint32_t>(i)});
  }
  PointGroups clusters;
  if (points.empty()) return clusters;
  const size_t parts = ClusterCount(points.size());
  std::vector<uint8_t> cluster_of(scan.size());
  SplitBuffers buffers(points.size());
  SplitIntoClusters(absl::MakeSpan(points), parts, 0, buffers, cluster_of);

  // Places ascend within each cluster.
  std::vector<uint32_t> next(parts + 1, 0);
  for (const PlacedPoint& point : points) ++next[cluster_of[point.place] + 1U];
  for (size_t k = 0; k < parts; ++k) next[k + 1] += next[k];
  clusters.ends.assign(next.begin() + 1, next.end());
  clusters.places.resize(points.size());
  for (size_t i = 0; i < scan.size(); ++i) {
    if (scan.IsFinite(i)) clusters.places[next[cluster_of[i]]++] = static_cast<uint32_t>(i);
  }
  return clusters;
}

PointGroups SlicePoints(const PointCloud& scan) {
  PointGroups slices;
  slices.places.reserve(scan.size());
  for (size_t i = 0; i < scan.size(); ++i) {
    if (scan.IsFinite(i)) slices.places.push_back(static_cast<uint32_t>(i));
  }
  const size_t points = slices.places.size();
  if (points == 0) return slices;
  const size_t parts = ClusterCount(points);
  slices.ends.reserve(parts);
  for (size_t k = 1; k <= parts; ++k) {
    slices.ends.push_back(static_cast<uint32_t>(k * points / parts));
  }
  return slices;
}

ScoreTerms ScaledTerms(const GroupSums& cluster, const Vector6& scale) {
  ScoreTerms terms;
  for (int i = 0; i < 6; ++i) {
    terms.gradient[i] = scale[i] * cluster.derivatives.gradient[i];
    for (int j = i; j < 6; ++j) {
      terms.information(i, j) = terms.information(j, i) =
          -scale[i] * scale[j] * cluster.derivatives.hessian[ndt::UpperIndex(i, j)];
    }
  }
  return terms;
}

Matrix6 Spectrum::InformationMatrix() const {
  return directions * information.asDiagonal() * directions.transpose();
}

bool Spectrum::Observes(int i, double least_ratio) const {
  return information[i] > std::max(0.0, least_ratio * information.maxCoeff());
}

Spectrum DecomposeInformation(absl::Span<const ScoreTerms> clusters) {
  Matrix6 total = Matrix6::Zero();
  for (const ScoreTerms& cluster : clusters) total += cluster.information;
  Spectrum spectrum;
  if (!total.allFinite()) return spectrum;
  const SymmetricEigen<6> eigen = DecomposeSymmetric(Matrix6(0.5 * (total + total.transpose())));
  spectrum.information = eigen.values;
  spectrum.directions = eigen.vectors;
  return spectrum;
}

Matrix6 SandwichCovariance(absl::Span<const ScoreTerms> clusters, const Spectrum& spectrum,
                           const NullSpaceExtents& extents, const Matrix6& extent_covariance,
                           const SandwichOptions& options) {
  // A column for each direction that is observed; zeros for the others.
  Matrix6 whitening = Matrix6::Zero();
  int observed = 0;
  for (int i = 0; i < 6; ++i) {
    if (!spectrum.Observes(i, options.unobserved_ratio)) continue;
    whitening.col(i) = spectrum.directions.col(i) / std::sqrt(spectrum.information[i]);
    ++observed;
  }
  Matrix6 covariance = extents * extents.transpose() + extent_covariance;
  if (observed > 0) {
    const std::vector<ScoreTerms> white = Whitened(clusters, whitening);
    Vector6 white_step = Vector6::Zero();  // what is left to the optimum
    for (const ScoreTerms& cluster : white) white_step += cluster.gradient;
    const Vector6 widening = StudentWidening(EffectiveClusters(white)).cwiseSqrt();
    const Matrix6 noise =
        widening.asDiagonal() * ClusterNoise(white, white_step) * widening.asDiagonal();
    const double mean = noise.trace() / static_cast<double>(observed);
    // Few clusters leave directions unmeasured: fewer than directions always do.
    const auto count = static_cast<double>(clusters.size());
    const double share = std::min(1.0, static_cast<double>(observed) / (count * count));
    const Matrix6 shared = (1.0 - share) * noise + share * mean * Matrix6::Identity();
    // Where each extent leads was measured among other cells, with their noise.
    const double extent_noise = 1.0 + static_cast<double>(extents.cols());
    const Vector6 step = whitening * white_step;
    covariance +=
        extent_noise * whitening * shared * whitening.transpose() + step * step.transpose();
  }
  covariance.diagonal().head<3>().array() += options.surface_offset_m * options.surface_offset_m;
  const double most = options.largest_sigma_m * options.largest_sigma_m;
  if (!covariance.allFinite()) return most * Matrix6::Identity();

  const SymmetricEigen<6> eigen = DecomposeSymmetric(covariance);
  const Vector6 variances = eigen.values.cwiseMax(kMinSigmaM * kMinSigmaM).cwiseMin(most);
  covariance = eigen.vectors * variances.asDiagonal() * eigen.vectors.transpose();
  return 0.5 * (covariance + covariance.transpose());
}

}  // namespace voxloc
