// SPDX-License-Identifier: Apache-2.0
//
// Metrics: every metric of the server, registered once, each with its handle kept ready. Label
// values come from fixed sets, never from clients. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_METRICS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_METRICS_H_

#include <array>
#include <cstddef>
#include <memory>

#include "server/observe/metrics/instruments.h"

namespace prometheus {
class Registry;
}  // namespace prometheus

namespace voxloc::server {

enum class RpcMethod {
  kAlignScans,
  kAlignScan,
  kEstimateInitialPose,
  kScorePoses,
  kUpdateMapTiles,
  kGetMap,
  kListMaps,
  kDeleteMap,
  kListTiles,
  kGetTiles,
  kGetCells,
  kWatchMap,
  kListRevisions,
  kActivateRevision,
  kWithdrawRevision,
  kSetCanary,
  kGetServerInfo,
  kListSessions,
  kGetConfig,
  kSetLogLevel,
  kDrain,
  kListCaptures,
  kGetCapture,
};
inline constexpr size_t kRpcMethods = 23;
[[nodiscard]] const char* NameOf(RpcMethod method);  // "AlignScans"
[[nodiscard]] const char* NameOfCode(int code);      // of gRPC: "OK", "NOT_FOUND"
inline constexpr size_t kStatusCodes = 17;           // of gRPC, from OK
inline constexpr size_t kAlignmentStatuses = 18;     // of voxloc.v1.AlignmentStatus

struct RpcMetrics {
  Counter started;
  std::array<Counter, kStatusCodes> handled;
  Histogram duration_s;
  Gauge in_flight;
};

class Metrics {
 public:
  explicit Metrics(const char* engine);
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics();

  [[nodiscard]] const RpcMetrics& rpc(RpcMethod method) const {
    return rpcs[static_cast<size_t>(method)];
  }

  [[nodiscard]] std::shared_ptr<prometheus::Registry> registry() const { return registry_; }

 private:
  const std::shared_ptr<prometheus::Registry> registry_;

 public:
  std::array<RpcMetrics, kRpcMethods> rpcs;

  Gauge engine_fallback;     // 1: the engine is not what was asked for
  Counter engine_takeovers;  // by an engine that stood by

  Gauge sessions_active;
  Counter rejected_sessions;      // too many, or draining
  Counter rejected_scans;         // the queue was full
  Counter rejected_scoring;       // too many scoring streams
  Counter rejected_searches;      // too many searches
  Counter rejected_recoveries;    // too many searches for lost vehicles
  Counter rejected_unopened;      // too many streams without `open`
  Counter rejected_transactions;  // too many map transactions

  Counter scans_received;
  Counter scan_points_received;
  Counter dropped_superseded;
  Counter dropped_stale;
  Counter dropped_queue_full;
  Counter dropped_invalid;
  Counter dropped_deadline;
  Counter dropped_closed;  // their client had gone
  std::array<Counter, kAlignmentStatuses> results;

  Gauge reply_bytes;          // of replies that wait for their readers
  Counter paused_by_replies;  // streams that are not read from: too many of their replies wait
  Counter paused_by_bytes;    // the same: the replies of all streams have too many bytes
  Counter timed_out_open;     // streams that were ended: their first message did not come
  Counter timed_out_idle;     // their clients sent nothing
  Counter timed_out_replies;  // their clients took no reply

  Gauge depth_tracking;
  Gauge depth_estimating;
  Gauge depth_scoring;
  Gauge depth_searching;
  Gauge depth_mapping;
  Gauge depth_moments;
  Gauge depth_fitting;
  Histogram wait_tracking_s;
  Histogram batch_size;

  Histogram stage_prepare_s;
  Histogram stage_align_s;
  Histogram stage_estimate_s;
  Histogram stage_encode_s;
  Histogram stage_score_s;
  Histogram stage_build_s;
  Histogram scan_duration_s;  // receipt to hand-over of the reply

  Histogram iterations;
  Histogram nvtl;
  Histogram matched_ratio;
  Histogram confidence;
  Counter sweeps_suspect;        // scans whose times, stamps or motion look wrong
  Counter recoveries_found;      // searches for lost vehicles that found a pose
  Counter recoveries_failed;     // that did not
  Counter recoveries_confirmed;  // found poses that later scans confirmed
  Counter recoveries_dropped;    // that they did not

  Counter poses_scored;
  Counter searches_reliable;    // their best hypothesis passes, and is not ambiguous
  Counter searches_ambiguous;   // another hypothesis is as good
  Counter searches_unreliable;  // their best hypothesis does not pass
  Counter searches_nothing;     // without any hypothesis
  Counter searches_timed_out;
  Counter search_candidates;
  Histogram search_duration_s;
  Gauge maps;
  Gauge map_tiles;
  Gauge map_points;
  Gauge map_cells;
  Gauge map_bytes;
  Counter map_commits;
  Counter map_tiles_damaged;
  Gauge map_tiles_resident;
  Counter map_tiles_loaded;
  Counter map_tiles_evicted;
  Counter scans_near_missing_tiles;
  Gauge store_bytes;
  Gauge store_content_bytes;
  Gauge store_unreferenced_bytes;
  Counter moments_hits;      // tiles whose moments the cache had
  Counter moments_misses;    // that it did not have, damaged ones among them
  Counter moments_damaged;   // whose moments were damaged
  Counter moments_not_kept;  // that were built and not written
  Counter moments_evicted;   // that were removed at the limit
  Gauge moments_bytes;
  Histogram map_commit_s;
  Counter fit_samples_taken;    // scans that were compared with the tiles of their map
  Counter fit_samples_dropped;  // that were to be, and were not: the queue was full
  Counter fit_samples_failed;   // that could not be
  Counter fit_s;                // time spent on them
  Gauge fit_tiles;              // tiles with a record

  Counter denied_missing;  // calls without credentials
  Counter denied_unknown;  // with credentials that the server does not know
  Counter denied_expired;
  Counter denied_role;
  Counter denied_map;
  Counter denied_vehicle;
  Counter access_reloads_ok;
  Counter access_reloads_failed;
  Counter tls_reloads_ok;
  Counter tls_reloads_failed;
  Gauge tls_expiry_s;      // since the Unix epoch
  Counter audit_failures;  // lines that were not written to their file
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_METRICS_H_
