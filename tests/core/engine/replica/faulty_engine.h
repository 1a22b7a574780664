// SPDX-License-Identifier: Apache-2.0
//
// FaultyEngine: a CPU engine that fails, runs out of memory or waits when a test says so, and that
// counts what it is asked. Thread-safe.

#ifndef VOXLOC_TESTS_CORE_ENGINE_REPLICA_FAULTY_ENGINE_H_
#define VOXLOC_TESTS_CORE_ENGINE_REPLICA_FAULTY_ENGINE_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "core/status/try.h"
#include "tests/support/forwarding_engine.h"
#include "tests/support/gate.h"

namespace voxloc {

// Shared by the engine and the test that steers it. Batches of jobs, of poses and of the blocks of
// searches pass its gate.
struct Faults : public Gate {
  // The engine has failed for good.
  std::atomic<bool> failed{false};
  // It fails within the next call of that kind, whose jobs it has begun by then.
  std::atomic<bool> fail_in_align{false};
  std::atomic<bool> fail_in_score{false};
  std::atomic<bool> fail_in_bound{false};
  std::atomic<bool> fail_in_build{false};  // or copy
  std::atomic<bool> fail_in_export{false};
  std::atomic<bool> out_of_memory{false};  // for tiles, maps and grids
  std::atomic<bool> cannot_copy{false};
  std::atomic<size_t> memory_bytes_total{1000};
  std::atomic<size_t> memory_bytes_free{600};

  std::atomic<size_t> built{0};  // tiles
  std::atomic<size_t> copied{0};

  std::atomic<size_t> compositions_with_previous{0};
  absl::Mutex tile_mutex;                       // of those who build
  std::weak_ptr<const ResidentTile> last_tile;  // read it when nothing is being built
};

class FaultyEngine : public ForwardingEngine {
 public:
  explicit FaultyEngine(std::shared_ptr<Faults> faults, std::string name = "cpu")
      : faults_(std::move(faults)), name_(std::move(name)) {}

  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoBuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) override {
    if (absl::Status status = StartTile(); !status.ok()) return status;
    ++faults_->built;
    return Keep(ForwardingEngine::DoBuildTile(cloud_map, statistics));
  }

  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoCopyTile(
      const ResidentTile& tile) override {
    if (absl::Status status = StartTile(); !status.ok()) return status;
    if (faults_->cannot_copy) return absl::InternalError("no way between the cards");
    ++faults_->copied;
    return Keep(ForwardingEngine::DoCopyTile(tile));
  }

  absl::StatusOr<std::shared_ptr<const ResidentMap>> DoCompose(
      absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
      absl::Span<const CellStatistics> statistics, const ResidentMap* previous) override {
    if (absl::Status status = Health(); !status.ok()) return status;
    if (faults_->out_of_memory) return absl::ResourceExhaustedError("no memory for a map");
    if (previous != nullptr) ++faults_->compositions_with_previous;
    return ForwardingEngine::DoCompose(tiles, statistics, previous);
  }

  absl::StatusOr<std::string> DoExportTile(const ResidentTile& tile) override {
    if (faults_->fail_in_export.exchange(false)) faults_->failed = true;
    if (absl::Status status = Health(); !status.ok()) return status;
    return ForwardingEngine::DoExportTile(tile);
  }

  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    faults_->Pass(jobs.size());
    VOXLOC_TRY(ForwardingEngine::DoAlign(jobs, results));
    if (faults_->fail_in_align.exchange(false)) faults_->failed = true;
    if (!faults_->failed) return absl::OkStatus();
    // The first job got through.
    for (size_t i = results.size() == 1 ? 0 : 1; i < results.size(); ++i) {
      results[i] = AlignResult();
      results[i].status = Health();
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ScoreResult> DoScore(const ScoreRequest& request) override {
    faults_->Pass(request.map_T_base.size());
    if (faults_->fail_in_score.exchange(false)) faults_->failed = true;
    if (absl::Status status = Health(); !status.ok()) return status;
    return ForwardingEngine::DoScore(request);
  }

  absl::StatusOr<std::shared_ptr<const ResidentBoundGrid>> DoLoadBoundGrid(
      BoundGrid grid) override {
    if (absl::Status status = Health(); !status.ok()) return status;
    if (faults_->out_of_memory) return absl::ResourceExhaustedError("no memory for a grid");
    return ForwardingEngine::DoLoadBoundGrid(std::move(grid));
  }

  absl::StatusOr<std::vector<BoundHit>> DoBound(const BoundRequest& request) override {
    faults_->Pass(request.blocks.size());
    if (faults_->fail_in_bound.exchange(false)) faults_->failed = true;
    if (absl::Status status = Health(); !status.ok()) return status;
    return ForwardingEngine::DoBound(request);
  }

  EngineInfo Info() const override {
    EngineInfo info = ForwardingEngine::Info();
    info.name = name_;
    info.device = "card";
    info.memory_bytes_total = faults_->memory_bytes_total;
    info.memory_bytes_free = faults_->memory_bytes_free;
    return info;
  }

  absl::Status Health() const override {
    return faults_->failed ? absl::UnavailableError("fell off the bus") : absl::OkStatus();
  }

 private:
  absl::Status StartTile() {
    if (faults_->fail_in_build.exchange(false)) faults_->failed = true;
    if (absl::Status status = Health(); !status.ok()) return status;
    if (faults_->out_of_memory) return absl::ResourceExhaustedError("no memory for a tile");
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<const ResidentTile>> Keep(
      absl::StatusOr<std::shared_ptr<const ResidentTile>> tile) {
    const absl::MutexLock lock(&faults_->tile_mutex);
    if (tile.ok()) faults_->last_tile = *tile;
    return tile;
  }

  const std::shared_ptr<Faults> faults_;
  const std::string name_;
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CORE_ENGINE_REPLICA_FAULTY_ENGINE_H_
