// SPDX-License-Identifier: Apache-2.0

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "core/host/process_limits.h"
#include "core/status/try.h"
#include "core/text/number_range.h"
#include "server/config/settings.h"
#include "server/convert/map.h"
#include "server/convert/options.h"
#include "server/convert/range.h"
#include "server/errors/error_details.h"
#include "server/observe/logging.h"
#include "server/observe/metrics/exporter.h"
#include "server/observe/version.h"
#include "server/rpc/services.h"
#include "server/rpc/support/method_handler.h"
#include "server/rpc/support/unary.h"
#include "voxloc/v1/admin_service.grpc.pb.h"

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

// In the order of the contract.
constexpr ServerState kServerStates[] = {ServerState::kStarting, ServerState::kServing,
                                         ServerState::kDraining};
constexpr Role kRoles[] = {Role::kTrack, Role::kScore, Role::kMapRead, Role::kMapWrite,
                           Role::kAdmin};
constexpr ConfigOrigin kConfigOrigins[] = {ConfigOrigin::kDefault, ConfigOrigin::kFile,
                                           ConfigOrigin::kFlag, ConfigOrigin::kDetected,
                                           ConfigOrigin::kEnvironment};
constexpr LogLevel kLogLevels[] = {LogLevel::kTrace, LogLevel::kDebug, LogLevel::kInfo,
                                   LogLevel::kWarn, LogLevel::kError};
static_assert(std::size(kServerStates) == v1::ServerState_MAX &&
              std::size(kRoles) == v1::Role_MAX &&
              std::size(kConfigOrigins) == v1::ConfigSource_MAX &&
              std::size(kLogLevels) == v1::LogLevel_MAX);

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

absl::Status GetServerInfo(Runtime& runtime, const CallAccess& access,
                           const v1::GetServerInfoRequest& /*request*/,
                           v1::GetServerInfoResponse& response) {
  response.set_version(kVersion);
  response.set_git_revision(kGitRevision);
  response.set_build_type(kBuildType);
  response.set_state(EnumToProto<v1::ServerState>(kServerStates, runtime.readiness->state()));
  EngineToProto(runtime, response);
  LimitsToProto(*runtime.live_config.Get(), *response.mutable_limits());
  response.mutable_limits()->set_max_map_memory_bytes(runtime.max_map_memory_bytes);
  for (const Profile& profile : runtime.config.profiles.profiles()) {
    ProfileToProto(profile, *response.add_profiles());
  }
  response.set_default_profile(runtime.config.default_profile);
  for (const std::string& name : runtime.config.sensors.Names()) response.add_sensors(name);
  response.set_started_at_ns(runtime.started_unix_ns);
  response.set_now_ns(absl::GetCurrentTimeNanos());
  response.set_open_sessions(static_cast<uint32_t>(runtime.sessions.open()));
  response.set_maps(static_cast<uint32_t>(runtime.maps.size()));
  response.set_caller(access.caller());
  for (const Role role : access.roles()) {
    response.add_caller_roles(EnumToProto<v1::Role>(kRoles, role));
  }
  return absl::OkStatus();
}

constexpr uint32_t kDefaultSessions = 100;
constexpr uint32_t kMaxSessionsPerPage = 1000;

// The token of a page is the number of the last session of the page before: sessions come and go
// between two pages, and none that stays is left out.
absl::Status ListSessions(Runtime& runtime, const CallAccess& access,
                          const v1::ListSessionsRequest& request,
                          v1::ListSessionsResponse& response) {
  VOXLOC_ASSIGN_OR_RETURN(const auto size,
                          PageSize(request.page_size(), kDefaultSessions, kMaxSessionsPerPage));
  uint64_t after = 0;
  if (!request.page_token().empty() && !absl::SimpleAtoi(request.page_token(), &after)) {
    return absl::InvalidArgumentError("page_token must be one that ListSessions returned");
  }
  // One item more than the page holds shows whether there is a next page.
  const auto wanted = [&request, &access](const std::string& map) {
    return (request.map().empty() || map == request.map()) && access.MaySee(map);
  };
  auto sessions = runtime.sessions.List(after, wanted, size + 1);
  const bool more = sessions.size() > size;
  if (more) sessions.pop_back();
  for (auto& [number, info] : sessions) {
    const std::optional<LastPose> last_pose = runtime.last_poses.Find(info.vehicle(), info.map());
    if (last_pose.has_value()) {
      LastPoseToProto(*last_pose, absl::GetCurrentTimeNanos(), *info.mutable_last_pose());
    }
    *response.add_sessions() = std::move(info);
  }
  if (more) response.set_next_page_token(absl::StrCat(sessions.back().first));
  return absl::OkStatus();
}

