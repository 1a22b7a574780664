// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/floor_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace voxloc::sim {
namespace {

constexpr double kInnerWall_m = 0.15;
// A vehicle 0.5 m wide keeps 0.25 m from what stands beside its way, and furniture at the walls is
// up to 0.6 m deep.
constexpr double kWayToFurniture_m = 0.5;
constexpr double kWallToWay_m = 1.1;
constexpr double kWayPitch_m = 4.5;  // from aisle to aisle, about
constexpr double kWayShift_m = 0.4;
constexpr double kTurn_m = 0.4;         // of a way at either end, for turning
constexpr double kMinWay_m = 1.3;       // between the doors along a corridor
constexpr double kShortestWay_m = 0.9;  // the same where there is no place for more: over 2 kTurn_m
constexpr double kPassingPeople_m = 0.3;  // where people walk beside a way

// What buildings of one use have in common; pairs are the least and the greatest value, metres.
struct UseStyle {
  std::pair<double, double> length_m;
  int max_corridors;
  std::pair<double, double> corridor_m;   // width
  std::pair<double, double> depth_m;      // of rooms, from the corridor to the other side
  std::pair<double, double> width_m;      // of rooms, along the corridor
  std::pair<double, double> far_depth_m;  // of the last row of rooms
  std::pair<double, double> far_width_m;
  std::pair<double, double> ceiling_m;
};

UseStyle StyleOf(BuildingUse use) {
  switch (use) {
    case BuildingUse::kOffices:
      return {{24.0, 40.0}, 2,          {1.8, 2.6},  {4.5, 8.0},
              {4.0, 10.0},  {4.5, 8.0}, {4.0, 16.0}, {2.5, 3.2}};
    case BuildingUse::kFlat:
      return {{12.0, 18.0}, 1,          {1.6, 2.0}, {4.0, 5.5},
              {4.0, 6.5},   {4.0, 6.5}, {4.0, 8.0}, {2.4, 2.9}};
    case BuildingUse::kWorkshop:
      return {{20.0, 36.0}, 1,           {1.8, 2.8}, {4.0, 6.0}, {4.0, 9.0},
              {10.0, 20.0}, {9.0, 20.0}, {3.2, 4.5}};
  }
  return {};
}

double Draw(const std::pair<double, double>& range, Random& random) {
  return random.Uniform(range.first, range.second);
}

class PlanBuilder {
 public:
  explicit PlanBuilder(Random random) : random_(random) {
    plan_.use = static_cast<BuildingUse>(random_.UniformInt(0, 2));
    style_ = StyleOf(plan_.use);
    plan_.length_m = Draw(style_.length_m, random_);
    plan_.ceiling_m = Draw(style_.ceiling_m, random_);
  }

  // Rows of rooms and corridors by turns, from y = 0 upwards.
  FloorPlan Build() && {
    const int corridors = random_.UniformInt(1, style_.max_corridors);
    std::vector<double> row_y;  // of the lower side of each row
    std::vector<double> depth_m;
    double y = 0.0;
    for (int i = 0; i <= corridors; ++i) {
      row_y.push_back(y);
      depth_m.push_back(Draw(i == corridors ? style_.far_depth_m : style_.depth_m, random_));
      y += depth_m.back();
      if (i == corridors) break;
      const double width_m = Draw(style_.corridor_m, random_);
      AddCorridor({0.0, y + kInnerWall_m}, {plan_.length_m, y + kInnerWall_m + width_m});
      y += width_m + 2.0 * kInnerWall_m;
    }
    plan_.width_m = y;
    if (corridors == 2) AddCrossCorridor(row_y[1], depth_m[1]);
    for (int i = 0; i <= corridors; ++i) {
      AddRow(i, row_y[static_cast<size_t>(i)], depth_m[static_cast<size_t>(i)], corridors);
    }
    for (const std::vector<CorridorNode>& nodes : nodes_) JoinAlong(nodes);
    for (PlanWall& wall : corridor_walls_) plan_.inner_walls.push_back(std::move(wall));
    for (PlanWall& wall : plan_.inner_walls) {
      std::sort(wall.openings.begin(), wall.openings.end(),
                [](const DoorOpening& a, const DoorOpening& b) { return a.at_m < b.at_m; });
    }
    return std::move(plan_);
  }

 private:
  struct CorridorNode {
    double x_m;
    int junction;
  };
  struct Span {
    double low_m;
    double high_m;
    [[nodiscard]] double length_m() const { return high_m - low_m; }
  };

  void AddCorridor(const Eigen::Vector2d& low, const Eigen::Vector2d& high) {
    plan_.corridors.push_back({low, high, {}});
    nodes_.emplace_back();
    for (const double y_m : {low.y() - 0.5 * kInnerWall_m, high.y() + 0.5 * kInnerWall_m}) {
      PlanWall wall;
      wall.start = {low.x(), y_m};
      wall.length_m = high.x() - low.x();
      corridor_walls_.push_back(wall);
    }
  }

