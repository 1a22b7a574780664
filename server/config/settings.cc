// SPDX-License-Identifier: Apache-2.0

#include "server/config/settings.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/text/names.h"
#include "core/tracking/pose_buffer.h"
#include "core/tracking/recovery.h"
#include "server/config/setting_kinds.h"

namespace voxloc::server {
namespace {

constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMax48 = uint64_t{1} << 48;

// For what is read for each request, stream or session; Runtime::Reload applies it. All other
// settings are fixed when the parts of the server that they size are made.
constexpr bool kReloadable = true;

std::vector<Setting> MakeSettings() {
  using namespace setting_kinds;  // NOLINT(google-build-using-namespace): of the table alone
  return {
      Address("listen", &Config::listen, /*may_be_off=*/false,
              "serve gRPC on this address; port 0: a free port"),
      Address("metrics_listen", &Config::metrics_listen, /*may_be_off=*/true,
              "serve HTTP for probes (/livez, /readyz) and Prometheus (/metrics) on this address; "
              "port 0: a free port"),
      Text("otlp_endpoint", &Config::otlp_endpoint, "URL",
           "send the spans of sampled traces to the OpenTelemetry collector at this URL, such as "
           "http://127.0.0.1:4317, by OTLP over gRPC; empty: nowhere"),
      Text("data_dir", &Config::data_dir, "DIR",
           "keep maps in this folder, which is created where its parent exists, so that they "
           "survive a restart; empty: in memory"),
      StoreUrl("keep maps in this database of PostgreSQL, which several servers may share, such as "
               "postgresql://voxloc@db.example.com/voxloc; the password comes from PGPASSWORD or "
               "PGPASSFILE; empty: in data_dir"),
      Number("store.poll_period_s", &StoreConnection::poll_period_s, 0.1, 3600.0,
             "look for changes that other servers have made so often, seconds, besides when the "
             "database announces them"),
      Number("store.connect_timeout_s", &StoreConnection::connect_timeout_s, 0.1, 60.0,
             "give up connecting to the database after this many seconds"),
      Number("store.request_timeout_s", &StoreConnection::request_timeout_s, 1.0, 20.0,
             "give up a statement that the database does not answer, or that waits for other "
             "servers, after this many seconds"),
      Count("store.max_readers", &StoreConnection::max_readers, 1, 1000,
            "limit the connections to the database that read; two are used for the rest"),
      Count("kept_revisions", &Config::kept_revisions, 1, 10'000,
            "keep this many revisions of a map, the active one included, to go back to"),
      Number(
          "residency.map_radius_m", &ResidencyOptions::map_radius_m, 1.0, 1e6,
          "load the tiles of a map that does not fit within this distance of each vehicle, metres"),
      Number("residency.lidar_radius_m", &ResidencyOptions::lidar_radius_m, 0.0, 1e6,
             "count the tiles that are missing within this distance of a scan's guess, metres"),
      Number("residency.update_distance_m", &ResidencyOptions::update_distance_m, 0.1, 1e6,
             "look anew at which tiles are needed when a vehicle has driven this far, metres"),
      Number("residency.ahead_s", &ResidencyOptions::ahead_s, 0.0, 3600.0,
             "load tiles for where each vehicle will be after so long at its velocity, seconds"),
      Number(
          "residency.idle_timeout_s", &ResidencyOptions::idle_timeout_s, 0.0, 1e7,
          "load a map when a session or a request needs it, and drop it from memory when none has "
          "for this many seconds; 0: load all maps at the start, and keep them"),
      Switch("tile_fit", &Config::tile_fit,
             "compare some accepted scans with the tiles of their map, in at most 1 % of the time "
             "of tracking, to know which tiles have changed"),
      Choice("moments_cache", &Config::moments_cache, {"auto", "on", "off"},
             "keep the cell moments of tiles in data_dir, so that a restart does not build them "
             "from points; auto: with the CPU engine"),
      Choice("engine", &Config::engine, {"auto", "cpu", "cuda"},
             "align scans with this engine; auto: a GPU if one works, otherwise the CPU"),
      Ordinals("devices", &Config::devices,
               "use these GPUs, numbered by the driver; each keeps all maps"),
      Choice("on_engine_failure", &Config::on_engine_failure, {"serve", "restart"},
             "when the CPU engine has taken over from a GPU that failed permanently: serve on with "
             "it, or drain and end with exit code 4, for a supervisor to start the server again"),
      Bytes("gpu_memory_limit", &Config::gpu_memory_limit_bytes,
            "limit the memory on each GPU, bytes, such as 8G; 0: no limit"),
      Text("ready_file", &Config::ready_file, "FILE",
           "write the addresses and the engine to this file as JSON once the server accepts "
           "requests; it is removed at the end"),
      Count("threads", &Config::threads, 0, 4096,
            "set the number of threads of the CPU engine, and of what is estimated of its answers; "
            "0: one per usable processor, at most the CPU quota"),
      Choice("log_level", &Config::log_level, {"trace", "debug", "info", "warn", "error"},
             "log events of this level and above to standard error", kReloadable),
      ProfileFiles("read further profiles from these files, one in each; see docs/profiles.md"),
      Text("default_profile", &Config::default_profile, "autoware|precise|NAME",
           "use this profile for requests that name none; NAME: one of profile_files"),
      SensorCalibrationFile("read the calibrations of sensors from this file; sessions name them "
                            "with options.sensor"),
      Choice("reflection", &Config::reflection, {"auto", "true", "false"},
             "let clients list the services by gRPC reflection; auto: without TLS and access file"),
      Switch("insecure", &Config::insecure,
             "serve addresses that other machines reach without TLS, where the network is "
             "protected otherwise"),
      Text("tls.certificate", &TlsOptions::certificate, "FILE",
           "serve gRPC by TLS with this certificate, and what signed it, in PEM; it is read again "
           "when it changes"),
      Text("tls.private_key", &TlsOptions::private_key, "FILE",
           "the private key of tls.certificate, in PEM, without pass phrase"),
      Text("tls.client_ca", &TlsOptions::client_ca, "FILE",
           "require a certificate of each client, signed by one of these in PEM (mutual TLS)"),
      Number("tls.refresh_s", &TlsOptions::refresh_s, 0.1, 86'400.0,
             "look for changes of the files of TLS so often, seconds"),
      Text("access_file", &Config::access_file, "FILE",
           "let only those in who stand in this file, each with its roles; see docs/security.md; "
           "empty: everybody may do everything"),
      Text("audit_log", &Config::audit_log, "FILE",
           "append a line to this file for each call that writes maps or that only admins may "
           "make; empty: to the log"),
      Number("drain_delay_s", &Config::drain_delay_s, 0.0, 3600.0,
             "at SIGTERM, wait this many seconds after reporting that the server is not ready, so "
             "that load balancers notice; no wait where nobody has asked for the readiness"),
      Number("drain_spread_s", &Config::drain_spread_s, 0.0, 3600.0,
             "at SIGTERM, then tell the open sessions to leave one after another over this many "
             "seconds"),
      Number("drain_timeout_s", &Config::drain_timeout_s, 0.0, 3600.0,
             "at SIGTERM, then wait at most this many seconds for open calls to end"),
      BytesOrZero("capture.max_bytes", &CaptureOptions::max_bytes, 1 << 20, uint64_t{1} << 48U,
                  "keep scans that went badly, with their answers, in files of so many bytes "
                  "together; the oldest make room for new ones; 0: none are kept",
                  kReloadable),
      Text("capture.directory", &CaptureOptions::directory, "DIR",
           "keep them in this folder, which is created where its parent exists; empty: captures in "
           "data_dir"),
      Number("capture.max_age_s", &CaptureOptions::max_age_s, 60.0, 1e9,
             "delete captures that are older, seconds", kReloadable),
      Number("capture.max_per_second", &CaptureOptions::max_per_second, 0.001, 1000.0,
             "capture at most so many scans per second, over all sessions", kReloadable),
      // Not OK, and not those that say nothing of the scan itself: NOT_ACTIVE, STALE, SUPERSEDED
      // and OVERLOADED.
      Choices("capture.statuses", &CaptureOptions::statuses,
              {"LOW_SCORE", "NOT_CONVERGED", "DEGENERATE", "AMBIGUOUS", "LOW_OVERLAP", "OUT_OF_MAP",
               "NO_MAP", "NO_PRIOR", "DEADLINE", "INVALID_INPUT", "LOW_CONFIDENCE", "ENGINE_FAULT"},
              "capture scans that are answered with one of these statuses", kReloadable),
      BytesOrZero("map_update.max_bytes", &MapUpdateOptions::max_bytes, 1 << 20, uint64_t{1} << 48U,
                  "keep accepted scans of sessions near tiles that have changed, for voxloc map "
                  "propose, in files of so many bytes together; the oldest make room for new ones; "
                  "0: none are kept",
                  kReloadable),
      Text("map_update.directory", &MapUpdateOptions::directory, "DIR",
           "keep them in this folder, which is created where its parent exists; empty: map_update "
           "in data_dir"),
      Number("map_update.max_age_s", &MapUpdateOptions::max_age_s, 60.0, 1e9,
             "delete such scans that are older, seconds", kReloadable),
      Number("map_update.min_change", &MapUpdateOptions::min_change, 0.0, 1.0,
             "keep scans near tiles whose change, by voxloc map info --worst, is at least this; "
             "0: near all tiles"),
      Number("map_update.max_cpu_share", &MapUpdateOptions::max_cpu_share, 1e-4, 1.0,
             "spend processor time on it of at most this share of the time of tracking"),
      Count("connections.max_open", &ConnectionOptions::max_open, 0, 10'000'000,
            "limit the connections that are open; further ones are closed at once; 0: what the "
            "limit of open files leaves, at most one for each 512 KiB of memory"),
      Number("connections.handshake_timeout_s", &ConnectionOptions::handshake_timeout_s, 0.1,
             3600.0,
             "close connections that have not agreed on TLS and HTTP/2 within this many seconds"),
      Number("connections.idle_timeout_s", &ConnectionOptions::idle_timeout_s, 0.0, 86'400.0,
             "close connections that have had no call for this many seconds; 0: never"),
      Number(
          "connections.keepalive_time_s", &ConnectionOptions::keepalive_time_s, 0.1, 86'400.0,
          "ask clients that have said nothing for this many seconds whether they are still there"),
      Number("connections.keepalive_timeout_s", &ConnectionOptions::keepalive_timeout_s, 0.1,
             3600.0,
             "close connections whose client does not answer that within this many seconds"),
      Count("connections.stream_window_bytes", &ConnectionOptions::stream_window_bytes, 1 << 16,
            1 << 28,
            "limit the bytes that a client may have under way on a stream before the server reads "
            "them"),
      // The largest message is one that gRPC, which counts in int, can take.
      Count("limits.max_message_bytes", &Limits::max_message_bytes, 65'536, 2'000'000'000,
            "limit the size of a message in either direction, bytes"),
      Count("limits.max_points_per_scan", &Limits::max_points_per_scan, 1, kMax32,
            "limit the points of a scan", kReloadable),
      Count("limits.max_sessions", &Limits::max_sessions, 1, 1'000'000,
            "limit the number of open sessions", kReloadable),
      Count("limits.max_waiting_scans", &Limits::max_waiting_scans, 1, 64,
            "limit the scans of a session that wait while one is aligned; a session that requests "
            "no number has 1",
            kReloadable),
      Count("limits.max_queued_scans", &Limits::max_queued_scans, 1, 1'000'000,
            "limit the waiting scans of all sessions", kReloadable),
      BytesOrZero("limits.max_queued_bytes", &Limits::max_queued_bytes, 1 << 20, uint64_t{1} << 40U,
                  "limit the bytes of the waiting scans; 0: a 32nd of the memory, from 64M to 1G",
                  kReloadable),
      Count("limits.max_batch", &Limits::max_batch, 1, 1'000'000,
            "limit the scans in one call of the engine; it has fewer where it would take longer "
            "than 50 ms",
            kReloadable),
      Count("limits.max_iterations", &Limits::max_iterations, 1, 1000,
            "limit the Newton steps of a stage", kReloadable),
      Count("limits.max_poses_per_set", &Limits::max_poses_per_set, 1, 10'000'000,
            "limit the poses of a set in ScorePoses", kReloadable),
      Count("limits.max_searches", &Limits::max_searches, 1, 10'000,
            "limit the number of searches for an initial pose that are open", kReloadable),
      Count("limits.max_recoveries", &Limits::max_recoveries, 1, 10'000,
            "limit the searches for lost vehicles that run at once, over all sessions",
            kReloadable),
      Count("limits.max_scoring_streams", &Limits::max_scoring_streams, 1, 10'000,
            "limit the number of scoring streams that are open", kReloadable),
      Count("limits.max_particles", &Limits::max_particles, 1, 1'000'000,
            "limit the candidates that a search around a prior aligns", kReloadable),
      Bytes("limits.search_cache_bytes", &Limits::search_cache_bytes,
            "limit the memory of the grids that searches of regions and whole maps keep, such as "
            "1G; 0: a 32nd of the memory, from 64M to 1G"),
      Count("limits.max_maps", &Limits::max_maps, 1, 10'000, "limit the number of maps",
            kReloadable),
      Count("limits.max_tiles_per_map", &Limits::max_tiles_per_map, 1, 10'000'000,
            "limit the tiles of a map", kReloadable),
      Count("limits.max_points_per_tile", &Limits::max_points_per_tile, 1, kMax32,
            "limit the points of a tile", kReloadable),
      Count("limits.max_points_per_map", &Limits::max_points_per_map, 1, kMax48,
            "limit the points of a map and of one transaction", kReloadable),
      Bytes("limits.max_map_memory_bytes", &Limits::max_map_memory_bytes,
            "limit the memory that all maps take on the engine's device, bytes, such as 8G; larger "
            "maps are there in part, around the vehicles; 0: three quarters of the device's "
            "memory, or of what the process may use of the machine's"),
      Number("limits.max_map_extent_m", &Limits::max_map_extent_m, 1.0, 1e7,
             "limit the extent of a map along an axis, metres", kReloadable),
      Count("limits.max_chunk_bytes", &Limits::max_chunk_bytes, 1024, 2'000'000'000,
            "limit the points in a tile chunk, bytes", kReloadable),
      Count("limits.max_map_transactions", &Limits::max_map_transactions, 1, 10'000,
            "limit the number of open map transactions", kReloadable),
      Count("limits.max_watchers", &Limits::max_watchers, 1, 1'000'000,
            "limit the number of streams that watch maps, and of those that watch the health",
            kReloadable),
      Count("limits.max_map_readers", &Limits::max_map_readers, 1, 10'000,
            "limit the number of open streams that read tiles or cells of maps", kReloadable),
      Count("limits.max_staged_revisions", &Limits::max_staged_revisions, 1, 1000,
            "limit the staged revisions of a map"),
      Bytes("limits.max_unreferenced_bytes", &Limits::max_unreferenced_bytes,
            "limit the bytes of tiles that have arrived and that no revision holds, such as 64G"),
      Bytes("limits.max_moments_bytes", &Limits::max_moments_bytes,
            "limit the cell moments that are kept in data_dir, bytes, such as 16G"),
      Count("limits.max_tile_fits", &Limits::max_tile_fits, 1, 10'000'000,
            "limit the tiles, over all maps, whose fit to the scans is kept"),
      Count("limits.max_buffered_poses", &Limits::max_buffered_poses, 2, kMaxBufferedPoses,
            "limit the poses, and the reference positions, that a session keeps", kReloadable),
      Count("limits.max_recovery_candidates", &Limits::max_recovery_candidates, 1,
            kMaxRecoveryCandidates,
            "set the number of candidates that a search for a lost vehicle aligns", kReloadable),
      Count("limits.max_accumulated_points", &Limits::max_accumulated_points, 1, kMax32,
            "limit the points of all scans that a session joins", kReloadable),
      BytesOrZero("limits.max_reply_bytes", &Limits::max_reply_bytes, 1 << 20, kMax48,
                  "pause reading from streams whose clients leave replies waiting while all of "
                  "these have more bytes than this; 0: a 32nd of the memory, from 64M to 1G",
                  kReloadable),
      Count("limits.max_unopened_streams", &Limits::max_unopened_streams, 1, 1'000'000,
            "limit the number of sessions that have not sent their first message", kReloadable),
      Number("limits.open_timeout_s", &Limits::open_timeout_s, 0.0, 86'400.0,
             "end streams whose first message does not arrive within this many seconds; 0: never",
             kReloadable),
      Number("limits.idle_timeout_s", &Limits::idle_timeout_s, 0.0, 86'400.0,
             "end streams whose client sends nothing, or takes no reply, for this many seconds; 0: "
             "never",
             kReloadable),
      Bytes("limits.max_transport_bytes", &Limits::max_transport_bytes,
            "limit the memory of gRPC's buffers, bytes, such as 4G; 0: what the other limits let "
            "in, at most an eighth of the memory"),
      Count("limits.max_transport_threads", &Limits::max_transport_threads, 2, 4096,
            "limit the threads that gRPC starts for blocking calls, which is server reflection"),
  };
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

std::string FlagOfKey(absl::string_view key) {
  return absl::StrCat("--", absl::StrReplaceAll(key, {{"_", "-"}}));
}

absl::Status CheckAddress(absl::string_view key, const std::string& address) {
  if (ParseHostPort(address, PortZero::kAllowed).ok()) return absl::OkStatus();
  return setting_kinds::Refuse(key, address, setting_kinds::kAddressRequirement);
}

std::vector<ConfigChange> ApplyReloadable(const EffectiveConfig& next, const SettingTable& table,
                                          EffectiveConfig& config) {
  std::vector<ConfigChange> changes;
  for (const Setting& setting : table) {
    const std::string before = setting.get(config.config);
    const std::string after = setting.get(next.config);
    // `set` takes what `get` returns.
    const bool applied = setting.reloadable && setting.set(after, config.config).ok();
    if (applied || before == after) {
      config.origins.erase(setting.key);
      const auto origin = next.origins.find(setting.key);
      if (origin != next.origins.end()) config.origins.insert(*origin);
    }
    if (before == after) continue;
    changes.push_back({setting.key, setting.secret ? "(secret)" : before,
                       setting.secret ? "(secret)" : after, applied});
  }
  return changes;
}

}  // namespace voxloc::server
