// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstring>
#include <string>
#include <utility>

#include "server/version/version.h"

namespace voxloc::server {
namespace {

using Labels = prometheus::Labels;
using Buckets = prometheus::Histogram::BucketBoundaries;

constexpr std::array<const char*, kRpcMethods> kMethodNames = {
    "AlignScans", "AlignScan",     "EstimateInitialPose", "ScorePoses",       "UpdateMapTiles",
    "GetMap",     "ListMaps",      "DeleteMap",           "ListTiles",        "GetTiles",
    "GetCells",   "WatchMap",      "ListRevisions",       "ActivateRevision", "WithdrawRevision",
    "SetCanary",  "GetServerInfo", "ListSessions",        "GetConfig",        "SetLogLevel",
    "Drain",      "ListCaptures",  "GetCapture"};

constexpr std::array<const char*, kStatusCodes> kCodeNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

constexpr std::array<const char*, kAlignmentStatuses> kStatusNames = {
    "UNSPECIFIED", "OK",         "LOW_SCORE",  "NOT_CONVERGED", "DEGENERATE",     "AMBIGUOUS",
    "LOW_OVERLAP", "OUT_OF_MAP", "NO_MAP",     "NO_PRIOR",      "NOT_ACTIVE",     "STALE",
    "DEADLINE",    "SUPERSEDED", "OVERLOADED", "INVALID_INPUT", "LOW_CONFIDENCE", "ENGINE_FAULT"};

// 50 ms, the objective, and 100 ms, the period of a 10 Hz scanner, are borders.
Buckets LatencyBuckets() {
  return {0.0001, 0.0002, 0.00035, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015,
          0.02,   0.03,   0.05,    0.075,  0.1,   0.2,   0.5,   1.0,   2.0,    5.0,  10.0};
}

// Registers metrics; one call a metric or a family.
class Registrar {
 public:
  explicit Registrar(prometheus::Registry& registry) : registry_(registry) {}

  Counter MakeCounter(const char* name, const char* help, const Labels& labels = {}) {
    return Counter(
        &prometheus::BuildCounter().Name(name).Help(help).Register(registry_).Add(labels));
  }
  Gauge MakeGauge(const char* name, const char* help, const Labels& labels = {}) {
    return Gauge(&prometheus::BuildGauge().Name(name).Help(help).Register(registry_).Add(labels));
  }
  Histogram MakeHistogram(const char* name, const char* help, const Buckets& buckets,
                          const Labels& labels = {}) {
    return Histogram(&prometheus::BuildHistogram().Name(name).Help(help).Register(registry_).Add(
        labels, buckets));
  }

