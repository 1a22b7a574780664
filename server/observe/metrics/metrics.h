// SPDX-License-Identifier: Apache-2.0
//
// Metrics: every metric that the server counts, registered once, each with its handle kept ready;
// what is read when a scrape comes is in exporter.cc. Label values come from fixed sets, never from
// clients. docs/metrics.md lists them. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_METRICS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_METRICS_H_

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "server/observe/metrics/instruments.h"
#include "server/observe/metrics/rpc_metrics.h"

namespace voxloc::server {

inline constexpr size_t kAlignmentStatuses = 18;  // of voxloc.v1.AlignmentStatus

// The stages of a launch on one GPU.
struct DeviceStages {
  Histogram upload_s;
  Histogram kernel_s;
  Histogram download_s;
};

class Metrics : public MetricRegistry {
 public:
  // `gpus`: the names of the engine's GPUs, in the order of EngineInfo::parts.
  explicit Metrics(const std::vector<std::string>& gpus = {});

  // RPCs.

  [[nodiscard]] const RpcMetrics& rpc(RpcMethod method) const {
    return rpcs_[static_cast<size_t>(method)];
  }

  // Connections and sessions.

  const Gauge connections = AddGauge(
      {"voxloc_connections", "Open connections of gRPC's clients, counted once a second."});

  static constexpr MetricName kConnectionsRefused = {
      "voxloc_connections_refused_total",
      "Connections closed at once: connections.max_open are open (limit), or the process may open "
      "no more files (descriptors).",
      "reason"};
  const Counter connections_over_limit = AddCounter(kConnectionsRefused, "limit");
  const Counter connections_without_descriptor = AddCounter(kConnectionsRefused, "descriptors");

  const Gauge sessions_active = AddGauge({"voxloc_sessions_active", "Open sessions."});
  const Gauge sessions_localized =
      AddGauge({"voxloc_sessions_localized",
                "Open sessions whose last answer, other than SUPERSEDED, has an accepted pose."});

  static constexpr MetricName kRejected = {
      "voxloc_rejected_total",
      "Requests refused at a limit: tracking (sessions, unopened, queue_full), scoring (streams), "
      "searching (searches, recoveries), mapping (transactions), reading (streams).",
      "class", "reason"};
  const Counter rejected_sessions = AddCounter(kRejected, "tracking", "sessions");  // or draining
  const Counter rejected_scans = AddCounter(kRejected, "tracking", "queue_full");
  const Counter rejected_unopened = AddCounter(kRejected, "tracking", "unopened");
  const Counter rejected_scoring = AddCounter(kRejected, "scoring", "streams");
  const Counter rejected_searches = AddCounter(kRejected, "searching", "searches");
  const Counter rejected_recoveries = AddCounter(kRejected, "searching", "recoveries");
  const Counter rejected_transactions = AddCounter(kRejected, "mapping", "transactions");
  const Counter rejected_map_readers = AddCounter(kRejected, "reading", "streams");

  const Gauge map_read_bytes = AddGauge(
      {"voxloc_map_read_bytes",
       "Bytes of maps that are held for clients of GetTiles and GetCells, at most max_reply_bytes "
       "or one tile."});
  const Gauge reply_bytes =
      AddGauge({"voxloc_reply_bytes", "Bytes of replies that wait for clients to take them."});

  static constexpr MetricName kPaused = {
      "voxloc_reads_paused_total",
      "Times that a stream whose replies wait was not read from: 64 of them wait (replies), or "
      "those of all streams have more than max_reply_bytes (bytes).",
      "reason"};
  const Counter paused_by_replies = AddCounter(kPaused, "replies");
  const Counter paused_by_bytes = AddCounter(kPaused, "bytes");

  static constexpr MetricName kTimedOut = {
      "voxloc_streams_timed_out_total",
      "Streams that a timeout ended: no first message (open), nothing more (idle), no reply taken "
      "(replies).",
      "reason"};
  const Counter timed_out_open = AddCounter(kTimedOut, "open");
  const Counter timed_out_idle = AddCounter(kTimedOut, "idle");
  const Counter timed_out_replies = AddCounter(kTimedOut, "replies");

  // Queues.