  [[nodiscard]] static Street Way(int from, int to, double pavement_m) {
    Street way;
    way.from = from;
    way.to = to;
    way.clear_m = kTurn_m;
    way.lane_offset_m = 0.0;
    way.lane_width_m = 0.0;
    way.pavement_m = pavement_m;
    return way;
  }

  void Join(int from, int to, double pavement_m) {
    plan_.ways.push_back(Way(from, to, pavement_m));
  }

  int AddJunction(double x_m, double y_m) {
    plan_.junctions.emplace_back(x_m, y_m);
    return static_cast<int>(plan_.junctions.size()) - 1;
  }

  // The junction in the middle of a corridor at x.
  int CorridorJunction(size_t corridor, double x_m) {
    for (const CorridorNode& node : nodes_[corridor]) {
      if (node.x_m == x_m) return node.junction;
    }
    const PlanRoom& place = plan_.corridors[corridor];
    const int junction = AddJunction(x_m, 0.5 * (place.low.y() + place.high.y()));
    nodes_[corridor].push_back({x_m, junction});
    return junction;
  }

  void JoinAlong(std::vector<CorridorNode> nodes) {
    std::sort(nodes.begin(), nodes.end(),
              [](const CorridorNode& a, const CorridorNode& b) { return a.x_m < b.x_m; });
    for (size_t i = 1; i < nodes.size(); ++i) {
      Join(nodes[i - 1].junction, nodes[i].junction, kPassingPeople_m);
    }
  }

  // Joins both corridors through the middle row of rooms.
  void AddCrossCorridor(double row_y_m, double depth_m) {
    const double width_m = Draw(style_.corridor_m, random_);
    const double x_m = random_.Uniform(0.35, 0.65) * plan_.length_m;
    cross_ = {x_m - 0.5 * width_m, x_m + 0.5 * width_m};
    plan_.corridors.push_back({{cross_.low_m, row_y_m}, {cross_.high_m, row_y_m + depth_m}, {}});
    Join(CorridorJunction(0, x_m), CorridorJunction(1, x_m), kPassingPeople_m);
    for (const size_t wall : {size_t{1}, size_t{2}}) {
      corridor_walls_[wall].openings.push_back({x_m, width_m, plan_.ceiling_m, 0.0, 0.0});
      plan_.doors.emplace_back(x_m, corridor_walls_[wall].start.y());
    }
    for (const double wall_x :
         {cross_.low_m - 0.5 * kInnerWall_m, cross_.high_m + 0.5 * kInnerWall_m}) {
      AddWallBetweenRooms(wall_x, row_y_m, depth_m);
    }
  }

  PlanWall& AddWallBetweenRooms(double x_m, double y_m, double depth_m) {
    PlanWall wall;
    wall.start = {x_m, y_m};
    wall.along_y = true;
    wall.length_m = depth_m;
    plan_.inner_walls.push_back(wall);
    return plan_.inner_walls.back();
  }

  // Cuts a row into rooms with walls between them.
  void AddRow(int row, double y_m, double depth_m, int corridors) {
    const bool last = row == corridors;
    std::vector<Span> parts = {{0.0, plan_.length_m}};
    if (corridors == 2 && row == 1) {
      parts = {{0.0, cross_.low_m - kInnerWall_m}, {cross_.high_m + kInnerWall_m, plan_.length_m}};
    }
    for (const Span& part : parts) {
      Span room = {part.low_m, part.low_m};
      bool first = true;
      int neighbour = 0;  // its index
      while (room.high_m < part.high_m) {
        if (!first) room.low_m = room.high_m + kInnerWall_m;
        room.high_m = room.low_m + RoomWidth(part.high_m - room.low_m,
                                             last ? style_.far_width_m : style_.width_m);
        AddRoom(room, y_m, depth_m, row, corridors);
        const int added = static_cast<int>(plan_.rooms.size()) - 1;
        if (!first) Separate(neighbour, added, depth_m);
        neighbour = added;
        first = false;
      }
    }
  }

  // Of the next room, with `left_m` to the end of the row; what remains is enough for another.
  double RoomWidth(double left_m, const std::pair<double, double>& range) {
    const double most_m = std::min(range.second, left_m - kInnerWall_m - range.first);
    if (most_m < range.first) return left_m;
    const double width_m = random_.Uniform(range.first, most_m);
    return left_m <= range.second && random_.Chance(0.5) ? left_m : width_m;
  }

