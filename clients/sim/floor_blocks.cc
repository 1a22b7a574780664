// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/floor_blocks.h"

#include <algorithm>
#include <cmath>

namespace voxloc::sim {
namespace {

constexpr double kRackDepth_m = 1.1;

// How many pieces of about `pitch_m` fill `length_m`; at least one.
int PieceCount(double length_m, double pitch_m) {
  return std::max(1, static_cast<int>(length_m / pitch_m));
}

// Calls add(middle, x, y) for each place of a grid over the block, column by column. A place is x
// by y metres, which are drawn from about `min_m` to `max_m`.
template <typename Add>
void ForEachPlace(const FloorBlock& block, double min_m, double max_m, Random& random,
                  const Add& add) {
  const int columns = PieceCount(block.size_x_m, random.Uniform(min_m, max_m));
  const int rows = PieceCount(block.size_y_m, random.Uniform(min_m, max_m));
  const double x = block.size_x_m / columns;
  const double y = block.size_y_m / rows;
  for (int i = 0; i < columns; ++i) {
    for (int k = 0; k < rows; ++k) {
      add(Eigen::Vector3d((i + 0.5) * x - 0.5 * block.size_x_m,
                          (k + 0.5) * y - 0.5 * block.size_y_m, 0.0),
          x, y);
    }
  }
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

// x to the back of the seat, the origin in the middle of its legs on the floor.
void AddChair(const Builder& chair, Random& random) {
  const double half = random.Uniform(0.19, 0.24);
  const double seat = random.Uniform(0.42, 0.5);
  for (const double x : {-half, half}) {
    for (const double y : {-half, half}) {
      chair.As(Label::kPole).Cylinder({x, y, 0.0}, 0.02, seat);
    }
  }
  chair.Box({-half - 0.02, -half - 0.02, seat - 0.04}, {half + 0.02, half + 0.02, seat});
  chair.Box({half - 0.02, -half, seat - 0.01}, {half + 0.02, half, random.Uniform(0.78, 1.05)});
}

// Its top is 2 half_x by 2 half_y metres.
void AddTable(const Builder& table, double half_x, double half_y, Random& random) {
  const double top = random.Uniform(0.7, 0.78);
  table.Box({-half_x, -half_y, top - 0.03}, {half_x, half_y, top});
  const double leg_x = half_x - 0.05;
  const double leg_y = half_y - 0.05;
  if (random.Chance(0.4)) {  // sides instead of legs
    for (const double x : {-leg_x, leg_x}) {
      table.Box({x - 0.02, -leg_y, 0.0}, {x + 0.02, leg_y, top - 0.02});
    }
  } else {
    for (const double x : {-leg_x, leg_x}) {
      for (const double y : {-leg_y, leg_y}) {
        table.As(Label::kPole).Cylinder({x, y, 0.0}, 0.025, top - 0.02);
      }
    }
  }
  const int things = random.UniformInt(0, 3);
  for (int i = 0; i < things; ++i) {
    const double half = random.Uniform(0.05, 0.2) * half_x;
    const double x = random.Uniform(-0.7, 0.7) * half_x;
    const double y = random.Uniform(-0.5, 0.5) * half_y;
    const double half_depth = random.Uniform(0.03, 0.25) * half_y;
    table.Box({x - half, y - half_depth, top - 0.01},
              {x + half, y + half_depth, top + random.Uniform(0.05, 0.5)});
  }
}

}  // namespace

std::vector<FloorBlock> AisleGrid::Blocks(double headroom_m) const {
  std::vector<FloorBlock> blocks;
  for (size_t i = 0; i + 1 < x_m.size(); ++i) {
    for (size_t k = 0; k + 1 < y_m.size(); ++k) {
      FloorBlock& block = blocks.emplace_back();
      block.frame = frame.At({0.5 * (x_m[i] + x_m[i + 1]), 0.5 * (y_m[k] + y_m[k + 1]), 0.0});
      block.size_x_m = x_m[i + 1] - x_m[i] - 2.0 * to_block_m;
      block.size_y_m = y_m[k + 1] - y_m[k] - 2.0 * to_block_m;
      block.headroom_m = headroom_m;
    }
  }
  return blocks;
}

void AisleGrid::AppendStreets(Street aisle, std::vector<Eigen::Vector2d>& junctions,
                              std::vector<Street>& streets) const {
  const int first = static_cast<int>(junctions.size());
  for (const double y : y_m) {
    for (const double x : x_m) junctions.emplace_back(frame.ToMap({x, y, 0.0}).head<2>());
  }
  const int columns = static_cast<int>(x_m.size());
  const int rows = static_cast<int>(y_m.size());
  const auto join = [&](int from, int to) {
    aisle.from = from;
    aisle.to = to;
    streets.push_back(aisle);
  };
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const int junction = first + row * columns + column;
      if (column + 1 < columns) join(junction, junction + 1);
      if (row + 1 < rows) join(junction, junction + columns);
    }
  }
}