  static constexpr MetricName kQueueDepth = {
      "voxloc_queue_depth",
      "Waiting tasks: scans (tracking), sessions and calls whose slow estimates wait (estimating), "
      "slices of pose sets (scoring), searches (searching), steps of transactions and loads "
      "(mapping), messages of tiles and cells (reading), tiles for the cache (moments), scans to "
      "be compared with their map (fitting).",
      "class"};
  static constexpr MetricName kQueueWait = {
      "voxloc_queue_wait_seconds",
      "Time from the receipt of a task to the start of its work; of tracking, only scans that are "
      "aligned.",
      "class"};
  const QueueMetrics tracking_queue = AddQueue("tracking");
  const QueueMetrics estimating_queue = AddQueue("estimating");
  const QueueMetrics scoring_queue = AddQueue("scoring");
  const QueueMetrics searching_queue = AddQueue("searching");
  const QueueMetrics mapping_queue = AddQueue("mapping");
  const QueueMetrics reading_queue = AddQueue("reading");
  const QueueMetrics moments_queue = AddQueue("moments");
  const QueueMetrics fitting_queue = AddQueue("fitting");

  // Scans.

  const Counter scans_received = AddCounter({"voxloc_scans_received_total", "Scans received."});
  const Counter scan_points_received =
      AddCounter({"voxloc_scan_points_received_total", "Points of the scans received."});

  static constexpr MetricName kDropped = {
      "voxloc_scans_dropped_total",
      "Scans that were not aligned: a newer one replaced them (superseded), they came too late "
      "(stale), too many waited (queue_full), they were malformed (invalid), their deadline passed "
      "(deadline), their client had gone (closed).",
      "reason"};
  const Counter dropped_superseded = AddCounter(kDropped, "superseded");
  const Counter dropped_stale = AddCounter(kDropped, "stale");
  const Counter dropped_queue_full = AddCounter(kDropped, "queue_full");
  const Counter dropped_invalid = AddCounter(kDropped, "invalid");
  const Counter dropped_deadline = AddCounter(kDropped, "deadline");
  const Counter dropped_closed = AddCounter(kDropped, "closed");

  std::array<Counter, kAlignmentStatuses> results;

  const Histogram scan_duration_s =
      AddHistogram({"voxloc_scan_duration_seconds",
                    "Time from the receipt of a scan to the hand-over of its reply."},
                   ScanBuckets());
  const Histogram pose_age_s = AddHistogram(
      {"voxloc_pose_age_seconds",
       "Time from the stamp of an accepted scan to the hand-over of its reply, where client and "
       "server clocks agree: from 0 to 10 s."},
      AgeBuckets());
  const Counter pose_age_unknown = AddCounter(
      {"voxloc_pose_age_unknown_total",
       "Accepted scans whose stamps lie outside the 10 s before their replies, such as those of a "
       "recording; they are not in voxloc_pose_age_seconds."});

  static constexpr MetricName kStage = {
      "voxloc_stage_duration_seconds",
      "Time in one stage of the work: of a scan prepare, estimate and encode, of a batch align, of "
      "a slice of poses score, of a tile build_tile.",
      "stage"};
  const Histogram stage_prepare_s = AddHistogram(kStage, StepBuckets(), "prepare");
  const Histogram stage_align_s = AddHistogram(kStage, StepBuckets(), "align");
  const Histogram stage_estimate_s = AddHistogram(kStage, StepBuckets(), "estimate");
  const Histogram stage_encode_s = AddHistogram(kStage, StepBuckets(), "encode");
  const Histogram stage_score_s = AddHistogram(kStage, StepBuckets(), "score");
  const Histogram stage_build_s = AddHistogram(kStage, StepBuckets(), "build_tile");

  const Histogram batch_size =
      AddHistogram({"voxloc_batch_size", "Scans in one call of the engine."},
                   {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096});
  const Histogram iterations = AddHistogram({"voxloc_align_iterations", "Newton steps of a scan."},
                                            {1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 1000});
  const Histogram nvtl =
      AddHistogram({"voxloc_align_score",
                    "Nearest voxel transformation likelihood (NVTL) of a scan at its result."},
                   {0.5, 1.0, 1.5, 2.0, 2.3, 2.5, 3.0, 3.5, 4.0, 5.0});
  const Histogram matched_ratio = AddHistogram(
      {"voxloc_align_inlier_ratio", "Share of a scan's points that have a map cell near them."},
      RatioBuckets());
  const Histogram confidence =
      AddHistogram({"voxloc_align_confidence", "Confidence of a scan's result."}, RatioBuckets());
  const Counter sweeps_suspect =
      AddCounter({"voxloc_suspect_sweeps_total",
                  "Accepted scans whose times, stamps or motion do not fit their points "
                  "(sweep_check.suspect)."});
  const Counter scans_near_missing_tiles =
      AddCounter({"voxloc_scans_near_missing_tiles_total",
                  "Scans near whose guess a tile of the map was not in memory."});

