// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/map_fit/tile_fit.h"

#include <algorithm>
#include <cmath>

namespace voxloc {
namespace {

// Decay constant in scans. After a change, 22 scans of the tile (about five passes of vehicles that
// are compared every two seconds) make up half of the sum. What a lorry hides or shows during one
// pass makes up a seventh.
constexpr double kDecayScans = 32.0;
// Decay constant in time, a month: longer than typical road works, shorter than the seasons.
constexpr double kDecayTimeS = 30.0 * 24.0 * 3600.0;
// What each scan, and one before the first, is taken to have seen to fit as well, so that a few
// observations of a tile do not make it the worst one. Of 20 and 100, 10 and 100, 10 and 50, 5 and
// 50, 5 and 25, 2 and 10, these set the changed tiles of the towns of seeds 1 to 8 apart the most
// (`voxloc_bench map-fit`).
constexpr double kPriorSolidPerScan = 10.0;
constexpr double kPriorPointsPerScan = 100.0;

}  // namespace

double TileFit::residual_m() const {
  const double explained = points.all - points.mismatched;
  return explained > 0.0 ? std::sqrt(squared_distances_m2 / explained) : 0.0;
}

double TileFit::change() const {
  const double disappeared =
      raised_solid.mismatched / (raised_solid.all + (scans + 1.0) * kPriorSolidPerScan);
  const double appeared =
      raised_points.mismatched / (raised_points.all + (scans + 1.0) * kPriorPointsPerScan);
  return 1.0 - (1.0 - disappeared) * (1.0 - appeared);
}

void TileFit::Scale(double factor) {
  scans *= factor;
  squared_distances_m2 *= factor;
  for (FitCounts* share : {&points, &raised_points, &solid, &raised_solid}) {
    share->all *= factor;
    share->mismatched *= factor;
  }
}

void TileFit::Add(const TileFit& more) {
  scans += more.scans;
  squared_distances_m2 += more.squared_distances_m2;
  for (FitCounts TileFit::*const share :
       {&TileFit::points, &TileFit::raised_points, &TileFit::solid, &TileFit::raised_solid}) {
    (this->*share).all += (more.*share).all;
    (this->*share).mismatched += (more.*share).mismatched;
  }
}

double DecayPerScan() { return 1.0 - 1.0 / kDecayScans; }
double DecayAfter(double time_s) { return std::exp(-std::max(0.0, time_s) / kDecayTimeS); }

}  // namespace voxloc
