// SPDX-License-Identifier: Apache-2.0
//
// DeadlineEngine: a deadline that passes on the way, at a place that a test chooses. No clock is
// waited for: from that place on, what the other engine is asked carries a deadline that has
// passed. One thread at a time.

#ifndef VOXLOC_TESTS_CORE_ESTIMATE_GLOBAL_SEARCH_DEADLINE_ENGINE_H_
#define VOXLOC_TESTS_CORE_ESTIMATE_GLOBAL_SEARCH_DEADLINE_ENGINE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/forwarding_engine.h"

namespace voxloc {

class DeadlineEngine : public ForwardingEngine {
 public:
  using ForwardingEngine::ForwardingEngine;

  // Calls that are still in time.
  size_t bounds_in_time = SIZE_MAX;
  size_t aligns_in_time = SIZE_MAX;

  // Of the calls of Bound that were in time.
  size_t bounds = 0;
  uint64_t nodes = 0;      // asked about
  uint32_t best_leaf = 0;  // most hits of a single voxel
  size_t aligns = 0;       // calls of Align that were in time

  absl::StatusOr<std::vector<BoundHit>> DoBound(const BoundRequest& request) override {
    const bool in_time = bounds < bounds_in_time;
    BoundRequest there = request;
    if (!in_time) there.stop.deadline = absl::InfinitePast();
    auto hits = ForwardingEngine::DoBound(there);
    if (!in_time || !hits.ok()) return hits;
    ++bounds;
    nodes += request.blocks.size() * static_cast<uint64_t>(request.nodes_x * request.nodes_y);
    if (request.level > 0) return hits;
    for (const BoundHit& hit : *hits) best_leaf = std::max<uint32_t>(best_leaf, hit.hits);
    return hits;
  }

  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    const bool in_time = aligns < aligns_in_time;
    aligns += in_time ? 1 : 0;
    std::vector<AlignJob> there(jobs.begin(), jobs.end());
    if (!in_time) {
      for (AlignJob& job : there) job.stop.deadline = absl::InfinitePast();
    }
    return ForwardingEngine::DoAlign(there, results);
  }
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CORE_ESTIMATE_GLOBAL_SEARCH_DEADLINE_ENGINE_H_