 private:
  prometheus::Registry& registry_;
};

void RegisterRpcs(Registrar& make, std::array<RpcMetrics, kRpcMethods>& rpcs) {
  for (size_t i = 0; i < kRpcMethods; ++i) {
    const Labels method = {{"method", kMethodNames[i]}};
    rpcs[i].started = make.MakeCounter("voxloc_rpc_started_total", "RPCs begun.", method);
    rpcs[i].in_flight = make.MakeGauge("voxloc_rpc_in_flight", "RPCs that have not ended.", method);
    rpcs[i].duration_s =
        make.MakeHistogram("voxloc_rpc_duration_seconds",
                           "From the beginning of an RPC to its end.", LatencyBuckets(), method);
    for (size_t code = 0; code < kStatusCodes; ++code) {
      rpcs[i].handled[code] =
          make.MakeCounter("voxloc_rpc_handled_total", "RPCs ended, by status code.",
                           {{"method", kMethodNames[i]}, {"code", kCodeNames[code]}});
    }
  }
}

void RegisterScans(Registrar& make, Metrics& m) {
  m.scans_received = make.MakeCounter("voxloc_scans_received_total", "Scans received.");
  m.scan_points_received =
      make.MakeCounter("voxloc_scan_points_received_total", "Points of the scans received.");
  const auto dropped = [&make](const char* reason) {
    return make.MakeCounter("voxloc_scans_dropped_total", "Scans that were not aligned.",
                            {{"reason", reason}});
  };
  m.dropped_superseded = dropped("superseded");
  m.dropped_stale = dropped("stale");
  m.dropped_queue_full = dropped("queue_full");
  m.dropped_invalid = dropped("invalid");
  m.dropped_deadline = dropped("deadline");
  m.dropped_closed = dropped("closed");
  for (size_t i = 0; i < kAlignmentStatuses; ++i) {
    m.results[i] = make.MakeCounter("voxloc_align_result_total", "Replies to scans, by status.",
                                    {{"status", kStatusNames[i]}});
  }
  m.scan_duration_s =
      make.MakeHistogram("voxloc_scan_duration_seconds",
                         "From a scan's receipt to the hand-over of its reply.", LatencyBuckets());
  m.iterations = make.MakeHistogram("voxloc_align_iterations", "Newton steps of a scan.",
                                    {1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 1000});
  m.nvtl = make.MakeHistogram("voxloc_align_score",
                              "Nearest voxel transformation likelihood of a scan at its result.",
                              {0.5, 1.0, 1.5, 2.0, 2.3, 2.5, 3.0, 3.5, 4.0, 5.0});
  m.matched_ratio = make.MakeHistogram("voxloc_align_inlier_ratio",
                                       "Share of a scan's points that have a map cell near them.",
                                       {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0});
  m.confidence = make.MakeHistogram("voxloc_align_confidence", "Confidence of a scan's result.",
                                    {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0});
  m.sweeps_suspect =
      make.MakeCounter("voxloc_suspect_sweeps_total",
                       "Accepted scans whose times, stamps or motion do not fit their points.");
  const auto recoveries = [&make](const char* outcome) {
    return make.MakeCounter("voxloc_recoveries_total",
                            "Searches for lost vehicles, and found poses, by outcome.",
                            {{"outcome", outcome}});
  };
  m.recoveries_found = recoveries("found");
  m.recoveries_failed = recoveries("failed");
  m.recoveries_confirmed = recoveries("confirmed");
  m.recoveries_dropped = recoveries("dropped");
}

void RegisterQueues(Registrar& make, Metrics& m) {
  m.sessions_active = make.MakeGauge("voxloc_sessions_active", "Sessions that are open.");
  const auto rejected = [&make](const char* queue, const char* reason) {
    return make.MakeCounter("voxloc_rejected_total", "Requests refused at a limit.",
                            {{"class", queue}, {"reason", reason}});
  };
  m.rejected_sessions = rejected("tracking", "sessions");
  m.rejected_scans = rejected("tracking", "queue_full");
  m.rejected_scoring = rejected("scoring", "streams");
  m.rejected_unopened = rejected("tracking", "unopened");
  m.rejected_searches = rejected("searching", "searches");
  m.rejected_recoveries = rejected("searching", "recoveries");
  m.rejected_transactions = rejected("mapping", "transactions");
  const auto depth = [&make](const char* queue) {
    return make.MakeGauge("voxloc_queue_depth", "Tasks that wait.", {{"class", queue}});
  };
  m.depth_tracking = depth("tracking");
  m.depth_estimating = depth("estimating");
  m.depth_scoring = depth("scoring");
  m.depth_searching = depth("searching");
  m.depth_mapping = depth("mapping");
  m.depth_moments = depth("moments");
  m.depth_fitting = depth("fitting");
  m.wait_tracking_s =
      make.MakeHistogram("voxloc_queue_wait_seconds", "From receipt to the start of the work.",
                         LatencyBuckets(), {{"class", "tracking"}});
  m.batch_size = make.MakeHistogram("voxloc_batch_size", "Scans in one call of the engine.",
                                    {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096});
  const auto stage = [&make](const char* name) {
    return make.MakeHistogram("voxloc_stage_duration_seconds", "Time in one stage of the work.",
                              LatencyBuckets(), {{"stage", name}});
  };
  m.stage_prepare_s = stage("prepare");
  m.stage_align_s = stage("align");
  m.stage_estimate_s = stage("estimate");
  m.stage_encode_s = stage("encode");
  m.stage_score_s = stage("score");
  m.stage_build_s = stage("build_tile");
}

void RegisterStreams(Registrar& make, Metrics& m) {
  m.reply_bytes =
      make.MakeGauge("voxloc_reply_bytes", "Bytes of replies that wait for clients to take them.");
  const auto paused = [&make](const char* reason) {
    return make.MakeCounter("voxloc_reads_paused_total",
                            "Times that a stream whose replies wait was not read from.",
                            {{"reason", reason}});
  };
  m.paused_by_replies = paused("replies");
  m.paused_by_bytes = paused("bytes");
  const auto timed_out = [&make](const char* reason) {
    return make.MakeCounter("voxloc_streams_timed_out_total",
                            "Streams that a timeout of the server ended.", {{"reason", reason}});
  };
  m.timed_out_open = timed_out("open");
  m.timed_out_idle = timed_out("idle");
  m.timed_out_replies = timed_out("replies");
}

void RegisterSearches(Registrar& make, Metrics& m) {
  m.poses_scored = make.MakeCounter("voxloc_poses_scored_total", "Poses scored by ScorePoses.");
  const auto searches = [&make](const char* found) {
    return make.MakeCounter("voxloc_searches_total",
                            "Searches for an initial pose that were answered, by what they found.",
                            {{"found", found}});
  };
  m.searches_reliable = searches("reliable");
  m.searches_ambiguous = searches("ambiguous");
  m.searches_unreliable = searches("unreliable");
  m.searches_nothing = searches("nothing");
  m.searches_timed_out =
      make.MakeCounter("voxloc_searches_timed_out_total", "Searches that their timeout cut short.");
  m.search_candidates = make.MakeCounter("voxloc_search_candidates_aligned_total",
                                         "Candidates that searches aligned.");
  m.search_duration_s = make.MakeHistogram(
      "voxloc_search_duration_seconds", "From a search's receipt to the hand-over of its result.",
      {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100});
}

void RegisterMaps(Registrar& make, const char* memory, Metrics& m) {
  m.maps = make.MakeGauge("voxloc_maps", "Maps that are resident.");
  m.map_tiles = make.MakeGauge("voxloc_map_tiles", "Tiles of all maps.");
  m.map_tiles_resident =
      make.MakeGauge("voxloc_map_tiles_resident", "Tiles of all maps that are in memory.");
  m.map_tiles_loaded =
      make.MakeCounter("voxloc_map_tiles_loaded_total", "Tiles brought to memory from the store.");
  m.map_tiles_evicted = make.MakeCounter("voxloc_map_tiles_evicted_total",
                                         "Tiles taken out of memory to make room for others.");
  m.scans_near_missing_tiles =
      make.MakeCounter("voxloc_scans_near_missing_tiles_total",
                       "Scans near whose guess a tile of the map was not in memory.");
  m.map_points = make.MakeGauge("voxloc_map_points", "Points of all maps.");
  m.map_cells = make.MakeGauge("voxloc_map_voxels", "Cells of all maps, over all statistics.");
  m.map_bytes = make.MakeGauge("voxloc_map_bytes", "Memory of all maps.", {{"memory", memory}});
  m.map_tiles_damaged =
      make.MakeCounter("voxloc_map_tiles_damaged_total",
                       "Tiles left out since the store's content of them is damaged or missing.");
  m.store_bytes = make.MakeGauge("voxloc_store_bytes", "Bytes that the store of maps takes.");
  m.store_content_bytes =
      make.MakeGauge("voxloc_store_content_bytes", "Bytes of the content of tiles in the store.");
  m.store_unreferenced_bytes =
      make.MakeGauge("voxloc_store_unreferenced_bytes",
                     "Bytes of the content of tiles that no revision of a map holds.");
  const auto moments = [&make](const char* outcome) {
    return make.MakeCounter("voxloc_moments_total", "Tiles at the cache of moments, by outcome.",
                            {{"outcome", outcome}});
  };
  m.moments_hits = moments("hit");
  m.moments_misses = moments("miss");
  m.moments_damaged = moments("damaged");
  m.moments_not_kept = moments("not_kept");
  m.moments_evicted = moments("evicted");
  m.moments_bytes = make.MakeGauge("voxloc_moments_bytes", "Bytes of the cache of moments.");
  m.map_commits = make.MakeCounter("voxloc_map_commits_total", "Revisions published.");
  m.map_commit_s =
      make.MakeHistogram("voxloc_map_swap_seconds",
                         "From a commit to the new revision being in use.", LatencyBuckets());
  const auto fit_samples = [&make](const char* outcome) {
    return make.MakeCounter("voxloc_tile_fit_samples_total",
                            "Scans chosen to be compared with the tiles of their map, by outcome.",
                            {{"outcome", outcome}});
  };
  m.fit_samples_taken = fit_samples("taken");
  m.fit_samples_dropped = fit_samples("dropped");
  m.fit_samples_failed = fit_samples("failed");
  m.fit_s =
      make.MakeCounter("voxloc_tile_fit_seconds_total",
                       "Processor time spent on comparing scans with the tiles of their map.");
  m.fit_tiles =
      make.MakeGauge("voxloc_tile_fits", "Tiles of all maps whose fit to the scans is known.");
}

void RegisterSecurity(Registrar& make, Metrics& m) {
  const auto denied = [&make](const char* reason) {
    return make.MakeCounter("voxloc_access_denied_total",
                            "Checks that a call did not pass, by what was wrong.",
                            {{"reason", reason}});
  };
  m.denied_missing = denied("missing_credentials");
  m.denied_unknown = denied("unknown_credentials");
  m.denied_expired = denied("expired_credentials");
  m.denied_role = denied("role");
  m.denied_map = denied("map");
  m.denied_vehicle = denied("vehicle");
  const auto reloads = [&make](const char* file, const char* outcome) {
    return make.MakeCounter("voxloc_security_reloads_total",
                            "Times that the access file or the files of TLS were read.",
                            {{"file", file}, {"outcome", outcome}});
  };
  m.access_reloads_ok = reloads("access", "ok");
  m.access_reloads_failed = reloads("access", "failed");
  m.tls_reloads_ok = reloads("tls", "ok");
  m.tls_reloads_failed = reloads("tls", "failed");
  m.tls_expiry_s =
      make.MakeGauge("voxloc_tls_certificate_expiry_timestamp_seconds",
                     "When the server's certificate ends, since the Unix epoch; 0: no TLS.");
  m.audit_failures = make.MakeCounter("voxloc_audit_failures_total",
                                      "Lines that could not be written to the audit log's file.");
}

}  // namespace

const char* NameOf(RpcMethod method) { return kMethodNames[static_cast<size_t>(method)]; }

const char* NameOfCode(int code) {
  return code >= 0 && code < static_cast<int>(kStatusCodes) ? kCodeNames[static_cast<size_t>(code)]
                                                            : "UNKNOWN";
}

Metrics::Metrics(const char* engine) : registry_(std::make_shared<prometheus::Registry>()) {
  Registrar make(*registry_);
  make.MakeGauge("voxloc_build_info", "What this server is; always 1.",
                 {{"version", kVersion}, {"git", kGitRevision}, {"engine", engine}})
      .Set(1.0);
  engine_fallback =
      make.MakeGauge("voxloc_engine_fallback", "1: the engine is not what was asked for.");
  engine_takeovers = make.MakeCounter(
      "voxloc_engine_takeovers_total",
      "Times that an engine which stood by took over from one that failed permanently.");
  RegisterRpcs(make, rpcs);
  RegisterScans(make, *this);
  RegisterQueues(make, *this);
  RegisterStreams(make, *this);
  RegisterSearches(make, *this);
  RegisterSecurity(make, *this);
  RegisterMaps(make, std::strcmp(engine, "cpu") == 0 ? "host" : "device", *this);
}

Metrics::~Metrics() = default;

}  // namespace voxloc::server
