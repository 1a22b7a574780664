// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/map_fit/sum_by_tile.h"

namespace voxloc {
namespace {

void Count(bool against, bool raised, FitShare& all, FitShare& raised_ones) {
  for (FitShare* share : {&all, raised ? &raised_ones : nullptr}) {
    if (share == nullptr) continue;
    share->all += 1.0;
    if (against) share->against += 1.0;
  }
}

void AddObservation(const FitObservation& observation, TileFit& fit) {
  switch (observation.kind) {
    case FitKind::kExplained:
      fit.squared_distances_m2 +=
          static_cast<double>(observation.distance_m) * static_cast<double>(observation.distance_m);
      Count(false, observation.raised, fit.points, fit.raised_points);
      break;
    case FitKind::kUnexplained:
      Count(true, observation.raised, fit.points, fit.raised_points);
      break;
    case FitKind::kConfirmed:
      Count(false, observation.raised, fit.solid, fit.raised_solid);
      break;
    case FitKind::kSeenThrough:
      Count(true, observation.raised, fit.solid, fit.raised_solid);
      break;
  }
  fit.scans = 1.0;
}

double SquaredDistance(const Bounds& bounds, const Eigen::Vector3d& place) {
  return (place - place.cwiseMax(bounds.min).cwiseMin(bounds.max)).squaredNorm();
}

}  // namespace

std::vector<TileFit> SumByTile(absl::Span<const FitObservation> observations,
                               absl::Span<const Bounds> tiles, double margin_m) {
  std::vector<TileFit> fits(tiles.size());
  for (const FitObservation& observation : observations) {
    double least = margin_m * margin_m;
    size_t nearest = tiles.size();
    bool inside = false;
    for (size_t i = 0; i < tiles.size(); ++i) {
      const double squared = SquaredDistance(tiles[i], observation.place_map);
      if (squared == 0.0) {
        inside = true;
        AddObservation(observation, fits[i]);
      } else if (squared <= least) {
        least = squared;
        nearest = i;
      }
    }
    if (!inside && nearest < tiles.size()) AddObservation(observation, fits[nearest]);
  }
  return fits;
}

}  // namespace voxloc
