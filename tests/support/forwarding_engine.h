// SPDX-License-Identifier: Apache-2.0
//
// ForwardingEngine: forwards every call to another engine. Test engines derive from it and override
// single calls. As thread-safe as the other engine.

#ifndef VOXLOC_TESTS_SUPPORT_FORWARDING_ENGINE_H_
#define VOXLOC_TESTS_SUPPORT_FORWARDING_ENGINE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/cpu/cpu_engine.h"
#include "core/engine/engine.h"

namespace voxloc {

class ForwardingEngine : public Engine {
 public:
  // To an engine of its own.
  explicit ForwardingEngine(std::unique_ptr<Engine> engine = MakeCpuEngine({1}))
      : owned_engine_(std::move(engine)), engine_(*owned_engine_) {}
  // To one that outlives it.
  explicit ForwardingEngine(Engine& engine) : engine_(engine) {}

  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoBuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) override {
    return engine_.BuildTile(cloud_map, statistics);
  }
  absl::StatusOr<std::shared_ptr<const ResidentMap>> DoCompose(
      absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
      absl::Span<const CellStatistics> statistics, const ResidentMap* previous) override {
    return engine_.Compose(tiles, statistics, previous);
  }
  absl::StatusOr<std::string> DoExportTile(const ResidentTile& tile) override {
    return engine_.ExportTile(tile);
  }
  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoImportTile(
      absl::string_view bytes) override {
    return engine_.ImportTile(bytes);
  }
  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoCopyTile(
      const ResidentTile& tile) override {
    return engine_.CopyTile(tile);
  }
  std::shared_ptr<const PackedJob> DoPack(const AlignJob& job) override {
    return engine_.Pack(job);
  }
  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    engine_.Align(jobs, results);
    return absl::OkStatus();
  }
  absl::StatusOr<ScoreResult> DoScore(const ScoreRequest& request) override {
    return engine_.Score(request);
  }
  absl::StatusOr<FilteredCloud> DoFilter(const PointCloud& cloud, const FilterOptions& options,
                                         WorkClass work_class) override {
    return engine_.Filter(cloud, options, work_class);
  }
  absl::StatusOr<std::shared_ptr<const ResidentBoundGrid>> DoLoadBoundGrid(
      BoundGrid grid) override {
    return engine_.LoadBoundGrid(std::move(grid));
  }
  absl::StatusOr<std::vector<BoundHit>> DoBound(const BoundRequest& request) override {
    return engine_.Bound(request);
  }
  EngineInfo Info() const override { return engine_.Info(); }
  absl::Status Health() const override { return engine_.Health(); }

 private:
  const std::unique_ptr<Engine> owned_engine_;  // may be null
  Engine& engine_;
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_FORWARDING_ENGINE_H_
