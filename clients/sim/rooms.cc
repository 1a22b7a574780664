// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "clients/sim/floor_blocks.h"
#include "clients/sim/floor_plan.h"
#include "clients/sim/furniture.h"
#include "clients/sim/random.h"
#include "clients/sim/room_furniture.h"
#include "clients/sim/scenes.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

constexpr double kOuterWall_m = 0.3;
constexpr double kUnderFloor_m = 0.3;  // how far walls go on below the floor
constexpr double kCorner_m = 0.7;      // at the ends of a wall, where the next wall's things stand
constexpr double kDoorReach_m = 1.8;   // from the middle of a door to the end of its open leaf
constexpr double kRoomDepth_m = 0.6;   // of what stands at the walls: see floor_plan.cc
constexpr double kCorridorDepth_m = 0.15;
constexpr double kSmallestBlock_m = 0.5;
constexpr double kBesideBuilding_m = 5.0;

// A robot's map is made by one: from low and high mounts, wherever the robot drives.
const MappingEyes kRobotEyes = {{0.5, 1.3}, 1.0, 0.75, 2.0, 24};

// Streams of chance, one per concern.
enum Stream : uint64_t { kPlan = 1, kHeading, kDoors, kRoomBlocks, kRoomWalls, kCorridors, kLamps };

class RoomsBuilder {
 public:
  explicit RoomsBuilder(const RoomsOptions& options)
      : options_(options), plan_(MakeFloorPlan(Random(options.seed, kPlan))) {
    const LocalFrame turned = {Eigen::Vector3d::Zero(),
                               YawRotation(Random(options.seed, kHeading).Uniform(-M_PI, M_PI))};
    // The middle of the building is the world's.
    house_.frame = turned.At({-0.5 * plan_.length_m, -0.5 * plan_.width_m, 0.0});
  }

  World Build() && {
    AddShell();
    uint64_t number = 0;
    for (const PlanWall& wall : plan_.inner_walls) AddInnerWall(wall, number++);
    number = 0;
    for (const PlanRoom& room : plan_.rooms) AddRoom(room, number++);
    number = 0;
    for (const PlanRoom& corridor : plan_.corridors) {
      AddAlongWalls(corridor, kCorridorDepth_m, Random(options_.seed, kCorridors, number++));
    }
    Ground ground(0.5 * std::hypot(plan_.length_m, plan_.width_m) + kBesideBuilding_m);
    for (Eigen::Vector2d& junction : plan_.junctions) {
      junction = house_.frame.ToMap({junction.x(), junction.y(), 0.0}).head<2>();
    }
    return World{StreetNetwork(std::move(plan_.junctions), std::move(plan_.ways)),
                 Scene(std::move(ground), std::move(solids_)), std::move(objects_), kRobotEyes};
  }

 private:
  [[nodiscard]] Builder MiddleOf(const PlanRoom& room) const {
    const Eigen::Vector2d middle = 0.5 * (room.low + room.high);
    return house_.At({middle.x(), middle.y(), 0.0});
  }
  [[nodiscard]] std::vector<std::pair<Builder, double>> WallsOf(const PlanRoom& room) const {
    const Eigen::Vector2d half = 0.5 * (room.high - room.low);
    return WallsAround(MiddleOf(room), half.x(), half.y());
  }

  // Outer walls and the ceiling.
  void AddShell() {
    const PlanRoom building = {{0.0, 0.0}, {plan_.length_m, plan_.width_m}, {}};
    for (const auto& [wall, half_m] : WallsOf(building)) {
      wall.Box({-half_m - kOuterWall_m, -kOuterWall_m, -kUnderFloor_m},
               {half_m + kOuterWall_m, 0.0, plan_.ceiling_m + 0.2});
      objects_.push_back(
          MakeSceneObject(solids_.size() - 1, solids_, ObjectKind::kWall, wall.frame));
    }
    house_.Box({0.0, 0.0, plan_.ceiling_m}, {plan_.length_m, plan_.width_m, plan_.ceiling_m + 0.2});
  }

  // Between its openings from the floor to the ceiling, and above them.
  void AddInnerWall(const PlanWall& plan, uint64_t number) {
    const Builder wall =
        house_.At({plan.start.x(), plan.start.y(), 0.0}, plan.along_y ? 0.5 * M_PI : 0.0);
    const double half = 0.5 * plan.thickness_m;
    double from = 0.0;
    Random random(options_.seed, kDoors, number);
    for (const DoorOpening& opening : plan.openings) {
      const double low = opening.at_m - 0.5 * opening.width_m;
      const double high = opening.at_m + 0.5 * opening.width_m;
      wall.Box({from, -half, -kUnderFloor_m}, {low, half, plan_.ceiling_m});
      from = high;
      if (opening.height_m >= plan_.ceiling_m) continue;
      wall.Box({low, -half, opening.height_m}, {high, half, plan_.ceiling_m});
      if (opening.hinge == 0.0) continue;
      for (const double x : {low, high}) {  // the frame
        const double out = x == low ? -0.07 : 0.07;
        wall.Box({std::min(x, x + out), -half - 0.015, 0.0},
                 {std::max(x, x + out), half + 0.015, opening.height_m + 0.07});
      }
      AddLeaf(wall, opening, half, random);
    }
    wall.Box({from, -half, -kUnderFloor_m}, {plan.length_m, half, plan_.ceiling_m});
  }

