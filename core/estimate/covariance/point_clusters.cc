// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/point_clusters.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace voxloc {
namespace {

constexpr size_t kMinClusterPoints = 4;

struct PlacedPoint {
  std::array<float, 3> offset;  // from the cloud's origin
  uint32_t place;
};

size_t LongestAxis(absl::Span<const PlacedPoint> points) {
  std::array<float, 3> low = points[0].offset;
  std::array<float, 3> high = low;
  for (const PlacedPoint& point : points) {
    for (size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], point.offset[axis]);
      high[axis] = std::max(high[axis], point.offset[axis]);
    }
  }
  size_t longest = 0;
  for (size_t axis = 1; axis < 3; ++axis) {
    if (high[axis] - low[axis] > high[longest] - low[longest]) longest = axis;
  }
  return longest;
}

void Cut(absl::Span<PlacedPoint> points, size_t parts, PointGroups& clusters) {
  if (parts == 1) {
    const size_t first = clusters.places.size();
    for (const PlacedPoint& point : points) clusters.places.push_back(point.place);
    std::sort(clusters.places.begin() + static_cast<std::ptrdiff_t>(first), clusters.places.end());
    clusters.ends.push_back(static_cast<uint32_t>(clusters.places.size()));
    return;
  }
  const size_t axis = LongestAxis(points);
  const size_t half = points.size() / 2;
  std::nth_element(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(half), points.end(),
                   [axis](const PlacedPoint& a, const PlacedPoint& b) {
                     return a.offset[axis] != b.offset[axis] ? a.offset[axis] < b.offset[axis]
                                                             : a.place < b.place;
                   });
  Cut(points.subspan(0, half), parts / 2, clusters);
  Cut(points.subspan(half), parts / 2, clusters);
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
  size_t parts = 1;
  while (2 * parts <= kMaxPointGroups && points.size() / (2 * parts) >= kMinClusterPoints) {
    parts *= 2;
  }
  clusters.places.reserve(points.size());
  Cut(absl::MakeSpan(points), parts, clusters);
  return clusters;
}

}  // namespace voxloc
