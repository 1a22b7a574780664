// SPDX-License-Identifier: Apache-2.0

#include "server/session/session_setup.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "server/convert/options.h"
#include "server/convert/pose.h"
#include "server/convert/range.h"
#include "server/convert/session.h"

namespace voxloc::server {
namespace {

// 0 asks for the server's.
uint32_t Granted(uint32_t asked, uint32_t limit) {
  return asked == 0 ? limit : std::min(asked, limit);
}

}  // namespace

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
  VOXLOC_TRY(CheckVehicle(setup.vehicle()));
  VOXLOC_ASSIGN_OR_RETURN(auto recipe, RecipeFromProto(config, setup));
  VOXLOC_ASSIGN_OR_RETURN(checked.map,
                          maps.FindAtLeast(setup.map(), setup.min_map_revision(), setup.vehicle()));
  VOXLOC_ASSIGN_OR_RETURN(
      checked.profile_on_map,
      ProfileOnMap(recipe.align.profile, *checked.map.facts->build, setup.map()));
  checked.source.vehicle = setup.vehicle();
  checked.source.map = setup.map();
  checked.source.recipe = std::move(recipe);
  checked.source.max_points = config.limits.max_points_per_scan;
  return checked;
}

absl::StatusOr<OpenedSession> OpenSession(const Config& config, const ResidentMaps& maps,
                                          const LastPoses& last_poses,
                                          const v1::OpenSession& open) {
  VOXLOC_ASSIGN_OR_RETURN(auto setup, CheckSetup(config, maps, open.setup()));
  OpenedSession session{std::move(setup)};
  ScanSource& source = session.source;
  source.setup = std::make_shared<const v1::ScanSetup>(open.setup());
  SessionState::Options state;
  state.active = !open.start_inactive();
  state.poses = PoseLimits(config.limits, source.recipe.align);
  if (open.has_recovery()) {
    VOXLOC_ASSIGN_OR_RETURN(state.recovery,
                            RecoveryOptionsFromProto(open.recovery(), config.limits));
  }
  if (open.has_accumulation()) {
    VOXLOC_ASSIGN_OR_RETURN(state.accumulation,
                            AccumulationFromProto(open.accumulation(), config.limits));
  }
  if (open.has_fusion()) {
    VOXLOC_ASSIGN_OR_RETURN(state.fusion, OdometryErrorsFromProto(open.fusion()));
  }
  if (open.from_last_pose()) {
    if (source.vehicle.empty()) {
      return absl::InvalidArgumentError(
          "from_last_pose needs the vehicle's name in setup.vehicle, which is empty");
    }
    session.last_pose = last_poses.Find(source.vehicle, source.map);
    if (session.last_pose.has_value()) state.last_map_T_base = session.last_pose->map_T_base;
  }
  source.state = std::make_shared<SessionState>(state);
  if (!v1::StampClock_IsValid(open.clock())) {
    return absl::InvalidArgumentError(absl::StrCat("clock must be UNIX (1) or OWN (2) (got ",
                                                   static_cast<int>(open.clock()), ")"));
  }
  source.own_clock = open.clock() == v1::STAMP_CLOCK_OWN;

  const v1::SessionLimits& asked = open.limits();
  VOXLOC_TRY(CheckSeconds("limits.timeout_s", asked.timeout_s()));
  VOXLOC_TRY(CheckSeconds("limits.max_delay_s", asked.max_delay_s()));
  source.max_points = Granted(asked.max_points_per_scan(), config.limits.max_points_per_scan);
  source.timeout_s = asked.timeout_s();
  source.max_delay_s = asked.max_delay_s();
  session.max_waiting_scans =
      std::clamp<uint32_t>(asked.max_waiting_scans(), 1, config.limits.max_waiting_scans);
  return session;
}

absl::StatusOr<ScanSource> ConfigureSession(const Config& config, const ResidentMaps& maps,
                                            const ScanSource& source,
                                            const v1::ConfigureSession& configure) {
  const v1::ScanSetup& setup = configure.setup();
  if (!setup.map().empty() || !setup.vehicle().empty() || setup.min_map_revision() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "setup.map, setup.vehicle and setup.min_map_revision of configure must be unset: they hold "
        "for the whole session (got '",
        absl::CEscape(setup.map().substr(0, 64)), "', '",
        absl::CEscape(setup.vehicle().substr(0, 64)), "' and ", setup.min_map_revision(), ")"));
  }
  ScanSource changed = source;
  // Fields that the change sets replace the old ones whole.
  auto merged = std::make_shared<v1::ScanSetup>(*source.setup);
  if (setup.has_options()) {
    *merged->mutable_options() = setup.options();
    VOXLOC_ASSIGN_OR_RETURN(changed.recipe.align, AlignOptionsFromProto(setup.options(), config));
    if (auto map = maps.Find(source.map, source.vehicle); map.ok()) {
      auto profile = ProfileOnMap(changed.recipe.align.profile, *map->facts->build, source.map);
      if (!profile.ok()) return absl::InvalidArgumentError(profile.status().message());
    }
  }
  if (setup.has_filter()) {
    *merged->mutable_filter() = setup.filter();
    VOXLOC_ASSIGN_OR_RETURN(changed.recipe.filters, ScanFiltersFromProto(setup.filter()));
  }
  if (setup.has_output()) {
    *merged->mutable_output() = setup.output();
    VOXLOC_TRY(OutputFromProto(setup.output(), changed.recipe));
  }
  if (setup.has_base_t_sensor()) {
    *merged->mutable_base_t_sensor() = setup.base_t_sensor();
    VOXLOC_ASSIGN_OR_RETURN(changed.recipe.base_T_sensor, MountFromProto(setup.base_t_sensor()));
  }
  VOXLOC_TRY(CompleteRecipe(changed.recipe));
  changed.setup = std::move(merged);
  const AlignOptions& align = changed.recipe.align;
  changed.state->SetPoseLimits(align.guess_timeout_s, align.guess_distance_tolerance_m);
  return changed;
}

Profile CurrentProfile(const ResidentMaps& maps, const ScanSource& source) {
  const Profile& profile = source.recipe.align.profile;
  if (auto map = maps.Find(source.map, source.vehicle); map.ok()) {
    auto on_map = ProfileOnMap(profile, *map->facts->build, source.map);
    if (on_map.ok()) return *std::move(on_map);
  }
  return profile;
}

}  // namespace voxloc::server
