// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/roadside.h"

#include <algorithm>

namespace voxloc::sim {
namespace {

// Things are let into the ground so far that no gap shows on a slope.
constexpr double kRoot_m = 0.5;

}  // namespace

void AddGuardRail(const LocalFrame& road, double across_m, double length_m,
                  std::vector<Solid>& solids) {
  AddBox(road, Label::kFence, {0.0, across_m - 0.04, 0.45}, {length_m, across_m + 0.04, 0.75},
         solids);
  const double out = across_m > 0.0 ? 0.09 : -0.09;
  AddBox(road, Label::kPole, {-0.05, across_m + out - 0.05, -kRoot_m},
         {0.05, across_m + out + 0.05, 0.7}, solids);
}

void AddNoiseWallPanel(const LocalFrame& road, double across_m, double length_m, double height_m,
                       std::vector<Solid>& solids) {
  AddBox(road, Label::kBuilding, {0.0, across_m - 0.08, -kRoot_m},
         {length_m, across_m + 0.08, height_m}, solids);
  AddBox(road, Label::kBuilding, {-0.1, across_m - 0.15, -kRoot_m},
         {0.1, across_m + 0.15, height_m + 0.05}, solids);
}

void AddDelineator(const LocalFrame& road, double across_m, std::vector<Solid>& solids) {
  AddBox(road, Label::kPole, {-0.06, across_m - 0.06, -kRoot_m}, {0.06, across_m + 0.06, 1.0},
         solids);
}

void AddGantry(const LocalFrame& road, Random random, std::vector<Solid>& solids) {
  const double clear = random.Uniform(5.3, 6.0);
  const double out = kOuterRail_m + 0.8;
  const bool whole = random.Chance(0.5);  // across both carriageways, or the right one only
  const double left = whole ? out : 0.0;
  for (const double y : {-out, left}) {
    AddBox(road, Label::kPole, {-0.2, y - 0.2, -kRoot_m}, {0.2, y + 0.2, clear + 1.0}, solids);
  }
  AddBox(road, Label::kPole, {-0.35, -out, clear + 0.3}, {0.35, left, clear + 1.0}, solids);
  const int signs = random.UniformInt(1, 3);
  for (int i = 0; i < signs; ++i) {
    const double width = random.Uniform(2.0, 4.0);
    const double height = random.Uniform(1.2, 3.0);
    const double y = -out + 1.5 + (i + random.Uniform(0.0, 0.4)) * 3.8;
    AddBox(road, Label::kPole, {-0.5, y, clear}, {-0.38, y + width - 0.3, clear + height}, solids);
  }
}

void AddBridge(const LocalFrame& road, Random random, std::vector<Solid>& solids) {
  const LocalFrame bridge = road.At({0.0, 0.0, 0.0}, random.Uniform(-0.25, 0.25));
  const double clear = random.Uniform(5.0, 6.2);
  const double half_width = random.Uniform(3.5, 7.0);
  const double deck = random.Uniform(0.8, 1.3);
  const double reach = kRoadHalf_m + 14.0;
  AddBox(bridge, Label::kBuilding, {-half_width, -reach, clear}, {half_width, reach, clear + deck},
         solids);
  for (const double side : {-1.0, 1.0}) {
    const double x = side * (half_width - 0.15);
    AddBox(bridge, Label::kBuilding, {x - 0.15, -reach, clear + deck},
           {x + 0.15, reach, clear + deck + 1.0}, solids);
    const double near = side * (kRoadHalf_m + 1.5);
    const double far = side * (kRoadHalf_m + 5.0);
    AddBox(bridge, Label::kBuilding, {-half_width - 0.3, std::min(near, far), -2.0},
           {half_width + 0.3, std::max(near, far), clear}, solids);
  }
  const int columns = random.UniformInt(2, 4);
  const double radius = random.Uniform(0.25, 0.4);
  for (int i = 0; i < columns; ++i) {
    const double x = (i - 0.5 * (columns - 1)) * 1.6 * half_width / columns;
    AddCylinder(bridge, Label::kBuilding, {x, 0.0, -kRoot_m}, radius, clear + kRoot_m, solids);
  }
}

}  // namespace voxloc::sim