  // Searches for initial poses and lost vehicles, and scoring.

  const Counter poses_scored =
      AddCounter({"voxloc_poses_scored_total", "Poses scored by ScorePoses."});

  static constexpr MetricName kSearches = {
      "voxloc_searches_total",
      "Searches for an initial pose that were answered, by what they found.", "found"};
  const Counter searches_reliable = AddCounter(kSearches, "reliable");    // passes, unambiguous
  const Counter searches_ambiguous = AddCounter(kSearches, "ambiguous");  // another one is as good
  const Counter searches_unreliable = AddCounter(kSearches, "unreliable");  // does not pass
  const Counter searches_nothing = AddCounter(kSearches, "nothing");        // no hypothesis

  const Counter searches_timed_out =
      AddCounter({"voxloc_searches_timed_out_total", "Searches that their timeout ended."});
  const Counter search_candidates =
      AddCounter({"voxloc_search_candidates_aligned_total", "Candidates that searches aligned."});
  const Histogram search_duration_s =
      AddHistogram({"voxloc_search_duration_seconds",
                    "Time from the receipt of a search to the hand-over of its result."},
                   LongBuckets());

  static constexpr MetricName kRecoveries = {
      "voxloc_recoveries_total",
      "Searches for lost vehicles (found, failed), and found poses that later scans decided on "
      "(confirmed, dropped).",
      "outcome"};
  const Counter recoveries_found = AddCounter(kRecoveries, "found");
  const Counter recoveries_failed = AddCounter(kRecoveries, "failed");
  const Counter recoveries_confirmed = AddCounter(kRecoveries, "confirmed");
  const Counter recoveries_dropped = AddCounter(kRecoveries, "dropped");

  // Maps.

  const Gauge maps = AddGauge({"voxloc_maps", "Maps that are served."});
  const Gauge maps_resident =
      AddGauge({"voxloc_maps_resident", "Maps of which there are tiles in memory."});
  const Counter maps_demanded = AddCounter(
      {"voxloc_maps_demanded_total",
       "Maps without tiles in memory that were loaded since a session or a request needed them."});
  const Counter maps_dropped = AddCounter(
      {"voxloc_maps_dropped_total", "Maps that were dropped from memory after the idle timeout."});
  const Gauge map_tiles = AddGauge({"voxloc_map_tiles", "Tiles of all maps."});
  const Gauge map_points = AddGauge({"voxloc_map_points", "Points of all maps."});
  const Gauge map_cells =
      AddGauge({"voxloc_map_voxels", "Cells of all maps, over all cell statistics."});

  // The memory that the engine does not use is 0.
  static constexpr MetricName kMapBytes = {
      "voxloc_map_bytes",
      "Memory of all maps, where the engine that serves keeps them: the host's for the CPU engine, "
      "that of the GPUs for theirs.",
      "memory"};
  const Gauge map_bytes_host = AddGauge(kMapBytes, "host");
  const Gauge map_bytes_device = AddGauge(kMapBytes, "device");

  const Counter map_commits = AddCounter({"voxloc_map_commits_total", "Revisions published."});
  const Histogram map_commit_s = AddHistogram(
      {"voxloc_map_swap_seconds", "Time from a commit to the use of the new revision."},
      LongBuckets());
  const Histogram map_load_s = AddHistogram(
      {"voxloc_map_load_seconds",
       "Time to load a map at the start, until requests could use it, or whole on demand."},
      LongBuckets());
  const Counter map_tiles_damaged = AddCounter(
      {"voxloc_map_tiles_damaged_total",
       "Tiles that were left out because their content in the store is damaged or missing."});
  const Gauge map_tiles_resident =
      AddGauge({"voxloc_map_tiles_resident", "Tiles of all maps that are in memory."});
  const Counter map_tiles_loaded =
      AddCounter({"voxloc_map_tiles_loaded_total", "Tiles brought to memory from the store."});
  const Counter map_tiles_evicted = AddCounter(
      {"voxloc_map_tiles_evicted_total", "Tiles taken out of memory to make room for others."});

