// SPDX-License-Identifier: Apache-2.0
//
// The scenes that can be simulated, each with its options. Everything follows from the options: the
// same ones give the same world on every machine. Pure functions; InvalidArgument names an option
// that is out of its range.
//
// `sight_m` is the viewing distance: a scene without a natural border extends at least this far
// beyond the drivable part.

#ifndef VOXLOC_CLIENTS_SIM_SCENES_H_
#define VOXLOC_CLIENTS_SIM_SCENES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "clients/sim/options.h"
#include "clients/sim/world.h"

namespace voxloc::sim {

// Town: streets on an irregular grid, houses along them, pavements, parked cars, street furniture,
// gardens and trees, on a ground that rises and falls.
struct TownOptions {
  uint64_t seed = 1;
  double size_m = 300.0;             // edge of the square, [100, 5000]
  double street_spacing_m = 60.0;    // from junction to junction, about, [50, 300]
  double missing_streets = 0.25;     // share of the inner streets left out, [0, 1]
  double building_density = 0.85;    // share of the plots that are built on, [0, 1]
  double tree_density = 0.5;         // share of the places for trees that have one, [0, 1]
  double parked_car_density = 0.45;  // share of the parking places taken, [0, 1]
  double relief_m = 4.0;             // from the lowest to the highest ground, about, [0, 20]
};
[[nodiscard]] OptionRows ListOptions(const TownOptions& options);
[[nodiscard]] absl::StatusOr<World> BuildTown(const TownOptions& options);

// Passages look the same from everywhere along their axis: a straight street between two smooth
// walls, open above (a corridor) or under a vault (a tunnel), without an end in sight. Every
// surface is parallel to the axis, so a scan says nothing about the position along it.
enum class Roof { kNone, kVault };
struct PassageOptions {
  double length_m = 1000.0;   // that can be driven, [50, 3000]
  double width_m = 10.0;      // from wall to wall, [8, 40]
  double height_m = 6.0;      // of the walls, or of the vault's crown, [3, 30]
  double slope = 0.0;         // rise of the axis, m per m, [-0.15, 0.15]
  double heading_deg = 20.0;  // of the axis, counterclockwise from x, [-180, 180]
};
// A corridor 8 to 14 m wide and 4 to 8 m high, level; or a tunnel 8 to 14 m wide and 5 to 8 m high
// that rises or falls by 1 to 4 %. In any direction; 1000 m long.
[[nodiscard]] PassageOptions SeededPassage(uint64_t seed, Roof roof);
[[nodiscard]] OptionRows ListOptions(const PassageOptions& options);
[[nodiscard]] absl::StatusOr<World> BuildPassage(const PassageOptions& options, Roof roof,
                                                 double sight_m);

// Field: open ground with tracks across it and little else. The flatter it is and the fewer posts
// and trees stand on it, the less a scan says about x, y and yaw; flat and bare, nothing.
struct FieldOptions {
  uint64_t seed = 1;
  double size_m = 300.0;           // edge of the square that the tracks cross, [100, 2000]
  double relief_m = 0.5;           // from the lowest to the highest ground, about, [0, 20]
  double posts_per_hectare = 0.0;  // a third of them trees, [0, 100]
};
[[nodiscard]] OptionRows ListOptions(const FieldOptions& options);
[[nodiscard]] absl::StatusOr<World> BuildField(const FieldOptions& options, double sight_m);

// Hall: inside one building, a warehouse or a factory hall. Aisles in a grid between blocks of
// racks, machines or stacked goods; columns, gates, pipes and roof beams. Many of these repeat
// along the hall.
struct HallOptions {
  uint64_t seed = 1;
  double width_m = 40.0;   // from wall to wall, [20, 60]
  double length_m = 50.0;  // from wall to wall, [25, 80]
  double height_m = 8.0;   // from floor to roof, [5, 15]
};
// A width from 20 to 60 m, a length from 25 to 80 m and a height from 6 to 12 m.
[[nodiscard]] HallOptions SeededHall(uint64_t seed);
[[nodiscard]] OptionRows ListOptions(const HallOptions& options);
[[nodiscard]] absl::StatusOr<World> BuildHall(const HallOptions& options);

// Rooms: a storey of one building, offices, a flat or a small workshop, for a small robot. Rooms of
// 4 to 20 m along corridors, with doors, furniture and windows; the robot drives through the doors
// from room to room. The seed decides on all of it.
struct RoomsOptions {
  uint64_t seed = 1;
};
[[nodiscard]] OptionRows ListOptions(const RoomsOptions& options);
[[nodiscard]] absl::StatusOr<World> BuildRooms(const RoomsOptions& options);

// Garage: two storeys with a ceiling at about 2.4 m. On each storey an aisle runs around two ramps
// that lead from one storey to the other; cars stand in bays along the aisle. Both storeys have the
// same walls, columns, beams and aisles; cars, pipes and rooms differ. The lower floor is the
// ground at zero; the upper one is 2.6 to 2.8 m above it.
struct GarageOptions {
  uint64_t seed = 1;
  double parked_car_density = 0.6;  // share of the bays taken, [0, 1]
};
// The junctions of each storey: the corners of the aisle, and where a ramp meets the southern and
// the northern aisle. Those of the upper storey come after those of the lower one. The lower
// southern ramp junction is joined to the upper northern one.
enum GarageJunction : int {
  kSouthWest,
  kSouthEast,
  kNorthEast,
  kNorthWest,
  kSouthRamp,
  kNorthRamp,
  kGarageJunctions  // of a storey
};
[[nodiscard]] OptionRows ListOptions(const GarageOptions& options);
[[nodiscard]] absl::StatusOr<World> BuildGarage(const GarageOptions& options);

// Forest: trees on undulating ground with tracks through it. Trunks of conifers and of broad-leaved
// trees with their crowns, bushes, stumps and logs; hardly a plane anywhere. Trees stand up to 40 m
// beyond the square, which is about how far one sees between them.
struct ForestOptions {
  uint64_t seed = 1;
  double size_m = 200.0;             // edge of the square that the tracks cross, [100, 1000]
  double relief_m = 6.0;             // from the lowest to the highest ground, about, [0, 20]
  double trees_per_hectare = 400.0;  // [0, 2000]
};
[[nodiscard]] OptionRows ListOptions(const ForestOptions& options);
[[nodiscard]] absl::StatusOr<World> BuildForest(const ForestOptions& options, double sight_m);

// Motorway: one road with two carriageways, slightly bent, on embankments and in cuttings. Guard
// rails, gantries, bridges, noise walls, delineators and trees stand along it. Rails and posts
// repeat every few metres.
struct MotorwayOptions {
  uint64_t seed = 1;
  double length_m = 1500.0;  // that can be driven, [300, 3000]
  double relief_m = 8.0;     // of the land on both sides, about, [0, 20]
};
[[nodiscard]] OptionRows ListOptions(const MotorwayOptions& options);
[[nodiscard]] absl::StatusOr<World> BuildMotorway(const MotorwayOptions& options, double sight_m);

// Route: one way of about 5 km through a town, a tunnel under a hill, along a motorway, through
// another town and into a garage, driven in this order. Roads through open land join these parts,
// each of which is the scene of its name. The streets are those of the way only, one-way, with
// speed limits; of a town the other streets are not in its map.
struct RouteOptions {
  uint64_t seed = 1;
  double tunnel_length_m = 1000.0;  // from portal to portal, [100, 2000]
};
[[nodiscard]] OptionRows ListOptions(const RouteOptions& options);
[[nodiscard]] absl::StatusOr<World> BuildRoute(const RouteOptions& options);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SCENES_H_
