// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/hypothesis_estimates.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/types/span.h"

namespace voxloc {
namespace {

// Scores of points that are held at once: 16 MiB.
constexpr size_t kMaxPointScores = size_t{1} << 22;

}  // namespace

absl::StatusOr<std::vector<ScanEstimate>> EstimateHypotheses(
    Engine& engine, const PoseSearchJob& job, const EstimateOptions& options, const ScanRays& rays,
    const std::vector<PoseHypothesis>& hypotheses) {
  AlignJob align = AlignmentOf(job);
  align.stop.deadline = absl::InfiniteFuture();
  std::vector<ScanEstimate> estimates;
  const size_t slice = std::max<size_t>(kMaxPointScores / job.scan->size(), 1);
  for (size_t first = 0; first < hypotheses.size(); first += slice) {
    const auto some = absl::MakeConstSpan(hypotheses).subspan(first, slice);
    std::vector<AlignJob> jobs(some.size(), align);
    std::vector<EstimateRequest> requests(some.size());
    for (size_t i = 0; i < some.size(); ++i) {
      jobs[i].map_T_base_guess = some[i].result.map_T_base;
      requests[i].scan = {&jobs[i], &some[i].result};
      requests[i].options = &options;
      requests[i].rays = rays;
    }
    std::vector<ScanEstimate> part = EstimateScans(engine, requests);
    std::move(part.begin(), part.end(), std::back_inserter(estimates));
    if (align.stop.cancelled != nullptr && align.stop.cancelled->load(std::memory_order_relaxed)) {
      return absl::CancelledError("the search was cancelled");
    }
  }
  return estimates;
}

void RankByConfidence(RankedHypotheses& ranked, std::vector<ScanEstimate>& estimates) {
  const auto confidence = [&](size_t i) {
    return estimates[i].confidence.has_value() ? estimates[i].confidence->value : -1.0;
  };
  std::vector<size_t> order(estimates.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return confidence(a) > confidence(b); });
  if (!order.empty() && order.front() != 0) ranked.ambiguous = true;
  std::vector<PoseHypothesis> hypotheses;
  std::vector<ScanEstimate> sorted;
  for (const size_t i : order) {
    hypotheses.push_back(std::move(ranked.hypotheses[i]));
    sorted.push_back(std::move(estimates[i]));
  }
  ranked.hypotheses = std::move(hypotheses);
  estimates = std::move(sorted);
}

}  // namespace voxloc