  void AddRoom(const Span& x, double y_m, double depth_m, int row, int corridors) {
    // The corridor before or behind the row.
    const bool before = row > 0 && (row == corridors || random_.Chance(0.5));
    const auto corridor = static_cast<size_t>(before ? row - 1 : row);
    const double door_x =
        DoorPlace(nodes_[corridor], {x.low_m + kWallToWay_m, x.high_m - kWallToWay_m});
    PlanRoom room = {{x.low_m, y_m}, {x.high_m, y_m + depth_m}, {}};
    room.aisles.to_block_m = kWayToFurniture_m;
    room.aisles.frame.origin = {0.5 * (x.low_m + x.high_m), y_m + 0.5 * depth_m, 0.0};
    room.aisles.x_m = AisleLines(x.length_m(), kWallToWay_m, kWayPitch_m, kWayShift_m, random_);
    room.aisles.y_m = AisleLines(depth_m, kWallToWay_m, kWayPitch_m, kWayShift_m, random_);
    // The nearest aisle moves to the door.
    const double to_door_m = door_x - room.aisles.frame.origin.x();
    const auto nearest = std::min_element(
        room.aisles.x_m.begin(), room.aisles.x_m.end(),
        [&](double a, double b) { return std::abs(a - to_door_m) < std::abs(b - to_door_m); });
    *nearest = to_door_m;
    const auto column = static_cast<int>(nearest - room.aisles.x_m.begin());
    first_junction_.push_back(static_cast<int>(plan_.junctions.size()));
    room.aisles.AppendStreets(Way(0, 0, kPassingPeople_m), plan_.junctions, plan_.ways);
    plan_.rooms.push_back(std::move(room));
    const int aisle_row = before ? 0 : LastRow(plan_.rooms.size() - 1);
    // Ways through doors have no side to walk on.
    Join(CorridorJunction(corridor, door_x), JunctionOf(plan_.rooms.size() - 1, aisle_row, column),
         0.0);
    PlanWall& wall = corridor_walls_[2 * corridor + (before ? 1 : 0)];
    AddDoor(wall, door_x, plan_.rooms.back());
  }

  // Between `low` and `high`: opposite a door on the other side of the corridor, or far enough from
  // every door.
  double DoorPlace(const std::vector<CorridorNode>& nodes, const Span& range) {
    const auto distance = [&](double x_m) {
      double nearest = plan_.length_m;
      for (const CorridorNode& node : nodes) nearest = std::min(nearest, std::abs(node.x_m - x_m));
      return nearest;
    };
    for (int attempt = 0; attempt < 8; ++attempt) {
      const double x_m = random_.Uniform(range.low_m, range.high_m);
      if (distance(x_m) >= kMinWay_m) return x_m;
    }
    for (const CorridorNode& node : nodes) {
      if (node.x_m >= range.low_m && node.x_m <= range.high_m) return node.x_m;
    }
    // No door within the range, which is at least 2 kShortestWay_m long.
    return 0.5 * (range.low_m + range.high_m);
  }

  // The leaf opens into the room, towards its longer side, where there is space for it.
  void AddDoor(PlanWall& wall, double at_m, const PlanRoom& room) {
    const Eigen::Vector2d along =
        wall.along_y ? Eigen::Vector2d::UnitY() : Eigen::Vector2d::UnitX();
    const Eigen::Vector2d to_middle = 0.5 * (room.low + room.high) - (wall.start + at_m * along);
    DoorOpening door;
    door.hinge = to_middle.dot(along) < 0.0 ? -1.0 : 1.0;
    door.side = along.x() * to_middle.y() < along.y() * to_middle.x() ? -1.0 : 1.0;
    door.at_m = at_m;
    door.width_m = random_.Uniform(0.9, 1.2);
    door.height_m = random_.Uniform(2.0, 2.15);
    wall.openings.push_back(door);
    plan_.doors.push_back(wall.along_y ? Eigen::Vector2d(wall.start.x(), wall.start.y() + at_m)
                                       : Eigen::Vector2d(wall.start.x() + at_m, wall.start.y()));
  }

  // The wall between two rooms of a row, in some with a door at one of the outer aisles.
  void Separate(int left, int right, double depth_m) {
    const auto a = static_cast<size_t>(left);
    const auto b = static_cast<size_t>(right);
    const double x_m = 0.5 * (plan_.rooms[a].high.x() + plan_.rooms[b].low.x());
    PlanWall& wall = AddWallBetweenRooms(x_m, plan_.rooms[a].low.y(), depth_m);
    if (!random_.Chance(0.35)) return;
    const bool top = random_.Chance(0.5);
    AddDoor(wall, top ? depth_m - kWallToWay_m : kWallToWay_m, plan_.rooms[b]);
    const int last_column = static_cast<int>(plan_.rooms[a].aisles.x_m.size()) - 1;
    Join(JunctionOf(a, top ? LastRow(a) : 0, last_column), JunctionOf(b, top ? LastRow(b) : 0, 0),
         0.0);
  }

  [[nodiscard]] int LastRow(size_t room) const {
    return static_cast<int>(plan_.rooms[room].aisles.y_m.size()) - 1;
  }
  [[nodiscard]] int JunctionOf(size_t room, int row, int column) const {
    return first_junction_[room] + row * static_cast<int>(plan_.rooms[room].aisles.x_m.size()) +
           column;
  }

  Random random_;
  UseStyle style_ = {};
  FloorPlan plan_;
  Span cross_ = {0.0, 0.0};
  std::vector<PlanWall> corridor_walls_;  // two of each corridor: the lower and the upper one
  std::vector<std::vector<CorridorNode>> nodes_;  // of each corridor
  std::vector<int> first_junction_;               // of each room
};

}  // namespace

FloorPlan MakeFloorPlan(Random random) { return PlanBuilder(random).Build(); }

}  // namespace voxloc::sim
