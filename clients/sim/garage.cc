// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "clients/sim/furniture.h"
#include "clients/sim/random.h"
#include "clients/sim/scenes.h"
#include "clients/sim/street_network.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

constexpr double kWallThickness_m = 0.2;
constexpr double kBeamDepth_m = 0.15;
constexpr double kParapet_m = 0.9;
constexpr double kColumnHalf_m = 0.17;
constexpr double kRampThickness_m = 0.2;
constexpr double kGroundMargin_m = 5.0;

// Streams of chance, one per concern.
enum Stream : uint64_t { kGaragePlan = 1, kHeading, kGarageCars, kPipes, kRooms };

// The dimensions of a garage, and the aisles and ramps that follow from them. x across the ramps, y
// along them, zero in the middle of the lower floor.
struct GaragePlan {
  static constexpr double kJunctionClear_m = 6.0;
  static constexpr double kAisleHalf_m = 3.5;
  static constexpr double kBayDepth_m = 5.0;
  static constexpr double kRampHalf_m = 3.6;  // half the width of a ramp with its walls

  double ceiling_m = 2.4;     // above each floor
  double slab_m = 0.3;        // between the storeys
  double ramp_half_m = 11.0;  // half the length of a ramp, seen from above
  double bay_m = 2.5;         // width of a bay
  int bays_per_column = 3;
  // 1: going up, the western ramp leads north and the eastern one south; -1: the other way around.
  double sense = 1.0;

  // Ceilings from 2.35 to 2.5 m, ramps from 20 to 27 m long.
  explicit GaragePlan(Random random)
      : ceiling_m(random.Uniform(2.35, 2.5)),
        slab_m(random.Uniform(0.25, 0.3)),
        ramp_half_m(random.Uniform(10.0, 13.5)),
        bay_m(random.Uniform(2.4, 2.7)),
        bays_per_column(random.UniformInt(2, 4)),
        sense(random.Chance(0.5) ? 1.0 : -1.0) {}

  [[nodiscard]] double rise_m() const { return ceiling_m + slab_m; }
  // Middles of the aisles along y and along x, and of the ramps.
  [[nodiscard]] double aisle_x_m() const {
    return 2.0 * kRampHalf_m + 0.15 + kBayDepth_m + kAisleHalf_m;
  }
  [[nodiscard]] double aisle_y_m() const { return ramp_half_m + kJunctionClear_m; }
  // From the middle to the outer walls.
  [[nodiscard]] double half_x_m() const { return aisle_x_m() + kAisleHalf_m + kBayDepth_m; }
  [[nodiscard]] double half_y_m() const { return aisle_y_m() + kAisleHalf_m + kBayDepth_m; }

  [[nodiscard]] StreetNetwork Aisles(const LocalFrame& world_F_garage) const;
};

StreetNetwork GaragePlan::Aisles(const LocalFrame& world_F_garage) const {
  std::vector<Eigen::Vector2d> junctions;
  std::vector<Street> streets;
  const auto join = [&](int from, int to, double from_elevation_m, double to_elevation_m) {
    Street street;
    street.from = from;
    street.to = to;
    street.clear_m = kJunctionClear_m;
    street.pavement_m = 0.5;
    street.from_elevation_m = from_elevation_m;
    street.to_elevation_m = to_elevation_m;
    streets.push_back(street);
  };
  for (int storey = 0; storey < 2; ++storey) {
    // The ramp that goes up northwards meets the lower southern aisle and the upper northern one.
    const double south_ramp_x = (storey == 0 ? -sense : sense) * kRampHalf_m;
    for (const auto& [x, y] :
         {std::pair(-aisle_x_m(), -aisle_y_m()), std::pair(aisle_x_m(), -aisle_y_m()),
          std::pair(aisle_x_m(), aisle_y_m()), std::pair(-aisle_x_m(), aisle_y_m()),
          std::pair(south_ramp_x, -aisle_y_m()), std::pair(-south_ramp_x, aisle_y_m())}) {
      junctions.emplace_back(world_F_garage.ToMap({x, y, 0.0}).head<2>());
    }
    for (const auto& [from, to] :
         {std::pair(kSouthWest, kNorthWest), std::pair(kSouthEast, kNorthEast),
          std::pair(kSouthWest, kSouthRamp), std::pair(kSouthRamp, kSouthEast),
          std::pair(kNorthWest, kNorthRamp), std::pair(kNorthRamp, kNorthEast)}) {
      const double floor_m = storey * rise_m();
      join(storey * kGarageJunctions + from, storey * kGarageJunctions + to, floor_m, floor_m);
    }
  }
  join(kSouthRamp, kGarageJunctions + kNorthRamp, 0.0, rise_m());
  join(kNorthRamp, kGarageJunctions + kSouthRamp, 0.0, rise_m());
  return {std::move(junctions), std::move(streets)};
}

