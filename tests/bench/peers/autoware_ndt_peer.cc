// SPDX-License-Identifier: Apache-2.0

#include <autoware/ndt_scan_matcher/ndt_omp/multigrid_ndt_omp.h>
#include <pcl/point_types.h>

#include "absl/strings/str_cat.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/peers/peer.h"

namespace voxloc::bench {
namespace {

using Cloud = pcl::PointCloud<pcl::PointXYZ>;

Cloud::Ptr ToPcl(const PointCloud& cloud) {
  Cloud::Ptr points(new Cloud);
  points->reserve(cloud.size());
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (!cloud.IsFinite(i)) continue;
    const Eigen::Vector3f point = cloud.Point(i).cast<float>();
    points->push_back({point.x(), point.y(), point.z()});
  }
  return points;
}

class AutowareNdt : public Peer {
 public:
  explicit AutowareNdt(int threads) {
    pclomp::NdtParams params;
    params.trans_epsilon = 0.01;
    params.step_size = 0.1;
    params.resolution = 2.0F;
    params.max_iterations = 30;
    params.search_method = pclomp::KDTREE;
    params.num_threads = threads;
    ndt_.setParams(params);
  }

  [[nodiscard]] std::string name() const override { return "Autoware NDT"; }

  void SetMap(const std::vector<PointCloud>& clouds) override {
    for (size_t i = 0; i < clouds.size(); ++i) ndt_.addTarget(ToPcl(clouds[i]), absl::StrCat(i));
    ndt_.createVoxelKdtree();
  }

  [[nodiscard]] PeerResult Align(const PointCloud& scan, const Pose& map_T_base_guess) override {
    const Cloud::Ptr source = ToPcl(scan);
    Eigen::Matrix4f guess = Eigen::Matrix4f::Identity();
    guess.topLeftCorner<3, 3>() = map_T_base_guess.rotation.toRotationMatrix().cast<float>();
    guess.topRightCorner<3, 1>() = map_T_base_guess.translation.cast<float>();
    PeerResult result;
    Cloud moved;
    result.align_ms = TimeMs([&] { ndt_.align(moved, guess, source); });
    const Eigen::Matrix4d found = ndt_.getFinalTransformation().cast<double>();
    result.map_T_base.translation = found.topRightCorner<3, 1>();
    result.map_T_base.rotation =
        Eigen::Quaterniond(Eigen::Matrix3d(found.topLeftCorner<3, 3>())).normalized();
    result.iterations = ndt_.getFinalNumIteration();
    return result;
  }

 private:
  pclomp::MultiGridNormalDistributionsTransform<pcl::PointXYZ, pcl::PointXYZ> ndt_;
};

}  // namespace

std::unique_ptr<Peer> MakeAutowareNdtPeer(int threads) {
  return std::make_unique<AutowareNdt>(threads);
}

}  // namespace voxloc::bench
