// SPDX-License-Identifier: Apache-2.0
//
// TileFit: how scans fitted a tile of a map, summed over scans and forgotten exponentially. A plain
// value.

#ifndef VOXLOC_CORE_ESTIMATE_MAP_FIT_TILE_FIT_H_
#define VOXLOC_CORE_ESTIMATE_MAP_FIT_TILE_FIT_H_

namespace voxloc {

// Seen and not fitting: of points, all and those that no cell explains; of solid cells, those
// confirmed or seen through, and the latter.
struct FitShare {
  double all = 0.0;
  double against = 0.0;
  [[nodiscard]] double ratio() const { return all > 0.0 ? against / all : 0.0; }
};

struct TileFit {
  double scans = 0.0;
  FitShare points;
  FitShare raised_points;  // of them, higher above the ground than cars are
  FitShare solid;
  FitShare raised_solid;
  double squared_distances_m2 = 0.0;  // of explained points from their cells' surfaces

  // m; 0 where no point is explained.
  [[nodiscard]] double residual_m() const;
  // How much seems to have changed, in [0, 1): what tiles are ranked by.
  [[nodiscard]] double change() const;

  void Scale(double factor);
  void Add(const TileFit& more);
};

// Of an earlier sum that scans are added to: what is left of it after one more scan, and after some
// time without any.
[[nodiscard]] double ShareLeftAfterScan();
[[nodiscard]] double ShareLeftAfter(double time_s);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_MAP_FIT_TILE_FIT_H_
