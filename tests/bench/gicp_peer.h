// SPDX-License-Identifier: Apache-2.0
//
// PCL's GICP (generalized iterative closest point) on the points of a map, for comparison with the
// engine. Only gicp_peer.cc sees PCL; it is part of builds with VOXLOC_BENCH_PCL.

#ifndef VOXLOC_TESTS_BENCH_GICP_PEER_H_
#define VOXLOC_TESTS_BENCH_GICP_PEER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc::bench {

// Chosen on four sets of the choosing list: clean-town-101, skew-hall-113, old-garage-130 and
// drift-forest-123. All settings that are not here are PCL's defaults.
struct GicpOptions {
  double map_leaf_m = 0.1;  // not varied
  // Of 0.5, 0.7, 1, 1.5, 2 and 5 m the one that lost the fewest scans.
  double max_correspondence_m = 1.5;
  // A search ends where no entry of the pose's matrix changes by more: metres, or the sine of an
  // angle. PCL's defaults, 5e-4 and 2e-3, leave twice the error in the town.
  double epsilon = 1e-5;
  int max_iterations = 200;  // PCL's default; a search takes 7 to 21 in the mean
};

struct GicpResult {
  Pose map_T_base;
  int iterations = 0;
  double align_ms = 0.0;  // with the covariances of the scan, without anything of the map
};

// A map, thinned, with its search tree and the covariances of its points. One thread at a time.
class GicpPeer {
 public:
  virtual ~GicpPeer() = default;

  // The scan is in the base frame. InvalidArgument where it has fewer points than a covariance
  // needs. A search that found nothing ends where it stopped.
  [[nodiscard]] virtual absl::StatusOr<GicpResult> Align(const PointCloud& scan,
                                                         const Pose& map_T_base_guess) const = 0;
};

// InvalidArgument where the thinned map has fewer points than a covariance needs, or where the leaf
// is too small for the map (see FilterCloud).
[[nodiscard]] absl::StatusOr<std::unique_ptr<GicpPeer>> MakeGicpPeer(
    const std::vector<PointCloud>& map, const GicpOptions& options);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_GICP_PEER_H_
