// SPDX-License-Identifier: Apache-2.0

#include "server/session/scan_setup.h"

#include <utility>

#include "server/convert/options.h"

namespace voxloc::server {

PoseBufferOptions PoseLimits(const Limits& limits, const AlignOptions& align) {
  PoseBufferOptions options;
  options.timeout_s = align.guess_timeout_s;
  options.distance_tolerance_m = align.guess_distance_tolerance_m;
  options.max_poses = limits.max_buffered_poses;
  return options;
}

absl::StatusOr<CheckedSetup> CheckSetup(const Config& config, const ResidentMaps& maps,
                                        const v1::ScanSetup& setup) {
  CheckedSetup checked;
  if (absl::Status status = CheckVehicle(setup.vehicle()); !status.ok()) return status;
  auto recipe = RecipeFromProto(config, setup);
  if (!recipe.ok()) return recipe.status();
  auto map = maps.FindAtLeast(setup.map(), setup.min_map_revision(), setup.vehicle());
  if (!map.ok()) return map.status();
  checked.map = *std::move(map);
  auto profile = ProfileOnMap(recipe->align.profile, *checked.map.facts->build, setup.map());
  if (!profile.ok()) return profile.status();
  checked.profile_on_map = *std::move(profile);
  checked.source.vehicle = setup.vehicle();
  checked.source.map = setup.map();
  checked.source.recipe = *std::move(recipe);
  checked.source.max_points = config.limits.max_points_per_scan;
  return checked;
}

}  // namespace voxloc::server
