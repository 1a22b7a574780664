// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/gicp_peer.h"

#include <pcl/common/centroid.h>
#include <pcl/point_cloud.h>
#include <pcl/point_types.h>
#include <pcl/registration/gicp.h>
#include <pcl/search/kdtree.h>

#include <Eigen/Eigenvalues>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/cloud/filters.h"

namespace voxloc::bench {
namespace {

using PclCloud = pcl::PointCloud<pcl::PointXYZ>;
using PclTree = pcl::search::KdTree<pcl::PointXYZ>;

// PCL's GICP with access to its protected members.
class Gicp : public pcl::GeneralizedIterativeClosestPoint<pcl::PointXYZ, pcl::PointXYZ> {
 public:
  [[nodiscard]] int iterations() const { return nr_iterations_; }
  [[nodiscard]] double smallest_variance() const { return gicp_epsilon_; }
};

// The tree of the map, for queries with points relative to `zero`, a point of the tree's frame.
class TreeAbout : public PclTree {
 public:
  TreeAbout(const PclTree& tree, Eigen::Vector3f zero) : tree_(tree), zero_(std::move(zero)) {}

  int nearestKSearch(const pcl::PointXYZ& point, int k, pcl::Indices& indices,
                     std::vector<float>& squared_distances) const override {
    pcl::PointXYZ query = point;
    query.getVector3fMap() += zero_;
    return tree_.nearestKSearch(query, k, indices, squared_distances);
  }

 private:
  const PclTree& tree_;
  const Eigen::Vector3f zero_;
};

// The points relative to `zero`, a point of the cloud's frame.
PclCloud::Ptr ToPcl(const PointCloud& cloud, const Eigen::Vector3d& zero) {
  auto converted = pcl::make_shared<PclCloud>();
  converted->reserve(cloud.size());
  for (size_t i = 0; i < cloud.size(); ++i) {
    const Eigen::Vector3f offset = (cloud.Point(i) - zero).cast<float>();
    converted->push_back({offset.x(), offset.y(), offset.z()});
  }
  return converted;
}

// By GICP's rule: a variance of 1 along the surface through a point and its nearest neighbours, a
// small one across it. PCL would take differences of squares in float32, whose rounding at 100 m
// from the zero is as large as a variance of (1 cm)^2.
Gicp::MatricesVectorPtr CovariancesOf(const PclCloud& cloud, const PclTree& tree,
                                      const Gicp& gicp) {
  auto covariances = pcl::make_shared<Gicp::MatricesVector>();
  covariances->reserve(cloud.size());
  pcl::Indices nearest;
  std::vector<float> squared_distances;
  for (const pcl::PointXYZ& point : cloud) {
    tree.nearestKSearch(point, gicp.getCorrespondenceRandomness(), nearest, squared_distances);
    Eigen::Vector4d mean = Eigen::Vector4d::Zero();
    Eigen::Matrix3d scatter = Eigen::Matrix3d::Zero();
    pcl::compute3DCentroid(cloud, nearest, mean);
    pcl::computeCovarianceMatrix(cloud, nearest, mean, scatter);
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> ascending(scatter);
    const Eigen::Vector3d normal = ascending.eigenvectors().col(0);
    covariances->push_back(Eigen::Matrix3d::Identity() -
                           (1.0 - gicp.smallest_variance()) * normal * normal.transpose());
  }
  return covariances;
}

absl::Status CheckNeighbours(const char* what, size_t points) {
  const auto neighbours = static_cast<size_t>(Gicp().getCorrespondenceRandomness());
  if (points >= neighbours) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the ", what, " has ", points, " points; GICP needs ", neighbours, " for a covariance"));
}

class PclGicpPeer : public GicpPeer {
 public:
  PclGicpPeer(PointCloud map, const GicpOptions& options)
      : map_(std::move(map)), options_(options) {
    const PclCloud::Ptr points = ToPcl(map_, map_.origin);
    tree_->setInputCloud(points);
    covariances_ = CovariancesOf(*points, *tree_, Gicp());
  }

  absl::StatusOr<GicpResult> Align(const PointCloud& scan,
                                   const Pose& map_T_base_guess) const override {
    if (absl::Status status = CheckNeighbours("scan", scan.size()); !status.ok()) return status;
    // PCL turns the scan about the target's zero. Far from the vehicle, turns and shifts are nearly
    // the same to its search, which then ends early: so the zero is the start.
    const Eigen::Vector3d start = map_T_base_guess.translation;
    Gicp gicp;
    gicp.setMaxCorrespondenceDistance(options_.max_correspondence_m);
    gicp.setTransformationEpsilon(options_.epsilon);
    gicp.setRotationEpsilon(options_.epsilon);
    gicp.setMaximumIterations(options_.max_iterations);
    gicp.setInputTarget(ToPcl(map_, start));
    gicp.setTargetCovariances(covariances_);
    gicp.setSearchMethodTarget(
        pcl::make_shared<TreeAbout>(*tree_, (start - map_.origin).cast<float>()),
        /*force_no_recompute=*/true);
    const PclCloud::Ptr source = ToPcl(scan, Eigen::Vector3d::Zero());
    Eigen::Matrix4f start_T_base_guess = Eigen::Matrix4f::Identity();
    start_T_base_guess.topLeftCorner<3, 3>() =
        map_T_base_guess.rotation.toRotationMatrix().cast<float>();
    PclCloud aligned;
    const auto before = std::chrono::steady_clock::now();
    gicp.setInputSource(source);
    gicp.align(aligned, start_T_base_guess);
    const std::chrono::duration<double, std::milli> align_ms =
        std::chrono::steady_clock::now() - before;
    absl::StatusOr<Pose> found = PoseFromMatrix(gicp.getFinalTransformation().cast<double>());
    if (!found.ok()) return found.status();
    return GicpResult{
        {start + found->translation, found->rotation}, gicp.iterations(), align_ms.count()};
  }

 private:
  const PointCloud map_;
  const GicpOptions options_;
  const PclTree::Ptr tree_ = pcl::make_shared<PclTree>();  // about the map's origin
  Gicp::MatricesVectorPtr covariances_;                    // one a point; only read
};

}  // namespace

absl::StatusOr<std::unique_ptr<GicpPeer>> MakeGicpPeer(const std::vector<PointCloud>& map,
                                                       const GicpOptions& options) {
  PointCloud whole;
  if (!map.empty()) whole.origin = map.front().origin;
  for (const PointCloud& cloud : map) Append(cloud, whole);
  absl::StatusOr<PointCloud> thinned = VoxelDownsample(whole, options.map_leaf_m);
  if (!thinned.ok()) return thinned.status();
  if (absl::Status status = CheckNeighbours("map", thinned->size()); !status.ok()) return status;
  return std::make_unique<PclGicpPeer>(*std::move(thinned), options);
}

}  // namespace voxloc::bench
