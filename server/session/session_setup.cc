// SPDX-License-Identifier: Apache-2.0

#include "server/session/session_setup.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/convert/estimate_options.h"
#include "server/convert/options.h"
#include "server/convert/pose.h"

namespace voxloc::server {
namespace {

// 0 asks for the server's.
uint32_t Granted(uint32_t asked, uint32_t limit) {
  return asked == 0 ? limit : std::min(asked, limit);
}

absl::StatusOr<SessionState::Options> StateOptions(const Limits& limits,
                                                   const v1::OpenSession& open,
                                                   const AlignOptions& align) {
  SessionState::Options options;
  options.active = !open.start_inactive();
  options.poses.timeout_s = align.guess_timeout_s;
  options.poses.distance_tolerance_m = align.guess_distance_tolerance_m;
  options.poses.max_poses = limits.max_buffered_poses;
  if (open.has_recovery()) {
    auto recovery = RecoveryOptionsFromProto(open.recovery(), limits);
    if (!recovery.ok()) return recovery.status();
    options.recovery = *recovery;
  }
  return options;
}

}  // namespace

absl::StatusOr<OpenedSession> OpenSession(const Config& config, const ResidentMaps& maps,
                                          const v1::OpenSession& open) {
  OpenedSession session;
  if (absl::Status status = CheckVehicle(open.vehicle()); !status.ok()) return status;
  auto recipe = RecipeFromProto(config, open.options(), open.filter(), open.output());
  if (!recipe.ok()) return recipe.status();
  if (open.has_base_t_sensor()) {
    auto mount = MountFromProto(open.base_t_sensor());
    if (!mount.ok()) return mount.status();
    recipe->base_T_sensor = *mount;
  }
  auto state = StateOptions(config.limits, open, recipe->align);
  if (!state.ok()) return state.status();
  const v1::SessionLimits& asked = open.limits();
  if (absl::Status status = CheckSeconds("limits.timeout_s", asked.timeout_s()); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckSeconds("limits.max_delay_s", asked.max_delay_s()); !status.ok()) {
    return status;
  }
  auto map = maps.FindAtLeast(open.map(), open.min_map_revision());
  if (!map.ok()) return map.status();
  session.map = *std::move(map);
  auto profile = ProfileOnMap(recipe->align.profile, *session.map.facts->build, open.map());
  if (!profile.ok()) return profile.status();
  session.profile_on_map = *std::move(profile);

  const Limits& limits = config.limits;
  session.source.vehicle = open.vehicle();
  session.source.map = open.map();
  session.source.recipe = *std::move(recipe);
  session.source.max_points = Granted(asked.max_points_per_scan(), limits.max_points_per_scan);
  session.source.timeout_s = asked.timeout_s();
  session.source.max_delay_s = asked.max_delay_s();
  session.source.state = std::make_shared<SessionState>(*state);
  session.max_waiting_scans =
      std::clamp<uint32_t>(asked.max_waiting_scans(), 1, limits.max_waiting_scans);
  return session;
}

absl::StatusOr<ScanSource> ConfigureSession(const Config& config, const ResidentMaps& maps,
                                            const ScanSource& source,
                                            const v1::ConfigureSession& configure) {
  ScanSource changed = source;
  if (configure.has_options()) {
    auto align = AlignOptionsFromProto(configure.options(), config);
    if (!align.ok()) return align.status();
    changed.recipe.align = *std::move(align);
    if (auto map = maps.Find(source.map); map.ok()) {
      auto profile = ProfileOnMap(changed.recipe.align.profile, *map->facts->build, source.map);
      if (!profile.ok()) return absl::InvalidArgumentError(profile.status().message());
    }
  }
  if (configure.has_filter()) {
    auto filters = ScanFiltersFromProto(configure.filter());
    if (!filters.ok()) return filters.status();
    changed.recipe.filters = *std::move(filters);
  }
  if (configure.has_output()) {
    auto output = OutputFromProto(configure.output());
    if (!output.ok()) return output.status();
    changed.recipe.output = *output;
  }
  if (configure.has_base_t_sensor()) {
    auto mount = MountFromProto(configure.base_t_sensor());
    if (!mount.ok()) return mount.status();
    changed.recipe.base_T_sensor = *mount;
  }
  if (absl::Status status = CompleteRecipe(changed.recipe); !status.ok()) return status;
  const AlignOptions& align = changed.recipe.align;
  changed.state->SetPoseLimits(align.guess_timeout_s, align.guess_distance_tolerance_m);
  return changed;
}

Profile CurrentProfile(const ResidentMaps& maps, const ScanSource& source) {
  const Profile& profile = source.recipe.align.profile;
  if (auto map = maps.Find(source.map); map.ok()) {
    auto on_map = ProfileOnMap(profile, *map->facts->build, source.map);
    if (on_map.ok()) return *std::move(on_map);
  }
  return profile;
}

}  // namespace voxloc::server
