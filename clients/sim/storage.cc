// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "clients/sim/furniture.h"

namespace voxloc::sim {
namespace {

constexpr double kRackDepth_m = 1.1;

// How many pieces of about `pitch_m` fill `length_m`; at least one.
int PieceCount(double length_m, double pitch_m) {
  return std::max(1, static_cast<int>(length_m / pitch_m));
}

struct RackStyle {
  double bay_m;
  double level_m;
  int levels;
  double fill;  // share of the places with goods
};

// One row along x, `length_m` long, centred on the frame's origin.
void AddRackRow(const Builder& row, double length_m, const RackStyle& style, Random& random) {
  const int bays = PieceCount(length_m, style.bay_m);
  const double bay_m = length_m / bays;
  const double half_depth = 0.5 * kRackDepth_m;
  const double height_m = style.levels * style.level_m + 0.3;
  for (int i = 0; i <= bays; ++i) {
    const double x =
        std::clamp(-0.5 * length_m + i * bay_m, -0.5 * length_m + 0.06, 0.5 * length_m - 0.06);
    for (const double y : {-half_depth + 0.06, half_depth - 0.06}) {
      row.As(Label::kPole).Box({x - 0.05, y - 0.05, 0.0}, {x + 0.05, y + 0.05, height_m});
    }
  }
  for (int level = 1; level <= style.levels; ++level) {
    const double z = level * style.level_m;
    row.As(Label::kFence)
        .Box({-0.5 * length_m, -half_depth, z - 0.12}, {0.5 * length_m, half_depth, z});
  }
  for (int level = 0; level <= style.levels; ++level) {
    const double room_m = level == style.levels ? 1.2 : style.level_m - 0.2;
    for (int i = 0; i < bays; ++i) {
      const double width = random.Uniform(0.55, 0.92) * bay_m;
      const double height = random.Uniform(0.4, 0.95) * room_m;
      const double depth = random.Uniform(0.7, 1.0) * half_depth;
      const double shift = random.Uniform(-0.5, 0.5) * (0.94 * bay_m - width);
      if (!random.Chance(style.fill)) continue;
      const double x = -0.5 * length_m + (i + 0.5) * bay_m + shift;
      const double z = level * style.level_m;
      row.Box({x - 0.5 * width, -depth, z}, {x + 0.5 * width, depth, z + height});
    }
  }
}

void AddMachine(const Builder& place, double half_x, double half_y, double headroom_m,
                Random random) {
  const double base = random.Uniform(0.3, 1.1);
  const double top = std::min(headroom_m - 0.5, base + random.Uniform(0.6, 2.4));
  place.Box({-half_x, -half_y, 0.0}, {half_x, half_y, base});
  const double split = random.Uniform(-0.4, 0.4) * half_x;
  place.Box({-half_x, -0.8 * half_y, base - 0.01}, {split, random.Uniform(0.4, 0.9) * half_y, top});
  const double radius = random.Uniform(0.3, 0.8) * std::min(half_x - split, half_y) * 0.7;
  place.Cylinder({0.5 * (split + half_x), 0.0, base - 0.01}, radius,
                 random.Uniform(0.5, 1.0) * (top - base) + 0.2);
  if (random.Chance(0.6)) {  // a duct up to the beams
    place.As(Label::kPole)
        .Cylinder({-0.5 * half_x, 0.0, top - 0.1}, random.Uniform(0.08, 0.25), headroom_m - top);
  }
  if (random.Chance(0.5)) {  // a cabinet beside it
    place.Box({half_x - 0.5, half_y - 0.05, 0.0},
              {half_x, half_y + 0.45, random.Uniform(1.4, 2.1)});
  }
}

}  // namespace

void AddRacks(const FloorBlock& block, Random random, std::vector<Solid>& solids) {
  const Builder floor{block.frame, Label::kBuilding, solids};
  RackStyle style;
  style.bay_m = random.Uniform(1.8, 3.2);
  style.level_m = random.Uniform(1.2, 1.9);
  const double height_m = std::min(block.headroom_m - 1.8, random.Uniform(3.0, 9.0));
  style.levels = PieceCount(height_m, style.level_m);
  style.fill = random.Uniform(0.45, 0.9);
  const double pitch_m = kRackDepth_m + random.Uniform(0.3, 2.6);
  const int rows = PieceCount(block.size_y_m - kRackDepth_m + pitch_m, pitch_m);
  for (int i = 0; i < rows; ++i) {
    const double y = (i - 0.5 * (rows - 1)) * pitch_m;
    AddRackRow(floor.At({0.0, y, 0.0}), block.size_x_m, style, random);
  }
}

void AddMachines(const FloorBlock& block, Random random, std::vector<Solid>& solids) {
  const Builder floor{block.frame, Label::kBuilding, solids};
  const int columns = PieceCount(block.size_x_m, random.Uniform(3.5, 6.5));
  const int rows = PieceCount(block.size_y_m, random.Uniform(3.5, 6.5));
  const double cell_x = block.size_x_m / columns;
  const double cell_y = block.size_y_m / rows;
  for (int i = 0; i < columns; ++i) {
    for (int k = 0; k < rows; ++k) {
      const double half_x = 0.5 * cell_x * random.Uniform(0.4, 0.8);
      const double half_y = 0.5 * cell_y * random.Uniform(0.4, 0.8);
      const uint64_t key = random.Next();
      if (random.Chance(0.15)) continue;
      const Eigen::Vector3d middle((i + 0.5) * cell_x - 0.5 * block.size_x_m,
                                   (k + 0.5) * cell_y - 0.5 * block.size_y_m, 0.0);
      AddMachine(floor.At(middle, random.Chance(0.5) ? M_PI : 0.0), half_x, half_y,
                 block.headroom_m, Random(key));
    }
  }
}

void AddStackedGoods(const FloorBlock& block, Random random, std::vector<Solid>& solids) {
  const Builder floor{block.frame, Label::kBuilding, solids};
  const int columns = PieceCount(block.size_x_m, random.Uniform(1.5, 2.4));
  const int rows = PieceCount(block.size_y_m, random.Uniform(1.5, 2.4));
  const double cell_x = block.size_x_m / columns;
  const double cell_y = block.size_y_m / rows;
  for (int i = 0; i < columns; ++i) {
    for (int k = 0; k < rows; ++k) {
      const Builder place = floor.At({(i + 0.5) * cell_x - 0.5 * block.size_x_m,
                                      (k + 0.5) * cell_y - 0.5 * block.size_y_m, 0.0},
                                     random.Uniform(-0.08, 0.08));
      const double kind = random.Uniform();
      const double height = random.Uniform(0.5, 2.6);
      const double half = random.Uniform(0.45, 0.62);
      if (kind < 0.25) continue;
      if (kind < 0.4) {
        place.Cylinder({0.0, 0.0, 0.0}, 0.6 * half, 0.9);
      } else {
        place.Box({-half, -0.9 * half, 0.0}, {half, 0.9 * half, 0.15});
        place.Box({-0.95 * half, -0.85 * half, 0.14}, {0.95 * half, 0.85 * half, 0.15 + height});
      }
    }
  }
}

}  // namespace voxloc::sim
