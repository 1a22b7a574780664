// SPDX-License-Identifier: Apache-2.0
//
// FailoverEngine: one active engine with standbys. The first engine is active until it fails
// permanently; then the next healthy one takes over.
//
// Tiles, maps and search grids belong to the engine that built them. After a failover, calls with
// such objects fail, and they must be rebuilt from points or moments. BuildTile, ImportTile and
// Filter take no such objects and are retried on the new engine. Results are those of the active
// engine.
//
// Thread-safe. All engines live as long as this one.

#ifndef VOXLOC_CORE_ENGINE_FAILOVER_FAILOVER_ENGINE_H_
#define VOXLOC_CORE_ENGINE_FAILOVER_FAILOVER_ENGINE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/engine/engine.h"

namespace voxloc {

class FailoverEngine : public Engine {
 public:
  // At least one, none null; in the order in which they are to serve.
  explicit FailoverEngine(std::vector<std::unique_ptr<Engine>> engines);

  // The number of failovers so far. Objects built before it increased belong to a failed engine.
  // Health and every failed call may increase it.
  [[nodiscard]] uint64_t takeovers() const { return active_.load(std::memory_order_acquire); }

  // Of the engine that serves; lives as long as this one.
  [[nodiscard]] const std::string& name() const { return infos_[takeovers()].name; }

  // The errors of the failed engines, for logs. Empty: none has failed.
  [[nodiscard]] std::string note() const;

  // Of the active engine. After a failover, `parts` also lists the devices of the failed engines,
  // as they were at the start and marked as not healthy.
  [[nodiscard]] EngineInfo Info() const override;

  // Not Ok once the last engine has failed.
  [[nodiscard]] absl::Status Health() const override;

 private:
  [[nodiscard]] Engine& ActiveEngine() const { return *engines_[takeovers()]; }
  // If this engine has failed permanently, makes the next healthy one, if any, active and returns
  // true. False otherwise, or if memory runs out.
  bool FailOverFrom(size_t engine) const;
  // Calls the active engine; if it fails permanently, calls the next one.
  template <typename Call>
  auto CallWithRetry(const Call& call) {
    while (true) {
      const size_t engine = takeovers();
      auto result = call(*engines_[engine]);
      if (result.ok() || !FailOverFrom(engine) || takeovers() == engine) return result;
    }
  }
  // Calls the engine that serves, once.
  template <typename Call>
  auto CallOnce(const Call& call) {
    const size_t engine = takeovers();
    auto result = call(*engines_[engine]);
    if (!result.ok()) FailOverFrom(engine);
    return result;
  }

  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoBuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) override {
    return CallWithRetry([&](Engine& engine) { return engine.BuildTile(cloud_map, statistics); });
  }
  absl::StatusOr<std::shared_ptr<const ResidentMap>> DoCompose(
      absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
      absl::Span<const CellStatistics> statistics, const ResidentMap* previous) override {
    return CallOnce([&](Engine& engine) { return engine.Compose(tiles, statistics, previous); });
  }
  absl::StatusOr<std::string> DoExportTile(const ResidentTile& tile) override {
    return CallOnce([&](Engine& engine) { return engine.ExportTile(tile); });
  }
  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoImportTile(
      absl::string_view bytes) override {
    return CallWithRetry([&](Engine& engine) { return engine.ImportTile(bytes); });
  }
  std::shared_ptr<const PackedJob> DoPack(const AlignJob& job) override {
    return ActiveEngine().Pack(job);
  }
  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override;
  absl::StatusOr<ScoreResult> DoScore(const ScoreRequest& request) override {
    return CallOnce([&](Engine& engine) { return engine.Score(request); });
  }
  absl::StatusOr<FilteredCloud> DoFilter(const PointCloud& cloud, const FilterOptions& options,
                                         WorkClass work_class) override {
    return CallWithRetry([&](Engine& engine) { return engine.Filter(cloud, options, work_class); });
  }
  absl::StatusOr<std::shared_ptr<const ResidentBoundGrid>> DoLoadBoundGrid(
      BoundGrid grid) override {
    return CallOnce([&](Engine& engine) { return engine.LoadBoundGrid(std::move(grid)); });
  }
  absl::StatusOr<std::vector<BoundHit>> DoBound(const BoundRequest& request) override {
    return CallOnce([&](Engine& engine) { return engine.Bound(request); });
  }

  const std::vector<std::unique_ptr<Engine>> engines_;
  const std::vector<EngineInfo> infos_;  // at the start
  mutable absl::Mutex mutex_;
  mutable std::atomic<size_t> active_{0};  // grows under the mutex
  mutable std::vector<std::string> faults_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_FAILOVER_FAILOVER_ENGINE_H_
