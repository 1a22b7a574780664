// SPDX-License-Identifier: Apache-2.0

#include "server/config/settings.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/engine/profile.h"
#include "core/estimate/calibration/calibration_file.h"
#include "core/text/nearest_name.h"
#include "core/tracking/pose_buffer.h"
#include "core/tracking/recovery.h"
#include "server/config/capture_settings.h"
#include "server/config/setting_kinds.h"
#include "server/config/store_settings.h"

namespace voxloc::server {
namespace {

using setting_kinds::Address;
using setting_kinds::Bytes;
using setting_kinds::BytesOrZero;
using setting_kinds::Choice;
using setting_kinds::Count;
using setting_kinds::Number;
using setting_kinds::Ordinals;
using setting_kinds::Switch;
using setting_kinds::Text;

// The file is read when the value is set.
Setting SensorCalibrationFile(const std::string& key, std::string help) {
  auto set = [key](absl::string_view value, Config& config) {
    SensorCalibrations sensors;
    if (!value.empty()) {
      absl::StatusOr<SensorCalibrations> read = ReadCalibrationFile(std::string(value));
      if (!read.ok()) {
        return absl::Status(read.status().code(), absl::StrCat(key, ": ", read.status().message()));
      }
      sensors = *std::move(read);
    }
    config.sensor_calibration = std::string(value);
    config.sensors = std::move(sensors);
    return absl::OkStatus();
  };
  return {key, "FILE", std::move(help), std::move(set),
          [](const Config& config) { return config.sensor_calibration; }};
}

constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMax48 = uint64_t{1} << 48;

void AppendTransportLimits(std::vector<Setting>& table) {
  table.push_back(BytesOrZero(
      "limits.max_reply_bytes", 1 << 20, kMax48,
      "pause reading from streams whose clients leave replies waiting while all of these have more "
      "bytes than this; 0: a 32nd of the memory, from 64M to 1G",
      [](auto& c) -> auto& { return c.limits.max_reply_bytes; }));
  table.push_back(Count(
      "limits.max_unopened_streams", 1, 1'000'000,
      "limit the number of sessions that have not sent their first message",
      [](auto& c) -> auto& { return c.limits.max_unopened_streams; }));
  table.push_back(Number(
      "limits.open_timeout_s", 0.0, 86'400.0,
      "end streams whose first message does not arrive within this many seconds; 0: never",
      [](auto& c) -> auto& { return c.limits.open_timeout_s; }));
  table.push_back(Number(
      "limits.idle_timeout_s", 0.0, 86'400.0,
      "end streams whose client sends nothing, or takes no reply, for this many seconds; 0: never",
      [](auto& c) -> auto& { return c.limits.idle_timeout_s; }));
  table.push_back(Bytes(
      "limits.max_transport_bytes",
      "limit the memory of gRPC's buffers, bytes, such as 4G; 0: what the "
      "other limits let in, at most an eighth of the memory",
      [](auto& c) -> auto& { return c.limits.max_transport_bytes; }));
  table.push_back(Count(
      "limits.max_transport_threads", 2, 4096,
      "limit the threads that gRPC starts for blocking calls, which is server reflection",
      [](auto& c) -> auto& { return c.limits.max_transport_threads; }));
}

void AppendLimits(std::vector<Setting>& table) {
  // The largest message is one that gRPC, which counts in int, can take.
  table.push_back(Count(
      "limits.max_message_bytes", 65'536, 2'000'000'000,
      "limit the size of a message in either direction, bytes",
      [](auto& c) -> auto& { return c.limits.max_message_bytes; }));
  table.push_back(Count(
      "limits.max_points_per_scan", 1, kMax32, "limit the points of a scan",
      [](auto& c) -> auto& { return c.limits.max_points_per_scan; }));
  table.push_back(Count(
      "limits.max_sessions", 1, 1'000'000, "limit the number of open sessions",
      [](auto& c) -> auto& { return c.limits.max_sessions; }));
  table.push_back(Count(
      "limits.max_waiting_scans", 1, 64,
      "limit the scans of a session that wait while one is aligned; a session that requests no "
      "number has 1",
      [](auto& c) -> auto& { return c.limits.max_waiting_scans; }));
  table.push_back(Count(
      "limits.max_queued_scans", 1, 1'000'000, "limit the waiting scans of all sessions",
      [](auto& c) -> auto& { return c.limits.max_queued_scans; }));
  table.push_back(BytesOrZero(
      "limits.max_queued_bytes", 1 << 20, uint64_t{1} << 40U,
      "limit the bytes of the waiting scans; 0: a 32nd of the memory, from 64M to 1G",
      [](auto& c) -> auto& { return c.limits.max_queued_bytes; }));
  table.push_back(Count(
      "limits.max_batch", 1, 1'000'000,
      "limit the scans in one call of the engine; it has fewer where it would take longer than 50 "
      "ms",
      [](auto& c) -> auto& { return c.limits.max_batch; }));
  table.push_back(Count(
      "limits.max_iterations", 1, 1000, "limit the Newton steps of a stage",
      [](auto& c) -> auto& { return c.limits.max_iterations; }));
  table.push_back(Count(
      "limits.max_poses_per_set", 1, 10'000'000, "limit the poses of a set in ScorePoses",
      [](auto& c) -> auto& { return c.limits.max_poses_per_set; }));
  table.push_back(Count(
      "limits.max_searches", 1, 10'000,
      "limit the number of searches for an initial pose that are open",
      [](auto& c) -> auto& { return c.limits.max_searches; }));
  table.push_back(Count(
      "limits.max_recoveries", 1, 10'000,
      "limit the searches for lost vehicles that run at once, over all sessions",
      [](auto& c) -> auto& { return c.limits.max_recoveries; }));
  table.push_back(Count(
      "limits.max_scoring_streams", 1, 10'000, "limit the number of scoring streams that are open",
      [](auto& c) -> auto& { return c.limits.max_scoring_streams; }));
  table.push_back(Count(
      "limits.max_particles", 1, 1'000'000,
      "limit the candidates that a search around a prior aligns",
      [](auto& c) -> auto& { return c.limits.max_particles; }));
  table.push_back(Bytes(
      "limits.search_cache_bytes",
      "limit the memory of the grids that searches of regions and whole maps keep, such as 1G; 0: "
      "a "
      "32nd of the memory, from 64M to 1G",
      [](auto& c) -> auto& { return c.limits.search_cache_bytes; }));
  table.push_back(Count(
      "limits.max_maps", 1, 10'000, "limit the number of maps",
      [](auto& c) -> auto& { return c.limits.max_maps; }));
  table.push_back(Count(
      "limits.max_tiles_per_map", 1, 10'000'000, "limit the tiles of a map",
      [](auto& c) -> auto& { return c.limits.max_tiles_per_map; }));
  table.push_back(Count(
      "limits.max_points_per_tile", 1, kMax32, "limit the points of a tile",
      [](auto& c) -> auto& { return c.limits.max_points_per_tile; }));
  table.push_back(Count(
      "limits.max_points_per_map", 1, kMax48, "limit the points of a map and of one transaction",
      [](auto& c) -> auto& { return c.limits.max_points_per_map; }));
  table.push_back(Bytes(
      "limits.max_map_memory_bytes",
      "limit the memory that all maps take on the engine's device, bytes, such as 8G; larger maps "
      "are there in part, around the vehicles; 0: three quarters of the device's memory, or of "
      "what the process may use of the machine's",
      [](auto& c) -> auto& { return c.limits.max_map_memory_bytes; }));
  table.push_back(Number(
      "limits.max_map_extent_m", 1.0, 1e7, "limit the extent of a map along an axis, metres",
      [](auto& c) -> auto& { return c.limits.max_map_extent_m; }));
  table.push_back(Count(
      "limits.max_chunk_bytes", 1024, 2'000'000'000, "limit the points in a tile chunk, bytes",
      [](auto& c) -> auto& { return c.limits.max_chunk_bytes; }));
  table.push_back(Count(
      "limits.max_map_transactions", 1, 10'000, "limit the number of open map transactions",
      [](auto& c) -> auto& { return c.limits.max_map_transactions; }));
  table.push_back(Count(
      "limits.max_watchers", 1, 1'000'000,
      "limit the number of streams that watch maps, and of those that watch the health",
      [](auto& c) -> auto& { return c.limits.max_watchers; }));
  table.push_back(Count(
      "limits.max_map_readers", 1, 10'000,
      "limit the number of open streams that read tiles or cells of maps",
      [](auto& c) -> auto& { return c.limits.max_map_readers; }));
  table.push_back(Count(
      "limits.max_staged_revisions", 1, 1000, "limit the staged revisions of a map",
      [](auto& c) -> auto& { return c.limits.max_staged_revisions; }));
  table.push_back(Bytes(
      "limits.max_unreferenced_bytes",
      "limit the bytes of tiles that have arrived and that no revision holds, such as 64G",
      [](auto& c) -> auto& { return c.limits.max_unreferenced_bytes; }));
  table.push_back(Bytes(
      "limits.max_moments_bytes",
      "limit the cell moments that are kept in data_dir, bytes, such as 16G",
      [](auto& c) -> auto& { return c.limits.max_moments_bytes; }));
  table.push_back(Count(
      "limits.max_tile_fits", 1, 10'000'000,
      "limit the tiles, over all maps, whose fit to the scans is kept",
      [](auto& c) -> auto& { return c.limits.max_tile_fits; }));
  table.push_back(Count(
      "limits.max_buffered_poses", 2, kMaxBufferedPoses,
      "limit the poses, and the reference positions, that a session keeps",
      [](auto& c) -> auto& { return c.limits.max_buffered_poses; }));
  table.push_back(Count(
      "limits.max_recovery_candidates", 1, kMaxRecoveryCandidates,
      "set the number of candidates that a search for a lost vehicle aligns",
      [](auto& c) -> auto& { return c.limits.max_recovery_candidates; }));
  table.push_back(Count(
      "limits.max_accumulated_points", 1, kMax32,
      "limit the points of all scans that a session joins",
      [](auto& c) -> auto& { return c.limits.max_accumulated_points; }));
  AppendTransportLimits(table);
}

// What is looked at for each request, stream or session; Runtime::Reload applies it. All other
// settings are fixed when the parts of the server that they size are made.
constexpr absl::string_view kReloadable[] = {
    "log_level",
    "capture.max_bytes",
    "capture.max_age_s",
    "capture.max_per_second",
    "capture.statuses",
    "limits.max_points_per_scan",
    "limits.max_sessions",
    "limits.max_waiting_scans",
    "limits.max_queued_scans",
    "limits.max_queued_bytes",
    "limits.max_batch",
    "limits.max_iterations",
    "limits.max_poses_per_set",
    "limits.max_searches",
    "limits.max_recoveries",
    "limits.max_scoring_streams",
    "limits.max_particles",
    "limits.max_maps",
    "limits.max_tiles_per_map",
    "limits.max_points_per_tile",
    "limits.max_points_per_map",
    "limits.max_map_extent_m",
    "limits.max_chunk_bytes",
    "limits.max_map_transactions",
    "limits.max_watchers",
    "limits.max_map_readers",
    "limits.max_buffered_poses",
    "limits.max_recovery_candidates",
    "limits.max_reply_bytes",
    "limits.max_unopened_streams",
    "limits.open_timeout_s",
    "limits.idle_timeout_s",
    "limits.max_accumulated_points",
};

void AppendConnections(std::vector<Setting>& table) {
  table.push_back(Count(
      "connections.max_open", 0, 10'000'000,
      "limit the connections that are open; further ones are closed at once; 0: what the limit of "
      "open files leaves, at most one for each 512 KiB of memory",
      [](auto& c) -> auto& { return c.connections.max_open; }));
  table.push_back(Number(
      "connections.handshake_timeout_s", 0.1, 3600.0,
      "close connections that have not agreed on TLS and HTTP/2 within this many seconds",
      [](auto& c) -> auto& { return c.connections.handshake_timeout_s; }));
  table.push_back(Number(
      "connections.idle_timeout_s", 0.0, 86'400.0,
      "close connections that have had no call for this many seconds; 0: never",
      [](auto& c) -> auto& { return c.connections.idle_timeout_s; }));
  table.push_back(Number(
      "connections.keepalive_time_s", 0.1, 86'400.0,
      "ask clients that have said nothing for this many seconds whether they are still there",
      [](auto& c) -> auto& { return c.connections.keepalive_time_s; }));
  table.push_back(Number(
      "connections.keepalive_timeout_s", 0.1, 3600.0,
      "close connections whose client does not answer that within this many seconds",
      [](auto& c) -> auto& { return c.connections.keepalive_timeout_s; }));
  table.push_back(Count(
      "connections.stream_window_bytes", 1 << 16, 1 << 28,
      "limit the bytes that a client may have under way on a stream before the server reads them",
      [](auto& c) -> auto& { return c.connections.stream_window_bytes; }));
}

void AppendSecurity(std::vector<Setting>& table) {
  table.push_back(Switch(
      "insecure",
      "serve addresses that other machines reach without TLS, where the network is protected "
      "otherwise",
      [](auto& c) -> auto& { return c.insecure; }));
  table.push_back(Text(
      "tls.certificate", "FILE",
      "serve gRPC by TLS with this certificate, and what signed it, in PEM; it is read again when "
      "it changes",
      [](auto& c) -> auto& { return c.tls.certificate; }));
  table.push_back(Text(
      "tls.private_key", "FILE", "the private key of tls.certificate, in PEM, without pass phrase",
      [](auto& c) -> auto& { return c.tls.private_key; }));
  table.push_back(Text(
      "tls.client_ca", "FILE",
      "require a certificate of each client, signed by one of these in PEM (mutual TLS)",
      [](auto& c) -> auto& { return c.tls.client_ca; }));
  table.push_back(Number(
      "tls.refresh_s", 0.1, 86'400.0, "look for changes of the files of TLS so often, seconds",
      [](auto& c) -> auto& { return c.tls.refresh_s; }));
  table.push_back(Text(
      "access_file", "FILE",
      "let only those in who stand in this file, each with its roles; see docs/security.md; empty: "
      "everybody may do everything",
      [](auto& c) -> auto& { return c.access_file; }));
  table.push_back(Text(
      "audit_log", "FILE",
      "append a line to this file for each call that writes maps or that only admins may make; "
      "empty: to the log",
      [](auto& c) -> auto& { return c.audit_log; }));
}

std::vector<Setting> MakeSettings() {
  std::vector<Setting> table;
  table.push_back(Address(
      "listen", /*may_be_off=*/false, "serve gRPC on this address; port 0: a free port",
      [](auto& c) -> auto& { return c.listen; }));
  table.push_back(Address(
      "metrics_listen", /*may_be_off=*/true,
      "serve HTTP for probes (/livez, /readyz) and Prometheus (/metrics) on this address; port 0: "
      "a free port",
      [](auto& c) -> auto& { return c.metrics_listen; }));
  table.push_back(Text(
      "otlp_endpoint", "URL",
      "send the spans of sampled traces to the OpenTelemetry collector at this URL, such as "
      "http://127.0.0.1:4317, by OTLP over gRPC; empty: nowhere",
      [](auto& c) -> auto& { return c.otlp_endpoint; }));
  table.push_back(Text(
      "data_dir", "DIR",
      "keep maps in this folder, which is created where its parent exists, so that they survive a "
      "restart; empty: in memory",
      [](auto& c) -> auto& { return c.data_dir; }));
  AppendStoreSettings(table);
  table.push_back(Count(
      "kept_revisions", 1, 10'000,
      "keep this many revisions of a map, the active one included, to go back to",
      [](auto& c) -> auto& { return c.kept_revisions; }));
  table.push_back(Number(
      "residency.map_radius_m", 1.0, 1e6,
      "load the tiles of a map that does not fit within this distance of each vehicle, metres",
      [](auto& c) -> auto& { return c.residency.map_radius_m; }));
  table.push_back(Number(
      "residency.lidar_radius_m", 0.0, 1e6,
      "count the tiles that are missing within this distance of a scan's guess, metres",
      [](auto& c) -> auto& { return c.residency.lidar_radius_m; }));
  table.push_back(Number(
      "residency.update_distance_m", 0.1, 1e6,
      "look anew at which tiles are needed when a vehicle has driven this far, metres",
      [](auto& c) -> auto& { return c.residency.update_distance_m; }));
  table.push_back(Number(
      "residency.ahead_s", 0.0, 3600.0,
      "load tiles for where each vehicle will be after so long at its velocity, seconds",
      [](auto& c) -> auto& { return c.residency.ahead_s; }));
  table.push_back(Switch(
      "tile_fit",
      "compare some accepted scans with the tiles of their map, in at most 1 % of the time of "
      "tracking, to know which tiles have changed",
      [](auto& c) -> auto& { return c.tile_fit; }));
  table.push_back(Choice(
      "moments_cache", {"auto", "on", "off"},
      "keep the cell moments of tiles in data_dir, so that a restart does not build them from "
      "points; auto: with the CPU engine",
      [](auto& c) -> auto& { return c.moments_cache; }));
  table.push_back(Choice(
      "engine", {"auto", "cpu", "cuda"},
      "align scans with this engine; auto: a GPU if one works, otherwise the CPU",
      [](auto& c) -> auto& { return c.engine; }));
  table.push_back(Ordinals(
      "devices", "use these GPUs, numbered by the driver; each keeps all maps",
      [](auto& c) -> auto& { return c.devices; }));
  table.push_back(Choice(
      "on_engine_failure", {"serve", "restart"},
      "when the CPU engine has taken over from a GPU that failed permanently: serve on with it, or "
      "drain and end with exit code 4, for a supervisor to start the server again",
      [](auto& c) -> auto& { return c.on_engine_failure; }));
  table.push_back(Bytes(
      "gpu_memory_limit", "limit the memory on each GPU, bytes, such as 8G; 0: no limit",
      [](auto& c) -> auto& { return c.gpu_memory_limit_bytes; }));
  table.push_back(Text(
      "ready_file", "FILE",
      "write the addresses and the engine to this file as JSON once the server accepts requests; "
      "it is removed at the end",
      [](auto& c) -> auto& { return c.ready_file; }));
  table.push_back(Count(
      "threads", 0, 4096,
      "set the number of threads of the CPU engine, and of what is estimated of its answers; 0: "
      "one per usable processor, at most the CPU quota",
      [](auto& c) -> auto& { return c.threads; }));
  table.push_back(Choice(
      "log_level", {"trace", "debug", "info", "warn", "error"},
      "log events of this level and above to standard error",
      [](auto& c) -> auto& { return c.log_level; }));
  table.push_back(Choice(
      "default_profile", ProfileNames(), "use this profile for requests that name none",
      [](auto& c) -> auto& { return c.default_profile; }));
  table.push_back(SensorCalibrationFile(
      "sensor_calibration",
      "read the calibrations of sensors from this file; sessions name them with options.sensor"));
  table.push_back(Choice(
      "reflection", {"auto", "true", "false"},
      "let clients list the services by gRPC reflection; auto: without TLS and access file",
      [](auto& c) -> auto& { return c.reflection; }));
  AppendSecurity(table);
  table.push_back(Number(
      "drain_delay_s", 0.0, 3600.0,
      "at SIGTERM, wait this many seconds after reporting that the server is not ready, so that "
      "load balancers notice; no wait where nobody has asked for the readiness",
      [](auto& c) -> auto& { return c.drain_delay_s; }));
  table.push_back(Number(
      "drain_spread_s", 0.0, 3600.0,
      "at SIGTERM, then tell the open sessions to leave one after another over this many seconds",
      [](auto& c) -> auto& { return c.drain_spread_s; }));
  table.push_back(Number(
      "drain_timeout_s", 0.0, 3600.0,
      "at SIGTERM, then wait at most this many seconds for open calls to end",
      [](auto& c) -> auto& { return c.drain_timeout_s; }));
  AppendCaptureSettings(table);
  AppendConnections(table);
  AppendLimits(table);
  for (Setting& setting : table) {
    setting.reloadable = std::find(std::begin(kReloadable), std::end(kReloadable), setting.key) !=
                         std::end(kReloadable);
  }
  return table;
}

}  // namespace

const SettingTable& Settings() {
  static const auto* const table = new SettingTable(MakeSettings());
  return *table;
}

const Setting* FindSetting(absl::string_view key, const SettingTable& table) {
  const std::string canonical = absl::StrReplaceAll(key, {{"-", "_"}});
  for (const Setting& setting : table) {
    if (setting.key == canonical) return &setting;
  }
  return nullptr;
}

bool IsSettingGroup(absl::string_view group, const SettingTable& table) {
  const std::string prefix = absl::StrCat(absl::StrReplaceAll(group, {{"-", "_"}}), ".");
  return std::any_of(table.begin(), table.end(), [&prefix](const Setting& setting) {
    return absl::StartsWith(setting.key, prefix);
  });
}

std::vector<std::string> SettingKeys(const SettingTable& table) {
  std::vector<std::string> keys;
  for (const Setting& setting : table) keys.push_back(setting.key);
  return keys;
}

std::string FlagOfKey(absl::string_view key) {
  return absl::StrCat("--", absl::StrReplaceAll(key, {{"_", "-"}}));
}

std::string UnknownSetting(absl::string_view kind, absl::string_view name,
                           const std::vector<std::string>& known) {
  const std::string nearest = NearestName(name, known);
  return absl::StrCat("unknown ", kind, " ", name,
                      nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"));
}

}  // namespace voxloc::server
