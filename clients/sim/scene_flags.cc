// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "clients/sim/simulate_flags.h"

namespace voxloc::sim {
namespace {

// Remembers that the option was given, so that it can be refused with a scene that has no use for
// it.
CLI::Option* OnlyFor(std::vector<SceneKind> scenes, CLI::Option* option,
                     SimulateArguments& arguments) {
  return option->each(
      [&arguments, scenes = std::move(scenes), name = option->get_name()](const std::string&) {
        arguments.scene_options.emplace_back(name, scenes);
      });
}

void AddTownFlags(CLI::App& command, SimulateArguments& arguments) {
  TownOptions& town = arguments.simulation.town;
  const auto add = [&](const char* name, double& value, const char* help) {
    OnlyFor({SceneKind::kTown}, command.add_option(name, value, help), arguments)
        ->capture_default_str()
        ->group("Town");
  };
  add("--street-spacing", town.street_spacing_m,
      "Set the approximate distance between junctions, m (50 to 300)");
  add("--missing-streets", town.missing_streets,
      "Leave out this share of the inner streets (0 to 1)");
  add("--density", town.building_density, "Build houses on this share of the plots (0 to 1)");
  add("--trees", town.tree_density, "Plant trees at this share of the possible places (0 to 1)");
}

void AddPlantFlags(CLI::App& command, SimulateArguments& arguments) {
  OnlyFor({SceneKind::kField},
          command.add_option("--posts", arguments.simulation.field.posts_per_hectare,
                             "Set the number of posts and trees per hectare (0 to 100)"),
          arguments)
      ->capture_default_str()
      ->group("Field");
  OnlyFor({SceneKind::kForest},
          command.add_option("--trees-per-hectare", arguments.simulation.forest.trees_per_hectare,
                             "Set the number of trees per hectare (0 to 2000)"),
          arguments)
      ->capture_default_str()
      ->group("Forest");
}

// Options of several scenes, each with its own default.
void AddSharedFlags(CLI::App& command, SimulateArguments& arguments) {
  GivenOptions& given = arguments.given;
  const auto add = [&](const char* name, std::vector<SceneKind> scenes,
                       std::optional<double>& value, const char* help) {
    OnlyFor(std::move(scenes), command.add_option(name, value, help), arguments)
        ->group("Several scenes");
  };
  const std::vector<SceneKind> passages = {SceneKind::kCorridor, SceneKind::kTunnel};
  add("--size", {SceneKind::kTown, SceneKind::kField, SceneKind::kForest}, given.size_m,
      "Set the edge of the town, or of the area of the tracks, m (town: 100 to 5000; field: 100 to "
      "2000; forest: 100 to 1000); default 300, in a forest 200");
  add("--relief", {SceneKind::kTown, SceneKind::kField, SceneKind::kForest, SceneKind::kMotorway},
      given.relief_m,
      "Set the approximate height range of the ground, m (0 to 20); default 4 in a town, 0.5 in a "
      "field, 6 in a forest, 8 beside a motorway");
  add("--parked", {SceneKind::kTown, SceneKind::kGarage}, given.parked_car_density,
      "Park cars at this share of the parking places (0 to 1); parked cars are in the map; default "
      "0.45 in a town, 0.6 in a garage");
  add("--length",
      {SceneKind::kCorridor, SceneKind::kTunnel, SceneKind::kHall, SceneKind::kMotorway},
      given.length_m,
      "Set the length that is driven, m (corridor, tunnel: 50 to 3000; motorway: 300 to 3000), or "
      "the length of the hall (25 to 80); default 1000 in a corridor and a tunnel, 1500 on a "
      "motorway, 25 to 80 by the seed in a hall");
  add("--width", {SceneKind::kCorridor, SceneKind::kTunnel, SceneKind::kHall}, given.width_m,
      "Set the distance between the walls, m (8 to 40, in a hall 20 to 60); default by the seed: 8 "
      "to 14, in a hall 20 to 60");
  add("--height", {SceneKind::kCorridor, SceneKind::kTunnel, SceneKind::kHall}, given.height_m,
      "Set the height of the walls, or of the crown of the vault, m (3 to 30, in a hall 5 to 15); "
      "default by the seed: 4 to 8 in a corridor, 5 to 8 in a tunnel, 6 to 12 in a hall");
  add("--heading", passages, given.heading_deg,
      "Set the direction of the axis, from x towards y, deg (-180 to 180); default by the seed");
  add("--slope", passages, given.slope,
      "Set the rise of the axis, m per m (-0.15 to 0.15); default 0 in a corridor, 0.01 to 0.04 up "
      "or down by the seed in a tunnel");
}

// What an old map shows otherwise than the scans.
void AddAgeFlags(CLI::App& command, SimulateArguments& arguments) {
  MapAgeOptions& age = arguments.simulation.map_age;
  const auto add = [&](const char* name, std::vector<SceneKind> scenes, double& value,
                       const char* help) {
    OnlyFor(std::move(scenes), command.add_option(name, value, help), arguments)
        ->capture_default_str()
        ->group("Old map");
  };
  const std::vector<SceneKind> built = {SceneKind::kTown, SceneKind::kHall, SceneKind::kGarage,
                                        SceneKind::kMotorway};
  add("--changed-parking", {SceneKind::kTown, SceneKind::kGarage}, age.changed_parking,
      "Change this share of the parking places in the map: cars are gone, others are there (0 to "
      "1)");
  add("--missing-structures", built, age.missing_structures,
      "Leave this share of the houses, racks, rooms or bridges out of the map (0 to 1)");
  add("--moved-structures", built, age.moved_structures,
      "Move this share of them and of the outer walls in the map (0 to 1)");
  add("--moved-by", built, age.moved_by_m, "Set the distance of these moves, m (0.05 to 2)");
}

}  // namespace

void AddSceneFlags(CLI::App& command, SimulateArguments& arguments) {
  command.add_option("--seed", arguments.seed, "Set the seed of the scene and its map")
      ->capture_default_str()
      ->group("Scene");
  command
      .add_option(
          "--scene", arguments.scene,
          "Choose the scene: town, corridor, tunnel, field, hall, garage, forest or motorway")
      ->capture_default_str()
      ->group("Scene");
  AddTownFlags(command, arguments);
  AddPlantFlags(command, arguments);
  AddSharedFlags(command, arguments);
  AddAgeFlags(command, arguments);
}

}  // namespace voxloc::sim
