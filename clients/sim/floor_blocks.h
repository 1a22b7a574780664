// SPDX-License-Identifier: Apache-2.0
//
// What stands on the floors of buildings: rectangles between aisles in a grid, and the racks,
// machines, goods and tables that fill them.

#ifndef VOXLOC_CLIENTS_SIM_FLOOR_BLOCKS_H_
#define VOXLOC_CLIENTS_SIM_FLOOR_BLOCKS_H_

#include <Eigen/Core>
#include <cmath>
#include <utility>
#include <vector>

#include "clients/sim/furniture.h"
#include "clients/sim/random.h"
#include "clients/sim/solid.h"
#include "clients/sim/street_network.h"

namespace voxloc::sim {

// The frame's origin is the middle of the rectangle on the floor.
struct FloorBlock {
  LocalFrame frame;
  double size_x_m = 10.0;
  double size_y_m = 10.0;
  double headroom_m = 8.0;  // from the floor to the lowest beam
};

// Aisles along both axes of a frame on the floor, which cross each other.
struct AisleGrid {
  LocalFrame frame;
  std::vector<double> x_m;  // middles of the aisles along y, ascending
  std::vector<double> y_m;  // middles of the aisles along x, ascending
  double to_block_m = 1.0;  // from the middle of an aisle to what stands beside it

  // The rectangles between the aisles, column by column.
  [[nodiscard]] std::vector<FloorBlock> Blocks(double headroom_m) const;
  // Appends a junction for each crossing, row by row, and streets like `aisle` between them.
  void AppendStreets(Street aisle, std::vector<Eigen::Vector2d>& junctions,
                     std::vector<Street>& streets) const;
};

// Middles of the aisles across a span around zero: one at `wall_m` from either end, and others
// between them about `pitch_m` apart, each moved by up to `shift_m`.
[[nodiscard]] std::vector<double> AisleLines(double span_m, double wall_m, double pitch_m,
                                             double shift_m, Random& random);

// The walls around a rectangle, half_x_m and half_y_m from its middle: x along the wall, y into the
// rectangle, the origin in the wall's middle; and half of its length.
[[nodiscard]] inline std::vector<std::pair<Builder, double>> WallsAround(const Builder& middle,
                                                                         double half_x_m,
                                                                         double half_y_m) {
  return {{middle.At({0.0, -half_y_m, 0.0}), half_x_m},
          {middle.At({half_x_m, 0.0, 0.0}, 0.5 * M_PI), half_y_m},
          {middle.At({0.0, half_y_m, 0.0}, M_PI), half_x_m},
          {middle.At({-half_x_m, 0.0, 0.0}, -0.5 * M_PI), half_y_m}};
}

// Each fills a block.

// Rows of shelves along x, with goods on some of them.
void AddRacks(const FloorBlock& block, Random random, std::vector<Solid>& solids);
void AddMachines(const FloorBlock& block, Random random, std::vector<Solid>& solids);
// Pallets with boxes, and drums.
void AddStackedGoods(const FloorBlock& block, Random random, std::vector<Solid>& solids);
// Tables and desks with what lies on them, and chairs beside them.
void AddTables(const FloorBlock& block, Random random, std::vector<Solid>& solids);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_FLOOR_BLOCKS_H_