// A row of bays: x along it, y towards the aisle, the origin in its middle at the bays' back.
struct BayRow {
  Builder place;
  double half_m;
};

class GarageBuilder {
 public:
  explicit GarageBuilder(const GarageOptions& options)
      : options_(options),
        plan_(Random(options.seed, kGaragePlan)),
        frame_{Eigen::Vector3d::Zero(),
               YawRotation(Random(options.seed, kHeading).Uniform(-M_PI, M_PI))} {}

  World Build() && {
    AddShell();
    AddSlab();
    AddRamps();
    for (int storey = 0; storey < 2; ++storey) {
      AddBeams(storey);
      AddPipes(storey);
      uint64_t number = 0;
      for (const BayRow& row : BayRows(storey)) AddBays(row, storey, number++);
    }
    Ground ground(std::hypot(plan_.half_x_m(), plan_.half_y_m()) + kGroundMargin_m);
    return World{plan_.Aisles(frame_), Scene(std::move(ground), std::move(solids_)),
                 std::move(objects_)};
  }

 private:
  // Outer walls and the roof.
  void AddShell() {
    const double x = plan_.half_x_m();
    const double y = plan_.half_y_m();
    const double roof = plan_.rise_m() + plan_.ceiling_m;
    for (const double side : {-1.0, 1.0}) {
      const double out_x = side * (x + 0.5 * kWallThickness_m);
      const double out_y = side * (y + 0.5 * kWallThickness_m);
      garage_.Box({out_x - 0.5 * kWallThickness_m, -y - kWallThickness_m, -0.3},
                  {out_x + 0.5 * kWallThickness_m, y + kWallThickness_m, roof});
      objects_.push_back(MakeSceneObject(solids_.size() - 1, solids_, ObjectKind::kWall,
                                         frame_.At({0.0, 0.0, 0.0}, 0.5 * M_PI)));
      garage_.Box({-x, out_y - 0.5 * kWallThickness_m, -0.3},
                  {x, out_y + 0.5 * kWallThickness_m, roof});
      objects_.push_back(MakeSceneObject(solids_.size() - 1, solids_, ObjectKind::kWall, frame_));
    }
    garage_.Box({-x - kWallThickness_m, -y - kWallThickness_m, roof},
                {x + kWallThickness_m, y + kWallThickness_m, roof + plan_.slab_m});
  }

  // The upper floor, open above both ramps.
  void AddSlab() {
    const double x = plan_.half_x_m();
    const double y = plan_.half_y_m();
    const double open_x = 2.0 * GaragePlan::kRampHalf_m;
    const double open_y = plan_.ramp_half_m;
    const double top = plan_.rise_m();
    const double bottom = plan_.ceiling_m;
    garage_.Box({-x, -y, bottom}, {-open_x, y, top});
    garage_.Box({open_x, -y, bottom}, {x, y, top});
    garage_.Box({-open_x, -y, bottom}, {open_x, -open_y, top});
    garage_.Box({-open_x, open_y, bottom}, {open_x, y, top});
  }

