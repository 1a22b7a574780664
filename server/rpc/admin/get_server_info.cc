// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/admin/get_server_info.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/host/memory.h"
#include "server/config/settings.h"
#include "server/convert/profile.h"
#include "server/observe/engine_devices.h"
#include "server/version/version.h"

namespace voxloc::server {
namespace {

// Each field is the setting of its name in the group `limits`, or one of these.
constexpr std::pair<absl::string_view, absl::string_view> kOtherLimits[] = {
    {"max_capture_bytes", "capture.max_bytes"},
    {"max_connections", "connections.max_open"},
    {"stream_window_bytes", "connections.stream_window_bytes"},
    {"connection_idle_timeout_s", "connections.idle_timeout_s"},
};

void LimitsToProto(const Config& config, v1::Limits& proto) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *proto.GetReflection();
  for (int i = 0; i < v1::Limits::descriptor()->field_count(); ++i) {
    const Field* const field = v1::Limits::descriptor()->field(i);
    std::string key = absl::StrCat("limits.", field->name());
    for (const auto& [name, other] : kOtherLimits) {
      if (name == field->name()) key = std::string(other);
    }
    const Setting* const setting = FindSetting(key);
    if (setting == nullptr) continue;
    const std::string value = setting->get(config);
    double number = 0.0;
    uint64_t count = 0;
    if (field->cpp_type() == Field::CPPTYPE_DOUBLE && absl::SimpleAtod(value, &number)) {
      reflection.SetDouble(&proto, field, number);
    } else if (field->cpp_type() == Field::CPPTYPE_UINT64 && absl::SimpleAtoi(value, &count)) {
      reflection.SetUInt64(&proto, field, count);
    } else if (absl::SimpleAtoi(value, &count)) {
      reflection.SetUInt32(&proto, field, static_cast<uint32_t>(count));
    }
  }
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

absl::Status GetServerInfo(Runtime& runtime, const CallAccess& access,
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