absl::Status GetConfig(Runtime& runtime, const CallAccess& /*access*/,
                       const v1::GetConfigRequest& /*request*/, v1::GetConfigResponse& response) {
  const std::shared_ptr<const EffectiveConfig> live_config = runtime.live_config.Snapshot();
  for (const Setting& setting : Settings()) {
    if (setting.secret) continue;
    v1::ConfigEntry& entry = *response.add_entries();
    entry.set_key(setting.key);
    entry.set_value(setting.get(live_config->config));
    entry.set_reloadable(setting.reloadable);
    const auto found = live_config->origins.find(setting.key);
    const ConfigLocation place =
        found == live_config->origins.end() ? ConfigLocation() : found->second;
    entry.set_source(EnumToProto<v1::ConfigSource>(kConfigOrigins, place.origin));
    entry.set_place(place.place);
  }
  return absl::OkStatus();
}

absl::Status ChangeLogLevel(Runtime& /*runtime*/, const CallAccess& /*access*/,
                            const v1::SetLogLevelRequest& request,
                            v1::SetLogLevelResponse& response) {
  const int wanted = request.level();
  if (wanted < 1 || wanted > v1::LogLevel_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("level must be from 1 (trace) to 5 (error) (got ", wanted, ")"));
  }
  const LogLevel level = kLogLevels[wanted - 1];
  response.set_previous_level(EnumToProto<v1::LogLevel>(kLogLevels, SetLogLevel(level)));
  Log(LogLevel::kInfo, "log_level_set", {{"level", ToString(level)}});
  return absl::OkStatus();
}

// As the contract says.
constexpr size_t kMaxReasonBytes = 256;

absl::Status BeginDrain(Runtime& runtime, const CallAccess& /*access*/,
                        const v1::DrainRequest& request, v1::DrainResponse& response) {
  const double grace_s = request.grace_s();
  VOXLOC_TRY(CheckRanges({{"grace_s", grace_s, FromTo(0.0, kMaxSeconds)}}));
  VOXLOC_TRY(CheckBytes("reason", request.reason(), kMaxReasonBytes));
  const DrainProgress progress = runtime.drain.Begin(
      grace_s, request.reason().empty() ? "the server is being drained" : request.reason());
  response.set_open_sessions(static_cast<uint32_t>(progress.open_sessions));
  response.set_remaining_s(progress.remaining_s);
  return absl::OkStatus();
}

absl::Status EndDrain(Runtime& runtime, const CallAccess& /*access*/,
                      const v1::UndrainRequest& /*request*/, v1::UndrainResponse& response) {
  VOXLOC_TRY(runtime.drain.Cancel());
  response.set_open_sessions(static_cast<uint32_t>(runtime.sessions.open()));
  return absl::OkStatus();
}

constexpr uint32_t kDefaultCaptures = 100;
constexpr uint32_t kMaxCapturesPerPage = 1000;
// An id is a prefix of the server's start and a number; more of what a caller sends is not
// repeated.
constexpr size_t kMaxPrintedIdBytes = 64;

// The token of a page is the place of the last capture of the page before: captures come and go
// between two pages, and none that stays is left out.
std::string TokenOf(const v1::CaptureInfo& info) {
  return absl::StrCat(info.captured_at_ns(), "/", info.id());
}

absl::StatusOr<std::optional<CaptureStore::Key>> PlaceOf(const std::string& token) {
  if (token.empty()) return std::optional<CaptureStore::Key>();
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(token, absl::MaxSplits('/', 1));
  CaptureStore::Key place(0, parts.second);
  if (place.second.empty() || !absl::SimpleAtoi(parts.first, &place.first)) {
    return absl::InvalidArgumentError("page_token must be one that ListCaptures returned");
  }
  return std::optional<CaptureStore::Key>(std::move(place));
}