  // The store of maps.

  const Gauge store_connected = AddGauge(
      {"voxloc_store_connected",
       "1: the database of the maps answers, or they are kept by this server alone; 0: the maps "
       "that are served stay as they are, and nothing can be written."});
  const Counter store_losses =
      AddCounter({"voxloc_store_connections_lost_total",
                  "Times that the database of the maps has ceased to answer."});
  const Gauge store_followed_unix_s = AddGauge(
      {"voxloc_store_followed_timestamp_seconds",
       "Unix time at which the served maps were last found to be those of the database that "
       "several servers share; 0: they are kept by this server alone."});
  const Histogram map_follow_s = AddHistogram(
      {"voxloc_map_follow_seconds",
       "Time from noticing that another server has changed maps to serving what it made of them."},
      LongBuckets());
  const Gauge store_bytes = AddGauge({"voxloc_store_bytes", "Size of the store of maps."});
  const Gauge store_content_bytes =
      AddGauge({"voxloc_store_content_bytes", "Content of tiles in the store, compressed."});
  const Gauge store_unreferenced_bytes =
      AddGauge({"voxloc_store_unreferenced_bytes",
                "Content of tiles in the store, compressed, that no revision of a map holds."});

  static constexpr MetricName kMoments = {
      "voxloc_moments_total",
      "Tiles at the cache of moments: found (hit); built from points (miss), since they were "
      "damaged (also damaged); built, and not written, since too many waited, the disk was full or "
      "the tile too large (not_kept); removed at max_moments_bytes (evicted).",
      "outcome"};
  const Counter moments_hits = AddCounter(kMoments, "hit");
  const Counter moments_misses = AddCounter(kMoments, "miss");
  const Counter moments_damaged = AddCounter(kMoments, "damaged");
  const Counter moments_not_kept = AddCounter(kMoments, "not_kept");
  const Counter moments_evicted = AddCounter(kMoments, "evicted");
  const Gauge moments_bytes = AddGauge({"voxloc_moments_bytes", "Cell moments in the cache."});

  // How scans fit the tiles.

  static constexpr MetricName kFitSamples = {
      "voxloc_tile_fit_samples_total",
      "Scans chosen to be compared with the tiles of their map: compared (taken), left out since "
      "another one waited (dropped), failed.",
      "outcome"};
  const Counter fit_samples_taken = AddCounter(kFitSamples, "taken");
  const Counter fit_samples_dropped = AddCounter(kFitSamples, "dropped");
  const Counter fit_samples_failed = AddCounter(kFitSamples, "failed");
  const Counter fit_s =
      AddCounter({"voxloc_tile_fit_seconds_total",
                  "Processor time spent on comparing scans with the tiles of their map."});
  const Gauge fit_tiles =
      AddGauge({"voxloc_tile_fits", "Tiles of all maps whose fit to the scans is known."});

  // The engine.

  const Gauge engine_fallback =
      AddGauge({"voxloc_engine_fallback", "1: the engine is not the one that was requested."});
  const Counter engine_takeovers = AddCounter(
      {"voxloc_engine_takeovers_total",
       "Times that an engine which stood by took over from one that failed permanently."});

  static constexpr MetricName kEngineFailures = {
      "voxloc_engine_failures_total",
      "Requests that failed in a call of the engine: while it still computes (fault), after it has "
      "failed permanently (lost), for lack of memory (memory).",
      "kind"};
  const Counter engine_faults = AddCounter(kEngineFailures, "fault");
  const Counter engine_lost = AddCounter(kEngineFailures, "lost");
  const Counter engine_no_memory = AddCounter(kEngineFailures, "memory");

  std::vector<DeviceStages> device_stages;  // of each GPU

  // Spans on their way to the collector.

  static constexpr MetricName kSpans = {
      "voxloc_spans_total",
      "Spans of sampled traces: taken by the collector (exported), left out since the queue was "
      "full or the server stopped (dropped), refused by the collector (refused), given up after "
      "the last retry (failed).",
      "outcome"};
  const Counter spans_exported = AddCounter(kSpans, "exported");
  const Counter spans_dropped = AddCounter(kSpans, "dropped");
  const Counter spans_refused = AddCounter(kSpans, "refused");
  const Counter spans_failed = AddCounter(kSpans, "failed");

  // Access.

