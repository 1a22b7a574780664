// SPDX-License-Identifier: Apache-2.0

#include <small_gicp/ann/gaussian_voxelmap.hpp>
#include <small_gicp/ann/kdtree_omp.hpp>
#include <small_gicp/factors/gicp_factor.hpp>
#include <small_gicp/points/point_cloud.hpp>
#include <small_gicp/registration/reduction_omp.hpp>
#include <small_gicp/registration/registration.hpp>
#include <small_gicp/util/downsampling_omp.hpp>
#include <small_gicp/util/normal_estimation_omp.hpp>

#include "tests/bench/bench_options.h"
#include "tests/bench/peers/peer.h"

namespace voxloc::bench {
namespace {

using Tree = small_gicp::KdTree<small_gicp::PointCloud>;
using Registration =
    small_gicp::Registration<small_gicp::GICPFactor, small_gicp::ParallelReductionOMP>;

constexpr double kVoxelEdge = 2.0;       // m
constexpr double kMapLeaf = 0.1;         // m
constexpr int kNeighbors = 10;           // of a covariance
constexpr double kCorrespondence = 1.0;  // m, the default of its own helper

std::vector<Eigen::Vector4d> PointsOf(const PointCloud& cloud) {
  std::vector<Eigen::Vector4d> points;
  points.reserve(cloud.size());
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (cloud.IsFinite(i)) points.push_back(cloud.Point(i).homogeneous());
  }
  return points;
}

class SmallGicp : public Peer {
 public:
  SmallGicp(bool voxels, int threads) : voxels_(voxels), threads_(threads) {
    registration_.reduction.num_threads = threads;
    registration_.rejector.max_dist_sq = kCorrespondence * kCorrespondence;
  }

  [[nodiscard]] std::string name() const override {
    return voxels_ ? "small_gicp VGICP" : "small_gicp GICP";
  }

  void SetMap(const std::vector<PointCloud>& clouds) override {
    std::vector<Eigen::Vector4d> points;
    for (const PointCloud& cloud : clouds) {
      const std::vector<Eigen::Vector4d> more = PointsOf(cloud);
      points.insert(points.end(), more.begin(), more.end());
    }
    map_ = small_gicp::voxelgrid_sampling_omp(small_gicp::PointCloud(points), kMapLeaf, threads_);
    tree_ = std::make_shared<Tree>(map_, small_gicp::KdTreeBuilderOMP(threads_));
    small_gicp::estimate_covariances_omp(*map_, *tree_, kNeighbors, threads_);
    if (!voxels_) return;
    voxel_map_ = std::make_shared<small_gicp::GaussianVoxelMap>(kVoxelEdge);
    voxel_map_->insert(*map_);
  }

  [[nodiscard]] PeerResult Align(const PointCloud& scan, const Pose& map_T_base_guess) override {
    PeerResult result;
    small_gicp::PointCloud source(PointsOf(scan));
    result.prepare_ms =
        TimeMs([&] { small_gicp::estimate_covariances_omp(source, kNeighbors, threads_); });
    Eigen::Isometry3d guess = Eigen::Isometry3d::Identity();
    guess.linear() = map_T_base_guess.rotation.toRotationMatrix();
    guess.translation() = map_T_base_guess.translation;
    small_gicp::RegistrationResult found;
    result.align_ms = TimeMs([&] {
      found = voxels_ ? registration_.align(*voxel_map_, source, *voxel_map_, guess)
                      : registration_.align(*map_, source, *tree_, guess);
    });
    result.map_T_base.translation = found.T_target_source.translation();
    result.map_T_base.rotation = Eigen::Quaterniond(found.T_target_source.linear());
    result.iterations = static_cast<int>(found.iterations) + 1;  // it counts from zero
    return result;
  }

 private:
  bool voxels_;
  int threads_;
  Registration registration_;
  std::shared_ptr<small_gicp::PointCloud> map_;
  std::shared_ptr<Tree> tree_;
  std::shared_ptr<small_gicp::GaussianVoxelMap> voxel_map_;
};

}  // namespace

std::unique_ptr<Peer> MakeSmallVgicpPeer(int threads) {
  return std::make_unique<SmallGicp>(/*voxels=*/true, threads);
}
std::unique_ptr<Peer> MakeSmallGicpPeer(int threads) {
  return std::make_unique<SmallGicp>(/*voxels=*/false, threads);
}

}  // namespace voxloc::bench
