// SPDX-License-Identifier: Apache-2.0
//
// GatedEngine: a CPU engine whose alignments wait at a gate, for tests that need to know what
// happens while the engine is busy. Thread-safe.

#ifndef VOXLOC_TESTS_SERVER_GATED_ENGINE_H_
#define VOXLOC_TESTS_SERVER_GATED_ENGINE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "core/engine/cpu/cpu_engine.h"
#include "core/engine/engine.h"
#include "tests/support/gate.h"

namespace voxloc::server {

class GatedEngine : public Engine {
 public:
  explicit GatedEngine(std::shared_ptr<Gate> gate)
      : gate_(std::move(gate)), engine_(MakeCpuEngine({1})) {}

  absl::StatusOr<std::shared_ptr<const ResidentTile>> BuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) override {
    return engine_->BuildTile(cloud_map, statistics);
  }
  absl::StatusOr<std::shared_ptr<const ResidentMap>> Compose(
      absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
      absl::Span<const CellStatistics> statistics, const ResidentMap* previous) override {
    return engine_->Compose(tiles, statistics, previous);
  }
  std::vector<AlignResult> Align(absl::Span<const AlignJob> jobs) override {
    gate_->Pass(jobs.size());
    return engine_->Align(jobs);
  }
  absl::StatusOr<ScoreResult> Score(const ScoreRequest& request) override {
    return engine_->Score(request);
  }
  EngineInfo Info() const override { return engine_->Info(); }
  absl::Status Health() const override { return engine_->Health(); }

 private:
  const std::shared_ptr<Gate> gate_;
  const std::unique_ptr<Engine> engine_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_GATED_ENGINE_H_
