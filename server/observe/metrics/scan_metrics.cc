// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/scan_metrics.h"

#include "server/observe/metrics/buckets.h"

namespace voxloc::server {
namespace {

constexpr std::array<const char*, kAlignmentStatuses> kStatusNames = {
    "UNSPECIFIED", "OK",         "LOW_SCORE",  "NOT_CONVERGED", "DEGENERATE",     "AMBIGUOUS",
    "LOW_OVERLAP", "OUT_OF_MAP", "NO_MAP",     "NO_PRIOR",      "NOT_ACTIVE",     "STALE",
    "DEADLINE",    "SUPERSEDED", "OVERLOADED", "INVALID_INPUT", "LOW_CONFIDENCE", "ENGINE_FAULT"};

constexpr MetricName kReceived = {"voxloc_scans_received_total", "Scans received."};
constexpr MetricName kScanPoints = {"voxloc_scan_points_received_total",
                                    "Points of the scans received."};
constexpr MetricName kDropped = {
    "voxloc_scans_dropped_total",
    "Scans that were not aligned: a newer one replaced them (superseded), they came too late "
    "(stale), too many waited (queue_full), they were malformed (invalid), their deadline passed "
    "(deadline), their client had gone (closed).",
    "reason"};
constexpr MetricName kResults = {"voxloc_align_result_total",
                                 "Replies to scans, by AlignmentStatus.", "status"};
constexpr MetricName kScanDuration = {
    "voxloc_scan_duration_seconds",
    "Time from the receipt of a scan to the hand-over of its reply."};
constexpr MetricName kPoseAge = {
    "voxloc_pose_age_seconds",
    "Time from the stamp of an accepted scan to the hand-over of its reply, where client and "
    "server clocks agree: from 0 to 10 s."};
constexpr MetricName kPoseAgeUnknown = {
    "voxloc_pose_age_unknown_total",
    "Accepted scans whose stamps lie outside the 10 s before their replies, such as those of a "
    "recording; they are not in voxloc_pose_age_seconds."};
constexpr MetricName kStage = {
    "voxloc_stage_duration_seconds",
    "Time in one stage of the work: of a scan prepare, estimate and encode, of a batch align, of a "
    "slice of poses score, of a tile build_tile.",
    "stage"};
constexpr MetricName kBatchSize = {"voxloc_batch_size", "Scans in one call of the engine."};
constexpr MetricName kIterations = {"voxloc_align_iterations", "Newton steps of a scan."};
constexpr MetricName kScore = {
    "voxloc_align_score",
    "Nearest voxel transformation likelihood (NVTL) of a scan at its result."};
constexpr MetricName kInliers = {"voxloc_align_inlier_ratio",
                                 "Share of a scan's points that have a map cell near them."};
constexpr MetricName kConfidence = {"voxloc_align_confidence", "Confidence of a scan's result."};
constexpr MetricName kSuspect = {
    "voxloc_suspect_sweeps_total",
    "Accepted scans whose times, stamps or motion do not fit their points (sweep_check.suspect)."};
constexpr MetricName kNearMissing = {"voxloc_scans_near_missing_tiles_total",
                                     "Scans near whose guess a tile of the map was not in memory."};

Histogram Stage(const Registrar& make, const char* stage) {
  return make.HistogramOf(kStage, StepBuckets(), stage);
}

}  // namespace

ScanGroup::ScanGroup(const Registrar& make)
    : scans_received(make.MakeCounter(kReceived)),
      scan_points_received(make.MakeCounter(kScanPoints)),
      dropped_superseded(make.CounterOf(kDropped, "superseded")),
      dropped_stale(make.CounterOf(kDropped, "stale")),
      dropped_queue_full(make.CounterOf(kDropped, "queue_full")),
      dropped_invalid(make.CounterOf(kDropped, "invalid")),
      dropped_deadline(make.CounterOf(kDropped, "deadline")),
      dropped_closed(make.CounterOf(kDropped, "closed")),
      scan_duration_s(make.MakeHistogram(kScanDuration, ScanBuckets())),
      pose_age_s(make.MakeHistogram(kPoseAge, AgeBuckets())),
      pose_age_unknown(make.MakeCounter(kPoseAgeUnknown)),
      stage_prepare_s(Stage(make, "prepare")),
      stage_align_s(Stage(make, "align")),
      stage_estimate_s(Stage(make, "estimate")),
      stage_encode_s(Stage(make, "encode")),
      stage_score_s(Stage(make, "score")),
      stage_build_s(Stage(make, "build_tile")),
      batch_size(
          make.MakeHistogram(kBatchSize, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096})),
      iterations(
          make.MakeHistogram(kIterations, {1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 1000})),
      nvtl(make.MakeHistogram(kScore, {0.5, 1.0, 1.5, 2.0, 2.3, 2.5, 3.0, 3.5, 4.0, 5.0})),
      matched_ratio(make.MakeHistogram(kInliers, RatioBuckets())),
      confidence(make.MakeHistogram(kConfidence, RatioBuckets())),
      sweeps_suspect(make.MakeCounter(kSuspect)),
      scans_near_missing_tiles(make.MakeCounter(kNearMissing)) {
  for (size_t i = 0; i < kAlignmentStatuses; ++i) {
    results[i] = make.CounterOf(kResults, kStatusNames[i]);
  }
}

}  // namespace voxloc::server
