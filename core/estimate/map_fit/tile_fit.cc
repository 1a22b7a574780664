// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/map_fit/tile_fit.h"

#include <algorithm>
#include <cmath>

namespace voxloc {
namespace {

// What comes after a change is half of what is remembered after 22 scans of the tile, about five
// passes of vehicles that are compared every two seconds; what a lorry hides or shows while one
// vehicle passes is a seventh of it.
constexpr double kRememberedScans = 32.0;
// A month: longer than the works that close a road, shorter than the time in which trees change
// their leaves.
constexpr double kRememberedS = 30.0 * 24.0 * 3600.0;
// What each scan, and one before the first, is taken to have seen to fit as well, so that a few
// observations of a tile do not make it the worst one. Of 20 and 100, 10 and 100, 10 and 50, 5 and
// 50, 5 and 25, 2 and 10, these set the changed tiles of the towns of seeds 1 to 8 apart the most
// (`voxloc_bench map-fit`).
constexpr double kSolidAScan = 10.0;
constexpr double kPointsAScan = 100.0;

}  // namespace

double TileFit::residual_m() const {
  const double explained = points.all - points.against;
  return explained > 0.0 ? std::sqrt(squared_distances_m2 / explained) : 0.0;
}

double TileFit::change() const {
  const double gone = raised_solid.against / (raised_solid.all + (scans + 1.0) * kSolidAScan);
  const double come = raised_points.against / (raised_points.all + (scans + 1.0) * kPointsAScan);
  return 1.0 - (1.0 - gone) * (1.0 - come);
}

void TileFit::Scale(double factor) {
  scans *= factor;
  squared_distances_m2 *= factor;
  for (FitShare* share : {&points, &raised_points, &solid, &raised_solid}) {
    share->all *= factor;
    share->against *= factor;
  }
}

void TileFit::Add(const TileFit& more) {
  scans += more.scans;
  squared_distances_m2 += more.squared_distances_m2;
  for (FitShare TileFit::*const share :
       {&TileFit::points, &TileFit::raised_points, &TileFit::solid, &TileFit::raised_solid}) {
    (this->*share).all += (more.*share).all;
    (this->*share).against += (more.*share).against;
  }
}

double ShareLeftAfterScan() { return 1.0 - 1.0 / kRememberedScans; }
double ShareLeftAfter(double time_s) { return std::exp(-std::max(0.0, time_s) / kRememberedS); }

}  // namespace voxloc