absl::Status NoCapture(const std::string& id) {
  return WithReason(
      absl::NotFoundError(absl::StrCat("there is no capture '",
                                       absl::CEscape(id.substr(0, kMaxPrintedIdBytes)), "'")),
      "CAPTURE_NOT_FOUND");
}

absl::Status ListCaptures(Runtime& runtime, const CallAccess& access,
                          const v1::ListCapturesRequest& request,
                          v1::ListCapturesResponse& response) {
  VOXLOC_ASSIGN_OR_RETURN(const auto size,
                          PageSize(request.page_size(), kDefaultCaptures, kMaxCapturesPerPage));
  VOXLOC_ASSIGN_OR_RETURN(const auto before, PlaceOf(request.page_token()));
  VOXLOC_ASSIGN_OR_RETURN(const auto store, request.purpose() == v1::CAPTURE_PURPOSE_MAP_UPDATE
                                                ? runtime.map_update.store()
                                                : runtime.captures.store());
  const auto wanted = [&request, &access](const v1::CaptureInfo& info) {
    return (request.map().empty() || info.map() == request.map()) && access.MaySee(info.map());
  };
  // One item more than the page holds shows whether there is a next page.
  std::vector<v1::CaptureInfo> captures = store->List(before, wanted, size + 1);
  const bool more = captures.size() > size;
  if (more) captures.pop_back();
  if (more) response.set_next_page_token(TokenOf(captures.back()));
  for (v1::CaptureInfo& info : captures) *response.add_captures() = std::move(info);
  return absl::OkStatus();
}

// That which has the capture; any, where none has.
absl::StatusOr<std::shared_ptr<const CaptureStore>> StoreOf(const Runtime& runtime,
                                                            const std::string& id) {
  auto bad_scans = runtime.captures.store();
  auto map_updates = runtime.map_update.store();
  if (!bad_scans.ok() || (map_updates.ok() && (*map_updates)->Find(id).has_value())) {
    return map_updates.ok() ? map_updates : bad_scans;
  }
  return bad_scans;
}

absl::Status GetCapture(Runtime& runtime, const CallAccess& access,
                        const v1::GetCaptureRequest& request, v1::GetCaptureResponse& response) {
  VOXLOC_ASSIGN_OR_RETURN(const auto store, StoreOf(runtime, request.id()));
  const std::optional<v1::CaptureInfo> info = store->Find(request.id());
  if (!info.has_value() || !access.MaySee(info->map())) return NoCapture(request.id());
  const uint64_t most = runtime.live_config.limits()->max_message_bytes;
  if (info->bytes() > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("capture '", info->id(), "' has ", info->bytes(),
                     " bytes, and limits.max_message_bytes allows ", most,
                     " in a reply; start the server with a larger limit to get it"));
  }
  absl::StatusOr<v1::Capture> capture = store->Read(request.id());
  if (absl::IsNotFound(capture.status())) return NoCapture(request.id());
  if (!capture.ok()) return capture.status();
  *response.mutable_capture() = *std::move(capture);
  return absl::OkStatus();
}

class AdminService : public v1::AdminService::CallbackService {
 public:
  explicit AdminService(Runtime& runtime) {
    const auto serve = [this, &runtime](RpcMethod method, auto function, bool on_mapping = false) {
      MarkMethodCallback(IndexOf(method), MakeUnaryHandler(runtime, method, function,
                                                           [on_mapping](const auto& /*request*/) {
                                                             return on_mapping;
                                                           }));
    };
    serve(RpcMethod::kGetServerInfo, server::GetServerInfo);
    serve(RpcMethod::kListSessions, server::ListSessions);
    serve(RpcMethod::kGetConfig, server::GetConfig);
    serve(RpcMethod::kSetLogLevel, server::ChangeLogLevel);
    serve(RpcMethod::kDrain, server::BeginDrain);
    serve(RpcMethod::kUndrain, server::EndDrain);
    serve(RpcMethod::kListCaptures, server::ListCaptures);
    serve(RpcMethod::kGetCapture, server::GetCapture, /*on_mapping=*/true);  // reads a file
  }
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(Runtime& runtime) {
  return std::make_unique<AdminService>(runtime);
}

}  // namespace voxloc::server
