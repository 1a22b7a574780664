// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/search_metrics.h"

#include "server/observe/metrics/buckets.h"

namespace voxloc::server {
namespace {

constexpr MetricName kScored = {"voxloc_poses_scored_total", "Poses scored by ScorePoses."};
constexpr MetricName kSearches = {
    "voxloc_searches_total", "Searches for an initial pose that were answered, by what they found.",
    "found"};
constexpr MetricName kSearchesTimedOut = {"voxloc_searches_timed_out_total",
                                          "Searches that their timeout ended."};
constexpr MetricName kCandidates = {"voxloc_search_candidates_aligned_total",
                                    "Candidates that searches aligned."};
constexpr MetricName kSearchDuration = {
    "voxloc_search_duration_seconds",
    "Time from the receipt of a search to the hand-over of its result."};
constexpr MetricName kRecoveries = {
    "voxloc_recoveries_total",
    "Searches for lost vehicles (found, failed), and found poses that later scans decided on "
    "(confirmed, dropped).",
    "outcome"};

}  // namespace

SearchGroup::SearchGroup(const Registrar& make)
    : poses_scored(make.MakeCounter(kScored)),
      searches_reliable(make.CounterOf(kSearches, "reliable")),
      searches_ambiguous(make.CounterOf(kSearches, "ambiguous")),
      searches_unreliable(make.CounterOf(kSearches, "unreliable")),
      searches_nothing(make.CounterOf(kSearches, "nothing")),
      searches_timed_out(make.MakeCounter(kSearchesTimedOut)),
      search_candidates(make.MakeCounter(kCandidates)),
      search_duration_s(make.MakeHistogram(kSearchDuration, LongBuckets())),
      recoveries_found(make.CounterOf(kRecoveries, "found")),
      recoveries_failed(make.CounterOf(kRecoveries, "failed")),
      recoveries_confirmed(make.CounterOf(kRecoveries, "confirmed")),
      recoveries_dropped(make.CounterOf(kRecoveries, "dropped")) {}

}  // namespace voxloc::server
