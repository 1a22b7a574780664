// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "clients/sim/furniture.h"

namespace voxloc::sim {
namespace {

// What one house has in common on all its sides. Metres.
struct HouseStyle {
  int floors;
  double floor_height;
  double bay;           // distance from window to window
  double window_width;  // as a fraction of the bay
  double sill;          // above the floor
  double head;          // below the next floor
  double recess;        // of the windows behind the facade
  double band_out;      // by how far the bands between the windows stand out
  double balcony_chance;
  double balcony_depth;

  [[nodiscard]] double wall_height() const { return floors * floor_height + 0.4; }
};

HouseStyle RandomStyle(Random& random) {
  HouseStyle style;
  style.floors = random.UniformInt(1, 5);
  style.floor_height = random.Uniform(2.7, 3.5);
  style.bay = random.Uniform(1.7, 3.8);
  style.window_width = random.Uniform(0.4, 0.7);
  style.sill = random.Uniform(0.5, 1.0);
  style.head = random.Uniform(0.3, 0.6);
  style.recess = random.Uniform(0.12, 0.4);
  style.band_out = random.Uniform(0.015, 0.08);
  style.balcony_chance = random.Chance(0.4) ? random.Uniform(0.2, 0.7) : 0.0;
  style.balcony_depth = random.Uniform(0.9, 1.6);
  return style;
}

void AddBalcony(const Builder& wall, const HouseStyle& style, double x, double z, double width) {
  const double out = style.balcony_depth;
  const double half = 0.5 * width;
  wall.Box({x - half, -0.05, z - 0.18}, {x + half, out, z});
  wall.Box({x - half, out - 0.06, z - 0.01}, {x + half, out - 0.01, z + 1.0});
  wall.Box({x - half + 0.01, 0.0, z - 0.01}, {x - half + 0.06, out, z + 0.95});
  wall.Box({x + half - 0.06, 0.0, z - 0.01}, {x + half - 0.01, out, z + 0.95});
}

// One wall, `width` wide, centred on the frame's origin, facing its y.
void AddWall(const Builder& wall, const HouseStyle& style, double width, double foundation,
             bool front, Random& random) {
  const int bays = std::max(1, static_cast<int>(std::lround(width / style.bay)));
  const double bay = width / bays;
  const double pier_half = 0.5 * bay * (1.0 - style.window_width);
  const double back = -style.recess - 0.02;
  const double top = style.wall_height();
  for (int i = 0; i <= bays; ++i) {
    const double x = -0.5 * width + i * bay;
    wall.Box({std::max(x - pier_half, -0.5 * width), back, -foundation},
             {std::min(x + pier_half, 0.5 * width), 0.0, top});
  }
  const int door_bay = front ? random.UniformInt(0, bays - 1) : -1;
  const double out = style.band_out;
  for (int floor = 0; floor <= style.floors; ++floor) {
    const double from = floor == 0 ? -foundation : floor * style.floor_height - style.head;
    const double to = floor == style.floors ? top : floor * style.floor_height + style.sill;
    if (floor == 0 && door_bay >= 0) {
      const double left = -0.5 * width + door_bay * bay + pier_half;
      const double right = -0.5 * width + (door_bay + 1) * bay - pier_half;
      wall.Box({-0.5 * width, back, from}, {left, out, to});
      wall.Box({right, back, from}, {0.5 * width, out, to});
      wall.Box({left - 0.2, back, from}, {right + 0.2, 0.6, 0.17});
    } else {
      wall.Box({-0.5 * width, back, from}, {0.5 * width, out, to});
    }
  }
  if (!front) return;

  for (int floor = 1; floor < style.floors; ++floor) {
    for (int i = 0; i < bays; ++i) {
      if (!random.Chance(style.balcony_chance)) continue;
      AddBalcony(wall, style, -0.5 * width + (i + 0.5) * bay, floor * style.floor_height,
                 0.9 * bay);
    }
  }
  const double ledge = random.Uniform(0.12, 0.45);
  wall.Box({-0.5 * width - 0.05, back, top - 0.35}, {0.5 * width + 0.05, ledge, top + 0.05});
  if (style.floors >= 2 && random.Chance(0.3)) {  // a bay window over the upper floors
    const double half = random.Uniform(0.8, 1.4);
    const double x = random.Uniform(-0.5, 0.5) * std::max(0.0, width - 3.0 * half);
    wall.Box({x - half, -0.05, style.floor_height - 0.2},
             {x + half, random.Uniform(0.4, 0.8), top - 0.5});
  }
  if (random.Chance(0.25)) {  // an awning, sloping down to the street
    const Builder slope =
        wall.Rotated({0.0, 0.0, random.Uniform(2.6, 3.0)}, -0.25, Eigen::Vector3d::UnitX());
    const double half = random.Uniform(0.25, 0.45) * width;
    slope.Box({-half, -0.2, -0.03}, {half, random.Uniform(0.9, 1.4), 0.03});
  }
  if (random.Chance(0.7)) {
    const double x = (random.Chance(0.5) ? 0.5 : -0.5) * width * 0.97;
    wall.Cylinder({x, out + 0.08, -0.3}, random.Uniform(0.04, 0.07), top + 0.2);
  }
}

void AddRoof(const Builder& house, const HouseStyle& style, double width, double depth,
             Random& random) {
  const double top = style.wall_height();
  const bool gable = style.floors >= 2 && depth < 1.9 * top && random.Chance(0.6);
  if (gable) {
    // A square bar on its edge: the upper half is a roof of 45 degrees with its gables.
    const Builder ridge =
        house.Rotated({0.0, -0.5 * depth, top}, 0.25 * M_PI, Eigen::Vector3d::UnitX());
    const double half = 0.5 * depth / std::sqrt(2.0);
    const double half_length = 0.5 * width - style.recess - 0.02;
    ridge.Box({-half_length, -half, -half}, {half_length, half, half});
    if (random.Chance(0.7)) {
      const double x = random.Uniform(-0.35, 0.35) * width;
      house.Box({x - 0.35, -0.6 * depth, top},
                {x + 0.35, -0.6 * depth + 0.6, top + 0.5 * depth + 0.9});
    }
    return;
  }
  house.Box({-0.5 * width, -depth, top - 0.2}, {0.5 * width, -0.05, top});
  const double parapet = random.Uniform(0.2, 0.9);
  house.Box({-0.5 * width, -0.25, top - 0.01}, {0.5 * width, -0.02, top + parapet});
}

}  // namespace

void AddBuilding(const BuildingPlot& plot, Random random, std::vector<Solid>& solids) {
  const Builder house{plot.frame, Label::kBuilding, solids};
  const HouseStyle style = RandomStyle(random);
  const double width = plot.width_m;
  const double depth = plot.depth_m;
  const double inset = style.recess;
  house.Box({-0.5 * width + inset, -depth + inset, -plot.foundation_m},
            {0.5 * width - inset, -inset, style.wall_height() - 0.01});
  // Walls stand around it; what they leave open is windows and doors.
  solids.back().material = Material::kGlass;
  AddWall(house, style, width, plot.foundation_m, true, random);
  AddWall(house.At({0.5 * width, -0.5 * depth, 0.0}, -0.5 * M_PI), style, depth, plot.foundation_m,
          false, random);
  AddWall(house.At({0.0, -depth, 0.0}, M_PI), style, width, plot.foundation_m, false, random);
  AddWall(house.At({-0.5 * width, -0.5 * depth, 0.0}, 0.5 * M_PI), style, depth, plot.foundation_m,
          false, random);
  AddRoof(house, style, width, depth, random);
}

}  // namespace voxloc::sim