  // Two ramps side by side that rise in opposite directions, with walls on both sides, a wall under
  // the upper end and a parapet on the upper storey above the lower end.
  void AddRamps() {
    const double half = plan_.ramp_half_m;
    const double half_width = GaragePlan::kRampHalf_m;
    for (const double x : {-2.0 * half_width, 0.0, 2.0 * half_width}) {
      garage_.Box({x - 0.5 * kWallThickness_m, -half, -0.3},
                  {x + 0.5 * kWallThickness_m, half, plan_.rise_m() + kParapet_m});
    }
    const double angle = std::atan2(plan_.rise_m(), 2.0 * half);
    const double half_length = std::hypot(half, 0.5 * plan_.rise_m());
    for (const double side : {-1.0, 1.0}) {
      const double north = -side * plan_.sense;  // 1 where the ramp rises northwards
      const Builder ramp = garage_.Rotated({side * half_width, 0.0, 0.5 * plan_.rise_m()},
                                           north * angle, Eigen::Vector3d::UnitX());
      const double inner = half_width - 0.5 * kWallThickness_m;
      ramp.As(Label::kPavement)
          .Box({-inner, -half_length, -kRampThickness_m}, {inner, half_length, 0.0});
      const double x_from = side * half_width - inner;
      const double x_to = side * half_width + inner;
      const double upper = north * (half - 0.5 * kWallThickness_m);
      garage_.Box({x_from, upper - 0.5 * kWallThickness_m, -0.3},
                  {x_to, upper + 0.5 * kWallThickness_m, plan_.ceiling_m});
      garage_.Box({x_from, -upper - 0.5 * kWallThickness_m, plan_.ceiling_m},
                  {x_to, -upper + 0.5 * kWallThickness_m, plan_.rise_m() + kParapet_m});
    }
  }

  [[nodiscard]] std::vector<BayRow> BayRows(int storey) const {
    const double z = storey * plan_.rise_m();
    const double x = plan_.half_x_m();
    const double y = plan_.half_y_m();
    const double inner_x = 2.0 * GaragePlan::kRampHalf_m + 0.5 * kWallThickness_m;
    const double inner_half_m = plan_.ramp_half_m - 0.4;
    // The rows at the outer walls leave the corners free, where those of two walls would meet.
    const double south_half_m = x - GaragePlan::kBayDepth_m - 1.0;
    const double west_half_m = y - GaragePlan::kBayDepth_m - 1.0;
    return {{garage_.At({0.0, -y, z}), south_half_m},
            {garage_.At({0.0, y, z}, M_PI), south_half_m},
            {garage_.At({x, 0.0, z}, 0.5 * M_PI), west_half_m},
            {garage_.At({-x, 0.0, z}, -0.5 * M_PI), west_half_m},
            {garage_.At({-inner_x, 0.0, z}, 0.5 * M_PI), inner_half_m},
            {garage_.At({inner_x, 0.0, z}, -0.5 * M_PI), inner_half_m}};
  }

  // Cars in the bays, columns between them, and in some rows a room instead of a few bays.
  void AddBays(const BayRow& row, int storey, uint64_t number) {
    Random random(options_.seed, kGarageCars, number, static_cast<uint64_t>(storey));
    const int bays = static_cast<int>(2.0 * row.half_m / plan_.bay_m);
    const double from = -0.5 * bays * plan_.bay_m;
    for (int i = 0; i <= bays; i += plan_.bays_per_column) {
      const double x = from + i * plan_.bay_m;
      const double y = GaragePlan::kBayDepth_m - 0.6;
      row.place.Box({x - kColumnHalf_m, y - kColumnHalf_m, -0.01},
                    {x + kColumnHalf_m, y + kColumnHalf_m, plan_.ceiling_m});
    }
    Random rooms(options_.seed, kRooms, number, static_cast<uint64_t>(storey));
    int room_from = -1;
    int room_to = -1;
    if (rooms.Chance(0.35)) {
      room_from = rooms.UniformInt(0, bays - 2);
      room_to = std::min(bays, room_from + rooms.UniformInt(1, 3));
      row.place.Box({from + room_from * plan_.bay_m + 0.3, -0.05, -0.01},
                    {from + room_to * plan_.bay_m - 0.3, rooms.Uniform(2.5, 4.2), plan_.ceiling_m});
      objects_.push_back(
          MakeSceneObject(solids_.size() - 1, solids_, ObjectKind::kStructure, row.place.frame));
    }
    for (int i = 0; i < bays; ++i) {
      const double x = from + (i + 0.5) * plan_.bay_m + random.Uniform(-0.12, 0.12);
      const double y = random.Uniform(2.75, 2.9);
      const bool backwards = random.Chance(0.4);
      const double yaw = random.Uniform(-0.03, 0.03) + (backwards ? -0.5 : 0.5) * M_PI;
      const uint64_t key = random.Next();
      const bool taken = random.Chance(options_.parked_car_density);
      if (i >= room_from && i < room_to) continue;
      const LocalFrame frame = row.place.frame.At({x, y, 0.0}, yaw);
      const size_t first = solids_.size();
      if (taken) AddCar(frame, Label::kParkedCar, Random(key), solids_);
      objects_.push_back(MakeSceneObject(first, solids_, ObjectKind::kParkingPlace, frame));
    }
  }

