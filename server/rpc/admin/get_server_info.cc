// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/admin/get_server_info.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/host/memory.h"
#include "server/convert/profile.h"
#include "server/observe/engine_devices.h"
#include "server/version/version.h"

namespace voxloc::server {
namespace {

void LimitsToProto(const Config& config, v1::Limits& proto) {
  const Limits& limits = config.limits;
  proto.set_max_message_bytes(limits.max_message_bytes);
  proto.set_max_points_per_scan(limits.max_points_per_scan);
  proto.set_max_sessions(limits.max_sessions);
  proto.set_max_waiting_scans(limits.max_waiting_scans);
  proto.set_max_queued_scans(limits.max_queued_scans);
  proto.set_max_queued_bytes(limits.max_queued_bytes);
  proto.set_max_iterations(limits.max_iterations);
  proto.set_max_poses_per_set(limits.max_poses_per_set);
  proto.set_max_particles(limits.max_particles);
  proto.set_max_searches(limits.max_searches);
  proto.set_max_scoring_streams(limits.max_scoring_streams);
  proto.set_max_maps(limits.max_maps);
  proto.set_max_tiles_per_map(limits.max_tiles_per_map);
  proto.set_max_points_per_tile(limits.max_points_per_tile);
  proto.set_max_points_per_map(limits.max_points_per_map);
  proto.set_max_map_extent_m(limits.max_map_extent_m);
  proto.set_max_chunk_bytes(limits.max_chunk_bytes);
  proto.set_max_map_transactions(limits.max_map_transactions);
  proto.set_max_buffered_poses(limits.max_buffered_poses);
  proto.set_max_recovery_candidates(limits.max_recovery_candidates);
  proto.set_max_reply_bytes(limits.max_reply_bytes);
  proto.set_max_recoveries(limits.max_recoveries);
  proto.set_max_unopened_streams(limits.max_unopened_streams);
  proto.set_open_timeout_s(limits.open_timeout_s);
  proto.set_idle_timeout_s(limits.idle_timeout_s);
  proto.set_max_transport_bytes(limits.max_transport_bytes);
  proto.set_max_accumulated_points(limits.max_accumulated_points);
  proto.set_max_watchers(limits.max_watchers);
  proto.set_max_map_readers(limits.max_map_readers);
  proto.set_max_staged_revisions(limits.max_staged_revisions);
  proto.set_max_unreferenced_bytes(limits.max_unreferenced_bytes);
  proto.set_max_tile_fits(limits.max_tile_fits);
  proto.set_max_moments_bytes(limits.max_moments_bytes);
  proto.set_search_cache_bytes(limits.search_cache_bytes);
  proto.set_max_batch(limits.max_batch);
  proto.set_max_transport_threads(limits.max_transport_threads);
  proto.set_max_capture_bytes(config.capture.max_bytes);
  proto.set_max_connections(config.connections.max_open);
  proto.set_stream_window_bytes(config.connections.stream_window_bytes);
  proto.set_connection_idle_timeout_s(config.connections.idle_timeout_s);
}

v1::ServerState StateToProto(ServerState state) {
  switch (state) {
    case ServerState::kStarting:
      return v1::SERVER_STATE_STARTING;
    case ServerState::kServing:
      return v1::SERVER_STATE_SERVING;
    case ServerState::kDraining:
      return v1::SERVER_STATE_DRAINING;
  }
  return v1::SERVER_STATE_UNSPECIFIED;
}

void DeviceToProto(const EngineInfo& info, v1::Device& device) {
  device.set_name(info.name);
  device.set_kind(absl::StartsWith(info.name, "cpu") ? v1::DEVICE_KIND_CPU : v1::DEVICE_KIND_CUDA);
  device.set_model(info.device);
  device.set_healthy(info.healthy);
  device.set_memory_total_bytes(info.memory_bytes_total);
  device.set_memory_free_bytes(info.memory_bytes_free);
  device.set_threads(static_cast<uint32_t>(info.threads));
}

void EngineToProto(const Runtime& runtime, v1::GetServerInfoResponse& response) {
  const absl::Status health = runtime.engine->Health();
  response.set_engine(runtime.engine->name());
  std::string note = runtime.engine_note;
  for (const std::string& more :
       {runtime.engine->note(),
        health.ok() ? std::string()
                    : absl::StrCat("the engine has failed permanently: ", health.message())}) {
    absl::StrAppend(&note, note.empty() || more.empty() ? "" : "; ", more);
  }
  response.set_engine_note(note);
  for (const EngineInfo& device : DevicesOf(*runtime.engine, runtime.engine_devices)) {
    v1::Device& proto = *response.add_devices();
    DeviceToProto(device, proto);
    if (proto.kind() == v1::DEVICE_KIND_CPU) {  // its memory is that of the process
      proto.set_memory_total_bytes(runtime.host.memory_bytes);
      proto.set_memory_free_bytes(AvailableMemoryBytes());
    }
  }
}

v1::Role RoleToProto(Role role) {
  switch (role) {
    case Role::kTrack:
      return v1::ROLE_TRACK;
    case Role::kScore:
      return v1::ROLE_SCORE;
    case Role::kMapRead:
      return v1::ROLE_MAP_READ;
    case Role::kMapWrite:
      return v1::ROLE_MAP_WRITE;
    case Role::kAdmin:
      return v1::ROLE_ADMIN;
  }
  return v1::ROLE_UNSPECIFIED;
}

}  // namespace

absl::Status GetServerInfo(const Runtime& runtime, const CallAccess& access,
                           const v1::GetServerInfoRequest& /*request*/,
                           v1::GetServerInfoResponse& response) {
  response.set_version(kVersion);
  response.set_git_revision(kGitRevision);
  response.set_build_type(kBuildType);
  response.set_state(StateToProto(runtime.readiness->state()));
  EngineToProto(runtime, response);
  LimitsToProto(*runtime.live.Get(), *response.mutable_limits());
  response.mutable_limits()->set_max_map_memory_bytes(runtime.max_map_memory_bytes);
  for (const std::string& name : ProfileNames()) {
    if (auto profile = FindProfile(name); profile.ok()) {
      ProfileToProto(*profile, *response.add_profiles());
    }
  }
  response.set_default_profile(runtime.config.default_profile);
  for (const std::string& name : runtime.config.sensors.Names()) response.add_sensors(name);
  response.set_started_at_ns(runtime.started_unix_ns);
  response.set_now_ns(absl::GetCurrentTimeNanos());
  response.set_open_sessions(static_cast<uint32_t>(runtime.sessions.open()));
  response.set_maps(static_cast<uint32_t>(runtime.maps.size()));
  response.set_caller(access.caller());
  for (const Role role : access.roles()) response.add_caller_roles(RoleToProto(role));
  return absl::OkStatus();
}

}  // namespace voxloc::server
