// SPDX-License-Identifier: Apache-2.0
//
// Peer: a registration of another project, on the same map and scans. Not thread-safe; each uses as
// many threads as it was made with.

#ifndef VOXLOC_TESTS_BENCH_PEERS_PEER_H_
#define VOXLOC_TESTS_BENCH_PEERS_PEER_H_

#include <memory>
#include <string>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc::bench {

struct PeerResult {
  Pose map_T_base;
  int iterations = 0;
  double prepare_ms = 0.0;  // of the scan, before its alignment can begin
  double align_ms = 0.0;
};

class Peer {
 public:
  virtual ~Peer() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  virtual void SetMap(const std::vector<PointCloud>& clouds) = 0;
  [[nodiscard]] virtual PeerResult Align(const PointCloud& scan, const Pose& map_T_base_guess) = 0;
};

// small_gicp's VGICP with voxels of 2 m, and its GICP on a map thinned to 0.1 m; covariances of
// scans from 10 neighbours. All other settings, termination included, are its defaults.
[[nodiscard]] std::unique_ptr<Peer> MakeSmallVgicpPeer(int threads);
[[nodiscard]] std::unique_ptr<Peer> MakeSmallGicpPeer(int threads);

// The NDT of Autoware's ndt_scan_matcher, with its parameters: cells of 2 m, steps of 0.1 m at
// most, epsilon 0.01, 30 iterations. Every cloud of the map is a tile.
[[nodiscard]] std::unique_ptr<Peer> MakeAutowareNdtPeer(int threads);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_PEERS_PEER_H_
