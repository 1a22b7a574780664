// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/simulate_command.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/sim/scene_defaults.h"
#include "clients/sim/simulate_flags.h"
#include "clients/sim/simulate_manual.h"

namespace voxloc::sim {

CLI::App* AddSimulateCommand(CLI::App& program, SimulateArguments& arguments) {
  CLI::App* command = program.add_subcommand("simulate", kSimulateDescription);
  command->footer(kSimulateManual);
  command
      ->add_option("OUT", arguments.writer.directory,
                   "Write to this directory, which must be empty or new")
      ->required();
  command->add_flag("--force", arguments.writer.replace, "Replace an earlier simulation in OUT")
      ->group("Output");
  command
      ->add_option("--threads", arguments.writer.threads,
                   "Set the number of threads (0 to 1024); 0: one per core")
      ->capture_default_str()
      ->group("Output");
  AddSceneFlags(*command, arguments);
  AddLidarFlags(*command, arguments);
  AddDriveFlags(*command, arguments);
  AddMapFlags(*command, arguments);
  return command;
}

absl::StatusOr<SimulationOptions> SimulationOf(const SimulateArguments& arguments) {
  SimulationOptions options = arguments.simulation;
  const absl::StatusOr<SceneKind> scene = SceneNamed(arguments.scene);
  if (!scene.ok()) return scene.status();
  options.scene = *scene;
  for (const auto& [name, scenes] : arguments.scene_options) {
    if (std::find(scenes.begin(), scenes.end(), *scene) != scenes.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has no use in --scene ", arguments.scene,
        "; it is for: ", absl::StrJoin(scenes, ", ", [](std::string* out, SceneKind kind) {
          absl::StrAppend(out, ToString(kind));
        })));
  }
  if (absl::Status status = SetSensorOptions(arguments.sensor, options.lidar); !status.ok()) {
    return status;
  }
  SetSceneOptions(arguments.given, arguments.seed, options);
  options.map.seed = arguments.seed;
  options.map_age.seed = arguments.seed;
  options.map_drift.seed = arguments.seed;
  const uint64_t drive_seed = arguments.drive_seed_given ? arguments.drive_seed : arguments.seed;
  options.drive.seed = drive_seed;
  options.lidar.seed = drive_seed;
  options.traffic.seed = drive_seed;
  if (arguments.skew) {
    options.scan_duration_s =
        arguments.scan_duration_s.value_or(std::min(0.1, 1.0 / options.drive.rate_hz));
    options.stamp_at = arguments.stamp_at.value_or(0.0);
  } else if (arguments.scan_duration_s.has_value() || arguments.stamp_at.has_value() ||
             options.point_times) {
    return absl::InvalidArgumentError(
        "--scan-duration, --stamp-at and --point-times must be given with --skew");
  }
  const std::vector<std::string> parts = absl::StrSplit(arguments.map_origin, ',');
  bool valid = parts.size() == 3;
  for (int axis = 0; axis < 3 && valid; ++axis) {
    valid = absl::SimpleAtod(parts[static_cast<size_t>(axis)], &options.map_origin[axis]);
  }
  if (!valid) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--map-origin must be three numbers X,Y,Z (got '", arguments.map_origin, "')"));
  }
  if (arguments.writer.threads < 0 || arguments.writer.threads > 1024) {
    return absl::InvalidArgumentError(
        absl::StrCat("--threads must be from 0 to 1024 (got ", arguments.writer.threads, ")"));
  }
  if (absl::Status status = ValidateSimulationOptions(options); !status.ok()) return status;
  return options;
}

absl::StatusOr<SimulationSummary> RunSimulate(const SimulateArguments& arguments,
                                              const SimulationProgress& progress) {
  const absl::StatusOr<SimulationOptions> options = SimulationOf(arguments);
  if (!options.ok()) return options.status();
  return WriteSimulation(*options, arguments.writer, progress);
}

std::string DescribeSimulation(const SimulateArguments& arguments,
                               const SimulationSummary& summary) {
  const double points_a_scan =
      static_cast<double>(summary.scan_points) / static_cast<double>(summary.scans);
  return absl::StrFormat(
      "%s\n  scene  %s, %u solids, %u moving objects\n  map    %u points in %u tiles\n"
      "  drive  %.0f m in %.1f s\n  scans  %u, %.0f points each\n",
      arguments.writer.directory, arguments.scene, summary.solids, summary.moving_objects,
      summary.map_points, summary.map_tiles, summary.drive_length_m, summary.drive_duration_s,
      summary.scans, points_a_scan);
}

}  // namespace voxloc::sim