  // Across the garage, from the outer walls to the ramps or, behind these, to the other side.
  void AddBeams(int storey) {
    const double top = storey * plan_.rise_m() + plan_.ceiling_m;
    const double pitch_m = plan_.bays_per_column * plan_.bay_m;
    const int beams = static_cast<int>(2.0 * plan_.half_y_m() / pitch_m);
    const double inner_x = 2.0 * GaragePlan::kRampHalf_m;
    for (int i = 0; i <= beams; ++i) {
      const double y = (i - 0.5 * beams) * pitch_m;
      if (std::abs(y) > plan_.ramp_half_m + 0.2) {
        garage_.Box({-plan_.half_x_m(), y - 0.15, top - kBeamDepth_m},
                    {plan_.half_x_m(), y + 0.15, top});
        continue;
      }
      garage_.Box({-plan_.half_x_m(), y - 0.15, top - kBeamDepth_m}, {-inner_x, y + 0.15, top});
      garage_.Box({inner_x, y - 0.15, top - kBeamDepth_m}, {plan_.half_x_m(), y + 0.15, top});
    }
  }

  // Under the ceiling along both long aisles.
  void AddPipes(int storey) {
    const double ceiling = storey * plan_.rise_m() + plan_.ceiling_m;
    for (const double side : {-1.0, 1.0}) {
      Random random(options_.seed, kPipes, static_cast<uint64_t>(storey), side < 0.0 ? 0 : 1);
      const int pipes = random.UniformInt(1, 3);
      for (int i = 0; i < pipes; ++i) {
        const double radius = random.Uniform(0.03, 0.08);
        const double x =
            side * (plan_.aisle_x_m() + random.Uniform(-0.95, 1.8) * GaragePlan::kAisleHalf_m);
        const double half_m = plan_.half_y_m() * random.Uniform(0.4, 0.99);
        const Builder pipe = garage_.As(Label::kPole)
                                 .Rotated({x, half_m, ceiling - kBeamDepth_m - radius}, 0.5 * M_PI,
                                          Eigen::Vector3d::UnitX());
        pipe.Cylinder({0.0, 0.0, 0.0}, radius, 2.0 * half_m);
      }
    }
  }

  GarageOptions options_;
  GaragePlan plan_;
  LocalFrame frame_;
  std::vector<Solid> solids_;
  std::vector<SceneObject> objects_;
  Builder garage_{frame_, Label::kBuilding, solids_};
};

}  // namespace

OptionRows ListOptions(const GarageOptions& options) {
  return {{"seed", options.seed},
          {"parked_car_density", options.parked_car_density, "parked car density", 0.0, 1.0}};
}

absl::StatusOr<World> BuildGarage(const GarageOptions& options) {
  VOXLOC_TRY(Validate(options));
  return GarageBuilder(options).Build();
}

}  // namespace voxloc::sim
