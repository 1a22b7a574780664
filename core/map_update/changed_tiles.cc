// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/changed_tiles.h"

#include <limits>
#include <utility>

#include "core/map_update/changed_cubes.h"

namespace voxloc {
namespace {

size_t NearestTile(absl::Span<const Bounds> tiles, const Eigen::Vector3d& point) {
  size_t nearest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (tiles[i].finite_points == 0) continue;
    const Eigen::Vector3d beside = point - point.cwiseMax(tiles[i].min).cwiseMin(tiles[i].max);
    const double squared = beside.head<2>().squaredNorm();
    if (squared >= least) continue;
    least = squared;
    nearest = i;
  }
  return nearest;
}

}  // namespace

std::vector<ChangedTile> FindChangedTiles(const CubeVotes& votes, const ChangeRule& rule,
                                          absl::Span<const int64_t> pass_start_ns,
                                          absl::Span<const Bounds> tiles) {
  const ChangedCubes changed(votes, rule, pass_start_ns);
  std::vector<ChangedTile> found(tiles.size());
  std::vector<bool> is_changed(tiles.size(), false);
  for (size_t i = 0; i < votes.cubes().size(); ++i) {
    if (changed.fate(i) == CubeFate::kStays) continue;
    const VotedCube& cube = votes.cubes()[i];
    const size_t tile = NearestTile(tiles, CellCentre(cube.key, votes.cube_m()));
    found[tile].Add(cube, changed.fate(i));
    if (changed.IsLarge(i)) is_changed[tile] = true;
  }
  std::vector<ChangedTile> chosen;
  for (size_t tile = 0; tile < tiles.size(); ++tile) {
    if (!is_changed[tile]) continue;
    found[tile].tile = tile;
    chosen.push_back(std::move(found[tile]));
  }
  return chosen;
}

void ChangedTile::Add(const VotedCube& cube, CubeFate fate) {
  if (fate == CubeFate::kUnsettled) {
    ++unsettled;
  } else if (fate == CubeFate::kGone) {
    gone.push_back(cube.key);
    passes |= (cube.through | cube.behind) & ~cube.hit_near;
  } else if (fate == CubeFate::kNew) {
    added.push_back(cube.key);
    passes |= cube.hit_near;
  }
}

}  // namespace voxloc
