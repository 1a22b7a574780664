// SPDX-License-Identifier: Apache-2.0
//
// What stands along a motorway. Each stands on its frame's origin on the road's centre line: x
// along the road, y left across it, z up.

#ifndef VOXLOC_CLIENTS_SIM_ROADSIDE_H_
#define VOXLOC_CLIENTS_SIM_ROADSIDE_H_

#include <vector>

#include "clients/sim/frame.h"
#include "clients/sim/random.h"
#include "clients/sim/solid.h"

namespace voxloc::sim {

// A cross-section's distances from the centre line, metres.
constexpr double kMedianRail_m = 0.5;
constexpr double kRightLane_m = 7.6;     // middle of the right lane
constexpr double kHardShoulder_m = 9.2;  // where it begins
constexpr double kOuterRail_m = 12.0;
constexpr double kRoadHalf_m = 13.5;  // the road bed with its verge; the slopes begin here

// A post and the rail from it to the next post, `length_m` along x, at `across_m`.
void AddGuardRail(const LocalFrame& road, double across_m, double length_m,
                  std::vector<Solid>& solids);
// One panel of a noise wall, `length_m` along x, at `across_m`, and the post at its start.
void AddNoiseWallPanel(const LocalFrame& road, double across_m, double length_m, double height_m,
                       std::vector<Solid>& solids);
void AddDelineator(const LocalFrame& road, double across_m, std::vector<Solid>& solids);
// Posts outside the rails, a beam across the road, and signs on it.
void AddGantry(const LocalFrame& road, Random random, std::vector<Solid>& solids);
// A road that crosses above: abutments, columns in the median, a deck with parapets.
void AddBridge(const LocalFrame& road, Random random, std::vector<Solid>& solids);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_ROADSIDE_H_