  static constexpr MetricName kDenied = {"voxloc_access_denied_total",
                                         "Checks that a call did not pass, by what was wrong.",
                                         "reason"};
  const Counter denied_missing = AddCounter(kDenied, "missing_credentials");
  const Counter denied_unknown = AddCounter(kDenied, "unknown_credentials");
  const Counter denied_expired = AddCounter(kDenied, "expired_credentials");
  const Counter denied_role = AddCounter(kDenied, "role");
  const Counter denied_map = AddCounter(kDenied, "map");
  const Counter denied_vehicle = AddCounter(kDenied, "vehicle");

  static constexpr MetricName kSecurityReloads = {
      "voxloc_security_reloads_total", "Times that the access file or the files of TLS were read.",
      "file", "outcome"};
  const Counter access_reloads_ok = AddCounter(kSecurityReloads, "access", "ok");
  const Counter access_reloads_failed = AddCounter(kSecurityReloads, "access", "failed");
  const Counter tls_reloads_ok = AddCounter(kSecurityReloads, "tls", "ok");
  const Counter tls_reloads_failed = AddCounter(kSecurityReloads, "tls", "failed");

  const Gauge tls_expiry_s =
      AddGauge({"voxloc_tls_certificate_expiry_timestamp_seconds",
                "When the server's certificate ends, since the Unix epoch; 0: no TLS."});
  const Counter audit_failures = AddCounter(
      {"voxloc_audit_failures_total", "Lines that could not be written to the audit log's file."});

  // Captures: scans kept on the disk, because they went badly or for a new map.

  static constexpr MetricName kCapturesDropped = {
      "voxloc_captures_dropped_total",
      "Scans that were to be captured and were not, by purpose (voxloc_captures_written_total): "
      "there were more than capture.max_per_second (rate), too many bytes waited for the disk "
      "(queue_full), they would not fit into the purpose's max_bytes or into a reply (too_large), "
      "nothing that could be kept leads to the same pose (not_replayable), the disk was full or "
      "not writable (failed).",
      "purpose", "reason"};
  const CaptureMetrics captures = AddCaptures("bad_scan");
  const CaptureMetrics map_update_captures = AddCaptures("map_update");
  const Counter captures_rate_limited = AddCounter(kCapturesDropped, "bad_scan", "rate");
  const Counter captures_not_replayable =
      AddCounter(kCapturesDropped, "bad_scan", "not_replayable");
  const Counter map_update_s = AddCounter(
      {"voxloc_map_update_seconds_total", "CPU time spent on keeping scans for map updates."});

  // What became of the scans on each map: maps come and go, and a registry's series do not.
  [[nodiscard]] MapResults& map_results() const { return map_results_; }

 private:
  [[nodiscard]] QueueMetrics AddQueue(const char* work_class) {
    return {AddGauge(kQueueDepth, work_class), AddHistogram(kQueueWait, StepBuckets(), work_class)};
  }
  [[nodiscard]] CaptureMetrics AddCaptures(const char* purpose) {
    static constexpr MetricName kWritten = {
        "voxloc_captures_written_total",
        "Scans written to the disk, by purpose: they went badly (bad_scan), or show where a map "
        "has changed (map_update).",
        "purpose"};
    static constexpr MetricName kDeleted = {
        "voxloc_captures_deleted_total",
        "Captures that were deleted, by purpose: they were older than its max_age_s (age), or "
        "newer ones needed the room (room).",
        "purpose", "reason"};
    static constexpr MetricName kKept = {"voxloc_captures_kept", "Captures on the disk.",
                                         "purpose"};
    static constexpr MetricName kBytes = {"voxloc_capture_bytes",
                                          "Bytes of the captures on the disk.", "purpose"};
    return {AddCounter(kWritten, purpose),
            AddCounter(kCapturesDropped, purpose, "queue_full"),
            AddCounter(kCapturesDropped, purpose, "too_large"),
            AddCounter(kCapturesDropped, purpose, "failed"),
            AddCounter(kDeleted, purpose, "age"),
            AddCounter(kDeleted, purpose, "room"),
            AddGauge(kKept, purpose),
            AddGauge(kBytes, purpose)};
  }
  [[nodiscard]] RpcMetrics AddRpc(const RpcName& rpc);

  std::array<RpcMetrics, kRpcMethods> rpcs_;
  mutable MapResults map_results_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_METRICS_H_
