// SPDX-License-Identifier: Apache-2.0
//
// TileFit: how well scans matched a tile of a map, summed over scans with exponential decay. A
// plain value.

#ifndef VOXLOC_CORE_ESTIMATE_MAP_FIT_TILE_FIT_H_
#define VOXLOC_CORE_ESTIMATE_MAP_FIT_TILE_FIT_H_

namespace voxloc {

// Counts. Of points: all, and those that no cell explains. Of solid cells: confirmed or seen
// through, and seen through.
struct FitCounts {
  double all = 0.0;
  double mismatched = 0.0;
  [[nodiscard]] double ratio() const { return all > 0.0 ? mismatched / all : 0.0; }
};

struct TileFit {
  double scans = 0.0;
  FitCounts points;
  FitCounts raised_points;  // of them, higher above the ground than cars are
  FitCounts solid;
  FitCounts raised_solid;
  double squared_distances_m2 = 0.0;  // of explained points from their cells' surfaces

  // m; 0 where no point is explained.
  [[nodiscard]] double residual_m() const;
  // How much seems to have changed, in [0, 1): what tiles are ranked by.
  [[nodiscard]] double change() const;

  void Scale(double factor);
  void Add(const TileFit& more);
};

// Decay factors of a sum: per added scan, and over time.
[[nodiscard]] double DecayPerScan();
[[nodiscard]] double DecayAfter(double time_s);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_MAP_FIT_TILE_FIT_H_
