// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/room_furniture.h"

#include <algorithm>
#include <cmath>

namespace voxloc::sim {
namespace {

constexpr double kBehindWall_m = 0.02;  // by which backs lie in the wall, so that no gap shows
constexpr double kBoard_m = 0.025;

// Sides, boards and books.
void AddBookshelf(const Builder& wall, double half, double depth, double height, Random& random) {
  for (const double x : {-half, half - kBoard_m}) {
    wall.Box({x, -kBehindWall_m, 0.0}, {x + kBoard_m, depth, height});
  }
  const int boards = std::max(2, static_cast<int>(height / random.Uniform(0.3, 0.45)));
  const double pitch = (height - kBoard_m) / boards;
  for (int i = 0; i <= boards; ++i) {
    wall.Box({-half, -kBehindWall_m, i * pitch}, {half, depth, i * pitch + kBoard_m});
  }
  for (int i = 0; i < boards; ++i) {
    double x = -half + kBoard_m;
    while (x < half - 0.15) {
      const double to = std::min(half - kBoard_m, x + random.Uniform(0.1, 0.5));
      const double top = i * pitch + random.Uniform(0.5, 0.9) * pitch;
      const double front = random.Uniform(0.5, 0.95) * depth;
      if (random.Chance(0.7)) wall.Box({x, -kBehindWall_m, i * pitch}, {to, front, top});
      x = to + 0.01;
    }
  }
}

// With doors that stand out a little, and their handles.
void AddCabinet(const Builder& wall, double half, double depth, double height, Random& random) {
  const double front = depth - 0.05;
  wall.Box({-half, -kBehindWall_m, 0.0}, {half, front, height});
  const int doors = std::max(1, static_cast<int>(2.0 * half / random.Uniform(0.4, 0.7)));
  const double width = 2.0 * half / doors;
  for (int i = 0; i < doors; ++i) {
    const double x = -half + i * width;
    wall.Box({x + 0.01, front - 0.01, 0.06}, {x + width - 0.01, front + 0.02, height - 0.02});
    wall.As(Label::kPole)
        .Box({x + 0.06, front, 0.5 * height}, {x + 0.09, depth, 0.5 * height + 0.15});
  }
}

// A counter with a top that stands over, and cabinets above it.
void AddCounter(const Builder& wall, double half, double depth, Random& random) {
  const double top = random.Uniform(0.85, 0.95);
  wall.Box({-half, -kBehindWall_m, 0.0}, {half, depth - 0.04, top - 0.04});
  wall.Box({-half, -kBehindWall_m, top - 0.04}, {half, depth, top});
  const double from = random.Uniform(-1.0, 0.0) * half;
  wall.Box({from, -kBehindWall_m, top + random.Uniform(0.45, 0.6)},
           {half, 0.6 * depth, random.Uniform(1.9, 2.2)});
  wall.Box({-half, -kBehindWall_m, top - 0.01},
           {-half + 0.3, 0.5 * depth, top + random.Uniform(0.15, 0.4)});
}

void AddSofa(const Builder& wall, double half, double depth, Random& random) {
  const double seat = random.Uniform(0.38, 0.48);
  const double arm = random.Uniform(0.08, 0.16);
  wall.Box({-half, 0.0, 0.06}, {half, depth, seat});
  wall.Box({-half, 0.0, seat - 0.01}, {half, 0.35 * depth, random.Uniform(0.7, 0.95)});
  for (const double x : {-half, half - arm}) {
    wall.Box({x, 0.0, seat - 0.01}, {x + arm, depth, seat + random.Uniform(0.1, 0.25)});
  }
}

void AddPlant(const Builder& wall, double radius, Random& random) {
  const double pot = random.Uniform(0.25, 0.5);
  wall.Cylinder({0.0, radius, 0.0}, 0.6 * radius, pot);
  const Builder leaves = wall.As(Label::kTree);
  const double middle = pot + random.Uniform(0.3, 0.8);
  leaves.Cylinder({0.0, radius, pot - 0.02}, 0.02, middle - pot);
  const int blobs = random.UniformInt(2, 4);
  for (int i = 0; i < blobs; ++i) {
    const double x = random.Uniform(-0.3, 0.3) * radius;
    const double y = radius * random.Uniform(0.8, 1.1);
    const double half = radius * random.Uniform(0.4, 0.75);
    leaves.Ellipsoid({x, y, middle + random.Uniform(-0.2, 0.3)}, {half, half, 1.3 * half});
  }
}

// Ribs in front of a plate.
void AddRadiator(const Builder& wall, double half, double depth, double height) {
  wall.Box({-half, 0.3 * depth, 0.12}, {half, 0.6 * depth, height});
  const int ribs = std::max(2, static_cast<int>(2.0 * half / 0.15));
  for (int i = 0; i < ribs; ++i) {
    const double x = -half + (i + 0.5) * 2.0 * half / ribs;
    wall.As(Label::kPole).Box({x - 0.02, 0.2 * depth, 0.1}, {x + 0.02, depth, height + 0.02});
  }
}

}  // namespace

void AddWallPiece(const WallPlace& place, Random random, std::vector<Solid>& solids) {
  const Builder wall{place.frame, Label::kBuilding, solids};
  const double half = 0.5 * place.width_m;
  const double kind = random.Uniform();
  if (place.depth_m <= 0.3) {
    if (kind < 0.4) return AddRadiator(wall, half, 0.12, random.Uniform(0.5, 0.9));
    const double from = random.Uniform(0.9, 1.4);
    const double to = from + random.Uniform(0.3, 0.8);
    return wall.Box({-half, -kBehindWall_m, from}, {half, random.Uniform(0.02, 0.1), to});
  }
  const double depth = place.depth_m * random.Uniform(0.55, 1.0);
  const double height = random.Uniform(0.8, std::min(2.2, place.ceiling_m - 0.2));
  if (kind < 0.35) return AddBookshelf(wall, half, 0.6 * depth, height, random);
  if (kind < 0.6) return AddCabinet(wall, half, depth, height, random);
  if (kind < 0.75) return AddCounter(wall, half, place.depth_m, random);
  if (kind < 0.88) return AddSofa(wall, half, place.depth_m, random);
  AddPlant(wall, std::min(half, 0.5 * place.depth_m), random);
}

void AddWindow(const WallPlace& place, Random random, std::vector<Solid>& solids) {
  const Builder wall{place.frame, Label::kBuilding, solids};
  const double half = 0.5 * place.width_m;
  const double sill = random.Uniform(0.75, 1.0);
  const double head = std::min(place.ceiling_m - 0.15, sill + random.Uniform(1.1, 1.5));
  const double bar = random.Uniform(0.05, 0.08);
  const double out = random.Uniform(0.03, 0.07);
  wall.Box({-half, -kBehindWall_m, sill}, {half, 0.01, head});
  solids.back().material = Material::kGlass;
  wall.Box({-half, -kBehindWall_m, head - bar}, {half, out, head});
  wall.Box({-half - 0.05, -kBehindWall_m, sill - 0.03}, {half + 0.05, out + 0.12, sill});
  const int panes = std::max(1, static_cast<int>(place.width_m / 0.9));
  for (int i = 0; i <= panes; ++i) {
    const double x = -half + 0.5 * bar + i * (place.width_m - bar) / panes;
    wall.Box({x - 0.5 * bar, -kBehindWall_m, sill}, {x + 0.5 * bar, out, head});
  }
  if (random.Chance(0.7)) AddRadiator(wall, 0.8 * half, 0.12, sill - random.Uniform(0.1, 0.2));
}

void AddBed(const FloorBlock& block, Random random, std::vector<Solid>& solids) {
  const Builder floor{block.frame, Label::kBuilding, solids};
  const double half_x = 0.5 * std::min(block.size_x_m, random.Uniform(0.9, 1.9));
  const double half_y = 0.5 * std::min(block.size_y_m, random.Uniform(1.9, 2.2));
  const double top = random.Uniform(0.4, 0.6);
  floor.Box({-half_x, -half_y, 0.12}, {half_x, half_y, top});
  floor.Box({-half_x, half_y - 0.06, 0.0}, {half_x, half_y, top + random.Uniform(0.2, 0.6)});
  floor.Box({-0.8 * half_x, half_y - 0.5, top - 0.01},
            {0.8 * half_x, half_y - 0.1, top + random.Uniform(0.08, 0.15)});
}

}  // namespace voxloc::sim
