// SPDX-License-Identifier: Apache-2.0
//
// FailoverEngine: one engine made of several that stand by for each other. The first serves until
// it has failed permanently; then the next one that can takes over.
//
// What an engine keeps of a tile, a map or a search grid is its own: once another has taken over,
// calls with such a thing fail, and it has to be made anew from points or moments. BuildTile,
// ImportTile and Filter, which bring nothing of the kind, go on with the engine that has taken
// over. Results are those of the engine that serves.
//
// Thread-safe. All engines live as long as this one.

#ifndef VOXLOC_CORE_ENGINE_FAILOVER_FAILOVER_ENGINE_H_
#define VOXLOC_CORE_ENGINE_FAILOVER_FAILOVER_ENGINE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/engine/engine.h"

namespace voxloc {

class FailoverEngine : public Engine {
 public:
  // At least one, none null; in the order in which they are to serve.
  explicit FailoverEngine(std::vector<std::unique_ptr<Engine>> engines);

  // How many engines have been given up. What was made before this number grew belongs to an engine
  // that has failed. Health and every call that fails may raise it.
  [[nodiscard]] uint64_t takeovers() const { return serving_.load(std::memory_order_acquire); }

  // Of the engine that serves; lives as long as this one.
  [[nodiscard]] const std::string& name() const { return infos_[takeovers()].name; }

  // What the engines that were given up said, for people. Empty: none was.
  [[nodiscard]] std::string note() const;

  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoBuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) override;
  absl::StatusOr<std::shared_ptr<const ResidentMap>> DoCompose(
      absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
      absl::Span<const CellStatistics> statistics, const ResidentMap* previous) override;
  absl::StatusOr<std::string> DoExportTile(const ResidentTile& tile) override;
  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoImportTile(
      absl::string_view bytes) override;
  std::shared_ptr<const PackedJob> DoPack(const AlignJob& job) override;
  std::vector<AlignResult> Align(absl::Span<const AlignJob> jobs) override;
  absl::StatusOr<ScoreResult> DoScore(const ScoreRequest& request) override;
  absl::StatusOr<FilteredCloud> DoFilter(const PointCloud& cloud, const FilterOptions& options,
                                         WorkClass work_class) override;
  absl::StatusOr<std::shared_ptr<const ResidentBoundGrid>> DoKeepBoundGrid(BoundGrid grid) override;
  absl::StatusOr<std::vector<BoundHit>> DoBound(const BoundRequest& request) override;

  // Of the engine that serves. Once another has taken over, `parts` has the devices of all that
  // have served, those that were given up as not healthy and as they were at the start.
  [[nodiscard]] EngineInfo Info() const override;

  // Not Ok once the last engine has failed.
  [[nodiscard]] absl::Status Health() const override;

 private:
  [[nodiscard]] Engine& Serving() const { return *engines_[takeovers()]; }
  // Whether an engine has failed permanently: the next one that can then serves. False where there
  // is no memory to find out.
  bool FailOverFrom(size_t engine) const;
  // Calls the engine that serves, and the next one where that has failed permanently meanwhile.
  template <typename Call>
  auto CallWithRetry(const Call& call);
  // Calls the engine that serves, once.
  template <typename Call>
  auto CallOnce(const Call& call);

  const std::vector<std::unique_ptr<Engine>> engines_;
  const std::vector<EngineInfo> infos_;  // at the start
  mutable absl::Mutex mutex_;
  mutable std::atomic<size_t> serving_{0};  // grows under the mutex
  mutable std::vector<std::string> faults_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_FAILOVER_FAILOVER_ENGINE_H_
