// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/point_clusters.h"

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"

namespace voxloc {
namespace {

constexpr size_t kMinClusterPoints = 4;

class Clustering {
 public:
  explicit Clustering(const PointCloud& scan) : scan_(scan) {
    for (size_t i = 0; i < scan.size(); ++i) {
      if (scan.IsFinite(i)) order_.push_back(static_cast<uint32_t>(i));
    }
    if (order_.empty()) return;
    size_t parts = 1;
    while (2 * parts <= kMaxPointClusters && order_.size() / (2 * parts) >= kMinClusterPoints) {
      parts *= 2;
    }
    Cut(absl::MakeSpan(order_), parts);
  }

  [[nodiscard]] std::vector<std::shared_ptr<const PointCloud>> Take() && {
    return std::move(clusters_);
  }

 private:
  void Cut(absl::Span<uint32_t> points, size_t parts) {
    if (parts == 1) {
      Keep(points);
      return;
    }
    const std::vector<float>& values = LongestAxis(points);
    const size_t half = points.size() / 2;
    std::nth_element(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(half),
                     points.end(), [&values](uint32_t a, uint32_t b) {
                       return values[a] != values[b] ? values[a] < values[b] : a < b;
                     });
    Cut(points.subspan(0, half), parts / 2);
    Cut(points.subspan(half), parts / 2);
  }

  [[nodiscard]] const std::vector<float>& LongestAxis(absl::Span<const uint32_t> points) const {
    Eigen::Vector3f low = scan_.Offset(points[0]);
    Eigen::Vector3f high = low;
    for (const uint32_t i : points) {
      low = low.cwiseMin(scan_.Offset(i));
      high = high.cwiseMax(scan_.Offset(i));
    }
    int axis = 0;
    (high - low).maxCoeff(&axis);
    return axis == 0 ? scan_.x : axis == 1 ? scan_.y : scan_.z;
  }

  void Keep(absl::Span<uint32_t> points) {
    std::sort(points.begin(), points.end());
    auto cluster = std::make_shared<PointCloud>();
    cluster->origin = scan_.origin;
    cluster->Reserve(points.size());
    for (const uint32_t i : points) cluster->PushBack(scan_.x[i], scan_.y[i], scan_.z[i]);
    clusters_.push_back(std::move(cluster));
  }

  const PointCloud& scan_;
  std::vector<uint32_t> order_;
  std::vector<std::shared_ptr<const PointCloud>> clusters_;
};

}  // namespace

std::vector<std::shared_ptr<const PointCloud>> ClusterPoints(const PointCloud& scan) {
  return Clustering(scan).Take();
}

}  // namespace voxloc
