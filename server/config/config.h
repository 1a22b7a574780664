// SPDX-License-Identifier: Apache-2.0
//
// Config: everything that can be set about a server, with its default. A plain value; 0
// stands for what follows from the machine where the comment says so.

#ifndef VOXLOC_SERVER_CONFIG_CONFIG_H_
#define VOXLOC_SERVER_CONFIG_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/profile_set.h"
#include "core/estimate/calibration/sensor_calibration.h"

namespace voxloc::server {

// Limits of requests. GetServerInfo returns them to clients.
struct Limits {
  uint64_t max_message_bytes = uint64_t{16} << 20;
  uint32_t max_points_per_scan = 2'000'000;
  uint32_t max_sessions = 1024;
  uint32_t max_waiting_scans = 8;  // per session, while one is aligned
  uint32_t max_queued_scans = 4096;
  uint64_t max_queued_bytes = 0;  // of the scans that wait; 0: see ResolveDefaults
  uint32_t max_batch = 1024;      // scans in one call of the engine
  uint32_t max_iterations = 1000;
  uint32_t max_poses_per_set = 100'000;
  uint32_t max_searches = 16;         // for an initial pose, at once
  uint32_t max_recoveries = 16;       // searches for lost vehicles, at once
  uint32_t max_scoring_streams = 16;  // at once
  uint32_t max_particles = 10'000;
  uint64_t search_cache_bytes = 0;  // of what searches keep of maps; 0: see ResolveDefaults
  uint32_t max_maps = 64;
  uint32_t max_tiles_per_map = 100'000;
  uint64_t max_points_per_tile = 50'000'000;
  uint64_t max_points_per_map = 2'000'000'000;
  uint64_t max_map_memory_bytes = 0;  // of all maps; 0: see MapMemoryBytes
  double max_map_extent_m = 1e6;
  uint64_t max_chunk_bytes = uint64_t{8} << 20;
  uint32_t max_map_transactions = 16;
  uint32_t max_watchers = 1024;       // of maps, and as many of the health
  uint32_t max_map_readers = 64;      // streams of tiles and cells
  uint32_t max_staged_revisions = 4;  // of a map
  // Of tiles that no revision holds, as they are kept.
  uint64_t max_unreferenced_bytes = uint64_t{64} << 30;
  // Of the cache of moments: those of 1e9 points, 0.2 m apart, with the cells of both profiles.
  uint64_t max_moments_bytes = uint64_t{16} << 30;
  uint32_t max_tile_fits = 100'000;       // tiles whose fit to scans is kept
  uint32_t max_buffered_poses = 500;      // per session; of reference positions as many
  uint32_t max_recovery_candidates = 64;  // of one search for a lost vehicle
  // Of replies that wait for their readers; 0: see ResolveDefaults.
  uint64_t max_reply_bytes = 0;
  // A fleet that comes back after a restart comes at once.
  uint32_t max_unopened_streams = 1024;
  // A setup with a scan of 2,000,000 points takes a link of 10 Mbit/s 20 s.
  double open_timeout_s = 30.0;      // 0: none
  double idle_timeout_s = 600.0;     // 0: none
  uint64_t max_transport_bytes = 0;  // that gRPC holds; 0: see ResolveDefaults
  uint32_t max_transport_threads = 8;
  // Of all scans that a session joins: a turn of a LiDAR of 128 beams.
  uint32_t max_accumulated_points = 262'144;
};

// What gRPC may hold: `max_transport_bytes` or, where that is 0, as much as the messages that the
// other limits let in and out, which must not be 0.
[[nodiscard]] inline uint64_t TransportBytes(const Limits& limits) {
  if (limits.max_transport_bytes != 0) return limits.max_transport_bytes;
  const uint64_t large_messages =
      uint64_t{limits.max_searches} + limits.max_scoring_streams + limits.max_map_transactions;
  return limits.max_queued_bytes + limits.max_reply_bytes +
         large_messages * limits.max_message_bytes;
}

// Which maps are in memory, and which tiles of those that do not fit, metres: Autoware's dynamic
// map loading (map_radius, lidar_radius, update_distance) and its defaults.
struct ResidencyOptions {
  double map_radius_m = 150.0;      // around a vehicle, in which tiles are loaded
  double lidar_radius_m = 100.0;    // around a vehicle, in which missing tiles are reported
  double update_distance_m = 20.0;  // that a vehicle drives between two updates of its tiles
  // How far ahead of a vehicle, at its velocity, tiles are loaded too: half as long again as it
  // takes at 15 m/s to drive the 50 m between both radii.
  double ahead_s = 5.0;
  // A map is loaded when it is asked for and dropped when it was not used for so long; 0: all maps
  // are loaded at the start and stay.
  double idle_timeout_s = 0.0;
};

// Files in PEM. Empty: none.
struct TlsOptions {
  std::string certificate;  // of the server, with what signed it
  std::string private_key;  // of its first certificate
  std::string client_ca;    // clients need a certificate that one of these has signed
  // Polling period of the files: kubelet updates mounted secrets no more often (syncFrequency).
  double refresh_s = 60.0;
};

// What is kept of scans that went badly.
struct CaptureOptions {
  uint64_t max_bytes = 0;        // of all captures on the disk; 0: nothing is captured
  std::string directory;         // empty: `captures` in data_dir
  double max_age_s = 604'800.0;  // a week: what is older is deleted
  double max_per_second = 1.0;   // over all sessions
  // Names of voxloc.v1.AlignmentStatus, without ALIGNMENT_STATUS_: poses that cannot be used, or
  // may be wrong, although the scan was aligned; and what an engine failed in.
  std::vector<std::string> statuses = {"LOW_SCORE",      "NOT_CONVERGED", "LOW_OVERLAP",
                                       "LOW_CONFIDENCE", "OUT_OF_MAP",    "AMBIGUOUS",
                                       "ENGINE_FAULT"};
};

// What is kept of accepted scans for `voxloc map propose`.
struct MapUpdateOptions {
  uint64_t max_bytes = 0;          // of all of them on the disk; 0: none are kept
  std::string directory;           // empty: `map_update` in data_dir
  double max_age_s = 2'592'000.0;  // 30 days, after which fits of tiles have decayed to 37 %
  // TileFit::change of a tile that counts as changed: the least of a house that was removed, after
  // five passes (docs/accuracy.md). 0: all tiles do.
  double min_change = 0.03;
  // Of the elapsed time of tracking: below 2 % of its processor time also where twice as many
  // threads want to run as there are processors.
  double max_cpu_share = 0.01;
};

// Limits on connections of clients.
struct ConnectionOptions {
  uint32_t max_open = 0;  // at once; 0: see ResolveDefaults
  // Until TLS and HTTP/2 are agreed on: as long as gRPC's clients try (20 s).
  double handshake_timeout_s = 20.0;
  // Without a call; then the client connects again for its next one. 0: none. As long as a stream
  // may be silent (Limits::idle_timeout_s).
  double idle_timeout_s = 600.0;
  // A ping goes out when nothing was heard for keepalive_time_s, and a client that does not answer
  // it within keepalive_timeout_s is gone: behind a NAT that forgot it, switched off.
  double keepalive_time_s = 30.0;
  double keepalive_timeout_s = 10.0;
  // What a client may have under way on a stream before the server has read it: a scan of 65,000
  // points, and 20 MB/s over a link of 50 ms. gRPC would let it grow to gigabytes in all where
  // clients send more than the server reads, and scans in it only get old.
  uint32_t stream_window_bytes = 1U << 20U;
};

// A database of PostgreSQL that several servers share for their maps.
struct StoreConnection {
  std::string url;             // postgresql://..., without a password; empty: none
  double poll_period_s = 2.0;  // polling for changes, in addition to the database's notifications
  // Of a database on the same network; libpq's own shortest is 2 s.
  double connect_timeout_s = 3.0;
  // Of one statement, with the wait for others who write: the commit of 26,000 tiles by another
  // server takes as long (0.34 ms a tile, docs/reliability.md).
  double request_timeout_s = 10.0;
  // Connections that read; two are for the rest. PostgreSQL has 100 by default, 3 of them for its
  // administrator: enough for nine servers.
  uint32_t max_readers = 8;
};

struct Config {
  std::string listen = "127.0.0.1:50051";
  std::string metrics_listen = "127.0.0.1:9464";  // "off": no metrics endpoint
  std::string otlp_endpoint;                      // of a collector of traces; empty: none
  std::string data_dir;                           // empty: maps are kept in memory
  StoreConnection store;
  uint32_t kept_revisions = 10;  // of a map that were active
  bool tile_fit = true;          // compare some scans with the map's tiles
  ResidencyOptions residency;
  std::string moments_cache = "auto";       // auto: with the CPU engine; on, off
  std::string engine = "auto";              // auto, cpu, cuda
  std::vector<uint32_t> devices = {0};      // GPUs, as the driver counts them
  std::string on_engine_failure = "serve";  // serve, restart
  uint64_t gpu_memory_limit_bytes = 0;      // on each GPU; 0: all there is
  std::string ready_file;                   // empty: none
  uint32_t threads = 0;                     // of the CPU engine; 0: see ResolveDefaults
  std::string log_level = "info";           // trace, debug, info, warn, error
  std::vector<std::string> profile_files;   // that `profiles` has in addition to the built-in ones
  ProfileSet profiles;
  std::string default_profile = "precise";
  std::string sensor_calibration;  // the file that `sensors` were read from; empty: none
  SensorCalibrations sensors;
  std::string reflection = "auto";  // auto: without TLS and access file; true, false
  bool insecure = false;            // serve other machines without TLS
  TlsOptions tls;
  std::string access_file;  // empty: everybody may do everything
  std::string audit_log;    // empty: into the log
  // Together, with the end of the process, below the 30 s that Kubernetes grants by default.
  double drain_delay_s = 5.0;     // after not being ready, so that endpoints notice
  double drain_spread_s = 5.0;    // then, over which sessions are notified to leave
  double drain_timeout_s = 12.0;  // then, for open calls to end by themselves
  CaptureOptions capture;
  MapUpdateOptions map_update;
  ConnectionOptions connections;
  Limits limits;
};

// Where captures are kept; empty: nowhere.
[[nodiscard]] inline std::string CaptureDirectory(const Config& config) {
  if (!config.capture.directory.empty() || config.data_dir.empty()) return config.capture.directory;
  return config.data_dir + "/captures";
}

// Where scans for map updates are kept; empty: nowhere.
[[nodiscard]] inline std::string MapUpdateDirectory(const Config& config) {
  const std::string& directory = config.map_update.directory;
  if (!directory.empty() || config.data_dir.empty()) return directory;
  return config.data_dir + "/map_update";
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_CONFIG_H_