  // Open, nearly flat against the wall beside the opening.
  static void AddLeaf(const Builder& wall, const DoorOpening& opening, double half,
                      Random& random) {
    if (random.Chance(0.2)) return;  // some openings have none
    const double ajar_rad = random.Uniform(0.1, 0.5);
    const Builder hinge = wall.At({opening.at_m + opening.hinge * (0.5 * opening.width_m + 0.02),
                                   opening.side * (half + 0.05), 0.0},
                                  opening.hinge * opening.side * ajar_rad);
    const double reach = opening.hinge * (opening.width_m - 0.04);
    hinge.Box({std::min(0.0, reach), -0.02, 0.01},
              {std::max(0.0, reach), 0.02, opening.height_m - 0.02});
  }

  void AddRoom(const PlanRoom& room, uint64_t number) {
    AisleGrid aisles = room.aisles;
    aisles.frame = MiddleOf(room).frame;
    Random random(options_.seed, kRoomBlocks, number);
    for (const FloorBlock& block : aisles.Blocks(plan_.ceiling_m)) {
      const uint64_t key = random.Next();
      if (std::min(block.size_x_m, block.size_y_m) < kSmallestBlock_m) continue;
      const size_t first = solids_.size();
      FillBlock(block, Random(key));
      objects_.push_back(MakeSceneObject(first, solids_, ObjectKind::kStructure, block.frame));
    }
    AddAlongWalls(room, kRoomDepth_m, Random(options_.seed, kRoomWalls, number));
    AddLamps(room, number);
  }

  void FillBlock(const FloorBlock& block, Random random) {
    // Machines and their cabinets need 3 m, racks 1.2 m and pallets 1.4 m so as not to stand over.
    const double least_m = std::min(block.size_x_m, block.size_y_m);
    const double kind = random.Uniform();
    const Random contents(random.Next());
    if (plan_.use == BuildingUse::kWorkshop && least_m >= 3.0 && kind < 0.5) {
      return AddMachines(block, contents, solids_);
    }
    if (plan_.use == BuildingUse::kWorkshop && least_m >= 1.4 && kind < 0.8) {
      return kind < 0.65 ? AddRacks(block, contents, solids_)
                         : AddStackedGoods(block, contents, solids_);
    }
    if (plan_.use == BuildingUse::kFlat && kind < 0.4) return AddBed(block, contents, solids_);
    AddTables(block, contents, solids_);
  }

  void AddAlongWalls(const PlanRoom& room, double depth_m, Random random) {
    for (const auto& [wall, half_m] : WallsOf(room)) {
      double x = -half_m + kCorner_m;
      while (x < half_m - kCorner_m - 0.4) {
        const double width = std::min(random.Uniform(0.5, 2.0), half_m - kCorner_m - x);
        const WallPlace place = {wall.frame.At({x + 0.5 * width, 0.0, 0.0}), width, depth_m,
                                 plan_.ceiling_m};
        const bool window = random.Chance(0.5);
        const bool taken = random.Chance(0.9);
        const Random contents(random.Next());
        x += width + random.Uniform(0.05, 0.8);
        if (!taken || IsNearDoor(place, depth_m)) continue;
        if (window && width > 0.8 && IsOuter(place.frame)) {
          AddWindow(place, contents, solids_);
          continue;
        }
        const size_t first = solids_.size();
        AddWallPiece(place, contents, solids_);
        objects_.push_back(MakeSceneObject(first, solids_, ObjectKind::kStructure, place.frame));
      }
    }
  }

  [[nodiscard]] bool IsNearDoor(const WallPlace& place, double depth_m) const {
    return std::any_of(plan_.doors.begin(), plan_.doors.end(), [&](const Eigen::Vector2d& door) {
      const Eigen::Vector3d offset =
          place.frame.rotation.transpose() *
          (house_.frame.ToMap({door.x(), door.y(), 0.0}) - place.frame.origin);
      return std::abs(offset.y()) <= depth_m &&
             std::abs(offset.x()) <= kDoorReach_m + 0.5 * place.width_m;
    });
  }

  // Whether a place at a wall is at an outer one.
  [[nodiscard]] bool IsOuter(const LocalFrame& place) const {
    const Eigen::Vector3d at =
        house_.frame.rotation.transpose() * (place.origin - house_.frame.origin);
    constexpr double kTolerance_m = 1e-6;
    return std::min({at.x(), at.y(), plan_.length_m - at.x(), plan_.width_m - at.y()}) <
           kTolerance_m;
  }

  void AddLamps(const PlanRoom& room, uint64_t number) {
    Random random(options_.seed, kLamps, number);
    const double pitch_m = random.Uniform(1.8, 3.5);
    const double down_m = random.Uniform(0.05, 0.3);
    const double half = random.Uniform(0.3, 0.7);
    const Eigen::Vector2d size = room.high - room.low;
    const int count = std::max(1, static_cast<int>(size.x() / pitch_m));
    for (int i = 0; i < count; ++i) {
      const double x = room.low.x() + (i + 0.5) * size.x() / count;
      const double y = 0.5 * (room.low.y() + room.high.y());
      house_.Box({x - 0.1, y - half, plan_.ceiling_m - down_m},
                 {x + 0.1, y + half, plan_.ceiling_m - down_m + 0.06});
    }
  }

  RoomsOptions options_;
  FloorPlan plan_;
  std::vector<Solid> solids_;
  std::vector<SceneObject> objects_;
  Builder house_{LocalFrame(), Label::kBuilding, solids_};  // in the plan's coordinates
};

}  // namespace

OptionRows ListOptions(const RoomsOptions& options) { return {{"seed", options.seed}}; }

absl::StatusOr<World> BuildRooms(const RoomsOptions& options) {
  VOXLOC_TRY(Validate(options));
  return RoomsBuilder(options).Build();
}

}  // namespace voxloc::sim
