// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/point_clusters.h"

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/types/span.h"

namespace voxloc {
namespace {

constexpr size_t kMinClusterPoints = 4;

struct alignas(16) PlacedPoint {
  float offset[3];  // from the scan's origin
  uint32_t place;   // in the scan
};

// Ascends with the coordinate, which is finite, and with the place of points that share it.
uint64_t KeyOf(const PlacedPoint& point, size_t axis) {
  uint32_t bits = 0;
  std::memcpy(&bits, &point.offset[axis], sizeof bits);
  const uint32_t negative = 0U - (bits >> 31);  // all bits, or none
  constexpr uint32_t kSign = 0x80000000;
  return uint64_t{bits ^ (negative | kSign)} << 32 | point.place;
}

size_t LongestAxis(absl::Span<const PlacedPoint> points) {
  const auto coordinates = [](const PlacedPoint& point) {
    Eigen::Array4f array;  // with the place as a fourth, which does not count
    std::memcpy(array.data(), &point, sizeof array);
    return array;
  };
  Eigen::Array4f low = coordinates(points[0]);
  Eigen::Array4f high = low;
  for (const PlacedPoint& point : points) {
    low = low.min(coordinates(point));
    high = high.max(coordinates(point));
  }
  size_t longest = 0;
  (high - low).head<3>().maxCoeff(&longest);
  return longest;
}

// The points below the pivot to the front, without a branch that depends on them; how many.
size_t MoveBelow(absl::Span<PlacedPoint> points, size_t axis, uint64_t pivot) {
  size_t below = 0;
  for (PlacedPoint& point : points) {
    const PlacedPoint moved = point;
    point = points[below];
    points[below] = moved;
    below += static_cast<size_t>(KeyOf(moved, axis) < pivot);
  }
  return below;
}

// The median of three keys.
uint64_t MiddleKey(absl::Span<const PlacedPoint> points, size_t axis) {
  const uint64_t a = KeyOf(points.front(), axis);
  const uint64_t b = KeyOf(points[points.size() / 2], axis);
  const uint64_t c = KeyOf(points.back(), axis);
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// What std::nth_element does. Its branches are not predictable for points in no order, which costs
// most of its time: it gets what is left after a few rounds without any.
void Select(absl::Span<PlacedPoint> points, size_t nth, size_t axis) {
  constexpr size_t kFewPoints = 32;
  constexpr int kRounds = 12;
  for (int round = 0; round < kRounds && points.size() > kFewPoints; ++round) {
    const size_t below = MoveBelow(points, axis, MiddleKey(points, axis));
    if (nth < below) {
      points = points.subspan(0, below);
    } else {
      points.remove_prefix(below);
      nth -= below;
    }
  }
  std::nth_element(points.begin(), points.begin() + nth, points.end(),
                   [axis](const PlacedPoint& a, const PlacedPoint& b) {
                     return KeyOf(a, axis) < KeyOf(b, axis);
                   });
}

// Gives each point its cluster, by its place; clusters are counted from `first` on.
void SplitIntoClusters(absl::Span<PlacedPoint> points, size_t parts, size_t first,
                       std::vector<uint8_t>& cluster_of) {
  if (parts == 1) {
    for (const PlacedPoint& point : points) cluster_of[point.place] = static_cast<uint8_t>(first);
    return;
  }
  const size_t half = points.size() / 2;
  Select(points, half, LongestAxis(points));
  SplitIntoClusters(points.subspan(0, half), parts / 2, first, cluster_of);
  SplitIntoClusters(points.subspan(half), parts / 2, first + parts / 2, cluster_of);
}
static_assert(kMaxPointGroups <= 256, "clusters are counted in bytes");

// A power of two, since points are halved.
size_t ClusterCount(size_t points) {
  size_t parts = 1;
  while (2 * parts <= kMaxPointGroups && points / (2 * parts) >= kMinClusterPoints) parts *= 2;
  return parts;
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
  SplitIntoClusters(absl::MakeSpan(points), parts, 0, cluster_of);

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

}  // namespace voxloc
