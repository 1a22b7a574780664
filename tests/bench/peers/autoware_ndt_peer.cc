// SPDX-License-Identifier: Apache-2.0

#include "absl/strings/str_cat.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/peers/autoware_ndt.h"
#include "tests/bench/peers/peer.h"

namespace voxloc::bench {
namespace {

class AutowarePeer : public Peer {
 public:
  explicit AutowarePeer(int threads) { ndt_.setParams(AutowareParams(threads)); }

  [[nodiscard]] std::string name() const override { return "Autoware NDT"; }

  void SetMap(const std::vector<PointCloud>& clouds) override {
    for (size_t i = 0; i < clouds.size(); ++i) {
      ndt_.addTarget(ToAutoware(clouds[i]), absl::StrCat(i));
    }
    ndt_.createVoxelKdtree();
  }

  [[nodiscard]] PeerResult Align(const PointCloud& scan, const Pose& map_T_base_guess) override {
    const AutowareCloud::Ptr source = ToAutoware(scan);
    const Eigen::Matrix4f guess = ToAutoware(map_T_base_guess);
    PeerResult result;
    AutowareCloud moved;
    result.align_ms = TimeMs([&] { ndt_.align(moved, guess, source); });
    result.map_T_base = FromAutoware(ndt_.getFinalTransformation());
    result.iterations = ndt_.getFinalNumIteration();
    return result;
  }

 private:
  AutowareNdt ndt_;
};

}  // namespace

std::unique_ptr<Peer> MakeAutowareNdtPeer(int threads) {
  return std::make_unique<AutowarePeer>(threads);
}

}  // namespace voxloc::bench