std::vector<double> AisleLines(double span_m, double wall_m, double pitch_m, double shift_m,
                               Random& random) {
  const double between_m = span_m - 2.0 * wall_m;
  const int blocks = std::max(1, static_cast<int>(std::lround(between_m / pitch_m)));
  std::vector<double> lines;
  for (int i = 0; i <= blocks; ++i) {
    const bool inner = i > 0 && i < blocks;
    lines.push_back(-0.5 * between_m + i * between_m / blocks +
                    (inner ? random.Uniform(-shift_m, shift_m) : 0.0));
  }
  return lines;
}

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
  ForEachPlace(block, 3.5, 6.5, random, [&](const Eigen::Vector3d& middle, double x, double y) {
    const double half_x = 0.5 * x * random.Uniform(0.4, 0.8);
    const double half_y = 0.5 * y * random.Uniform(0.4, 0.8);
    const uint64_t key = random.Next();
    if (random.Chance(0.15)) return;
    AddMachine(floor.At(middle, random.Chance(0.5) ? M_PI : 0.0), half_x, half_y, block.headroom_m,
               Random(key));
  });
}

void AddStackedGoods(const FloorBlock& block, Random random, std::vector<Solid>& solids) {
  const Builder floor{block.frame, Label::kBuilding, solids};
  ForEachPlace(block, 1.5, 2.4, random, [&](const Eigen::Vector3d& middle, double, double) {
    const Builder place = floor.At(middle, random.Uniform(-0.08, 0.08));
    const double kind = random.Uniform();
    const double height = random.Uniform(0.5, 2.6);
    const double half = random.Uniform(0.45, 0.62);
    if (kind < 0.25) return;
    if (kind < 0.4) {
      place.Cylinder({0.0, 0.0, 0.0}, 0.6 * half, 0.9);
    } else {
      place.Box({-half, -0.9 * half, 0.0}, {half, 0.9 * half, 0.15});
      place.Box({-0.95 * half, -0.85 * half, 0.14}, {0.95 * half, 0.85 * half, 0.15 + height});
    }
  });
}

void AddTables(const FloorBlock& block, Random random, std::vector<Solid>& solids) {
  const Builder floor{block.frame, Label::kBuilding, solids};
  // A place has a table and chairs on both of its long sides, which are drawn in under it.
  ForEachPlace(block, 1.8, 3.2, random, [&](const Eigen::Vector3d& middle, double x, double y) {
    const Builder place = floor.At(middle);
    const double half_x = 0.5 * std::min(0.95 * x, random.Uniform(1.0, 2.0));
    const double half_y = 0.5 * std::min(0.95 * y, random.Uniform(0.6, 1.2));
    Random contents(random.Next());
    if (random.Chance(0.1)) return;
    AddTable(place, half_x, half_y, contents);
    const double chair_y = std::min(half_y + 0.15, 0.5 * y - 0.26);
    for (const double side : {-1.0, 1.0}) {
      const double chair_x = contents.Uniform(-0.3, 0.3) * half_x;
      const double turn = contents.Uniform(-0.4, 0.4);
      if (contents.Chance(0.25) || chair_y < 0.0) continue;
      AddChair(place.At({chair_x, side * chair_y, 0.0}, side * 0.5 * M_PI + turn), contents);
    }
  });
}

}  // namespace voxloc::sim
