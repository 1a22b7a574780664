// SPDX-License-Identifier: Apache-2.0
//
// SearchWork: one search for an initial pose, from its request to its answer. One thread at a time
// uses it, and it has a copy of its request. The parts must outlive it.

#ifndef VOXLOC_SERVER_LOCALIZATION_SEARCH_WORK_H_
#define VOXLOC_SERVER_LOCALIZATION_SEARCH_WORK_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/estimate/global_search/global_search.h"
#include "server/convert/scan.h"
#include "server/convert/search.h"
#include "server/localization/scan_inputs.h"
#include "voxloc/v1/initial_pose.pb.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::server {

// ProgressOutbox: the progress of a search for a client that may read slowly. Newer progress
// replaces unsent progress; particles are all kept, in order, and sent in messages of bounded size.
// Not thread-safe.
class ProgressOutbox {
 public:
  // Particles of one message: some 40 KiB.
  static constexpr size_t kParticlesPerMessage = 200;

  void Put(v1::SearchProgress progress) {
    for (v1::SearchParticle& particle : *progress.mutable_particles()) {
      particles_.push_back(std::move(particle));
    }
    progress.clear_particles();
    newest_ = std::move(progress);
    unsent_ = true;
  }

  [[nodiscard]] bool empty() const { return !unsent_ && particles_.empty(); }

  // The next message. Must not be empty.
  [[nodiscard]] v1::SearchProgress Take() {
    v1::SearchProgress message = newest_;
    const size_t count = std::min(particles_.size(), kParticlesPerMessage);
    for (size_t i = 0; i < count; ++i) {
      *message.add_particles() = std::move(particles_.front());
      particles_.pop_front();
    }
    unsent_ = false;
    return message;
  }

 private:
  v1::SearchProgress newest_;  // without particles
  bool unsent_ = false;
  std::deque<v1::SearchParticle> particles_;
};

class SearchWork {
 public:
  SearchWork(const WorkParts& parts, GlobalSearch& global_search,
             const v1::EstimateInitialPoseRequest& request)
      : parts_(parts), global_search_(global_search), request_(request) {}

  // The first call: validates all but the points. Errors: those of EstimateInitialPose. `cancelled`
  // stops Run.
  [[nodiscard]] absl::Status Open(std::shared_ptr<const std::atomic<bool>> cancelled);

  // Called in the thread of Run.
  using Observer = std::function<void(v1::SearchProgress progress)>;

  // Searches; blocks on the engine. Call once.
  [[nodiscard]] absl::StatusOr<v1::SearchResult> Run(const Observer& observer);

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] absl::StatusOr<PoseSearchResult> Search(const PoseSearchObserver& observer);
  // Maps an error of the search to the status for the client.
  [[nodiscard]] absl::Status Explain(const absl::Status& status) const;
  // Whether the part of the map that is searched is in memory.
  [[nodiscard]] absl::Status RequireTiles() const;
  // Replaces the prior's height by that of the map's surface where they disagree.
  [[nodiscard]] absl::Status FitPriorHeight(PriorSearchOptions* prior);
  // Ranks them by their confidence.
  [[nodiscard]] absl::Status DescribeHypotheses(PoseSearchResult& found,
                                                v1::SearchResult& result) const;
  // `estimate` is null where there is none.
  [[nodiscard]] v1::AlignmentStatus StatusOf(const AlignResult& result,
                                             const ScanEstimate* estimate) const;
  void ReportProgress(const PoseSearchProgress& progress, const Observer& observer) const;
  void Count(const v1::SearchResult& result) const;

  const WorkParts parts_;
  GlobalSearch& global_search_;
  const v1::EstimateInitialPoseRequest request_;
  const Clock::time_point received_ = Clock::now();
  const absl::Time received_at_ = absl::Now();
  ScanRecipe recipe_;
  MapView map_;
  SearchScope scope_;
  PoseSearchJob job_;
  ScanHints hints_;
  PreparedScan scan_;
  double prior_height_shift_m_ = 0.0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LOCALIZATION_SEARCH_WORK_H_
