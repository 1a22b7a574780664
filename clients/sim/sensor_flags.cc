// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/simulate_flags.h"

namespace voxloc::sim {
namespace {

constexpr char kGroup[] = "LiDAR";
constexpr char kReturnGroup[] = "LiDAR's returns";

void AddBeamFlags(CLI::App& command, SimulateArguments& arguments) {
  GivenSensor& given = arguments.sensor;
  const auto add = [&](const char* name, auto& value, const char* help) {
    command.add_option(name, value, help)->group(kGroup);
  };
  add("--sensor", given.preset,
      "Choose the beams and the range of a kind of LiDAR: spinning-16, spinning-32, spinning-64, "
      "spinning-128 or solid-state; default 32 evenly spaced rings from -25 to 15 deg, 1800 steps, "
      "1 to 100 m. The flags below replace parts");
  add("--rings", given.rings, "Set the number of rings of the LiDAR, evenly spaced (1 to 256)");
  add("--min-elevation", given.min_elevation_deg,
      "Set the elevation of the lowest of evenly spaced rings, deg (-90 to 90)");
  add("--max-elevation", given.max_elevation_deg,
      "Set the elevation of the highest of evenly spaced rings, deg (the lowest to 90)");
  add("--field-of-view", given.field_of_view_deg,
      "Set the horizontal field of view, centred ahead, deg (1 to 360)");
  add("--steps", given.azimuth_steps,
      "Set the number of rays per ring over the field of view (8 to 36000)");
  add("--min-range", given.min_range_m,
      "Drop returns of surfaces nearer than this, m (0 to the maximum range)");
  add("--max-range", given.max_range_m,
      "Drop returns of surfaces farther than this, m (0.1 to 1000)");
}

void AddReturnFlags(CLI::App& command, LidarOptions& lidar) {
  const auto add = [&](const char* name, double& value, const char* help) {
    command.add_option(name, value, help)->capture_default_str()->group(kReturnGroup);
  };
  add("--noise", lidar.range_noise_m, "Set the standard deviation of the range, m (0 to 1)");
  add("--noise-growth", lidar.range_noise_per_m,
      "Add this standard deviation per metre of range, in quadrature, m per m (0 to 0.1)");
  add("--range-bias", lidar.range_bias_m, "Add this to every range, m (-1 to 1)");
  add("--beam-divergence", lidar.beam_divergence_deg,
      "Set the full width of a beam, deg (0 to 2); at edges it measures ranges between fore- and "
      "background (mixed pixels); 0: none");
  add("--dropout", lidar.dropout, "Drop this share of the returns (0 to 1)");
  add("--glass-dropout", lidar.glass_dropout, "Drop this share of the returns of windows (0 to 1)");
  add("--dark-dropout", lidar.dark_car_dropout,
      "Drop this share of the returns of dark cars, three in ten (0 to 1)");
  add("--wet-ground", lidar.wet_ground_dropout,
      "Drop this share of the returns of ground at grazing incidence, less at steeper incidence (0 "
      "to 1)");
  add("--incidence-dropout", lidar.incidence_dropout,
      "Drop this share of the returns of any surface at grazing incidence, much less at steeper "
      "incidence (0 to 1)");
  command
      .add_flag("--keep-missing", lidar.keep_missing,
                "Write missing returns as (0, 0, 0) instead of leaving them out")
      ->group(kReturnGroup);
}

}  // namespace

void AddLidarFlags(CLI::App& command, SimulateArguments& arguments) {
  AddBeamFlags(command, arguments);
  AddReturnFlags(command, arguments.simulation.lidar);
}

}  // namespace voxloc::sim
