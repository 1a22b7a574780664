// SPDX-License-Identifier: Apache-2.0
//
// FakeGpu: a CPU engine that passes for a GPU with memory of its own, and can fail for good or give
// wrong answers. Thread-safe.

#ifndef VOXLOC_TESTS_SERVER_ENGINES_FAKE_GPU_H_
#define VOXLOC_TESTS_SERVER_ENGINES_FAKE_GPU_H_

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "core/status/try.h"
#include "tests/support/forwarding_engine.h"

namespace voxloc::server {

// Shared by the engine and the test that steers it.
struct GpuFaults {
  std::atomic<bool> dead{false};     // failed for good
  std::atomic<bool> failing{false};  // its calls fail, and it goes on
  std::atomic<bool> wrong{false};    // its poses are a centimetre off
};

class FakeGpu : public ForwardingEngine {
 public:
  // What it says of every launch.
  static constexpr DeviceTimes kTimes = {0, 0.00001, 0.0001, 0.000002, true};

  explicit FakeGpu(std::shared_ptr<GpuFaults> faults = std::make_shared<GpuFaults>(),
                   std::unique_ptr<Engine> engine = MakeCpuEngine({1}))
      : ForwardingEngine(std::move(engine)), faults_(std::move(faults)) {}

  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoBuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) override {
    if (absl::Status health = Health(); !health.ok()) return health;
    return ForwardingEngine::DoBuildTile(cloud_map, statistics);
  }
  absl::StatusOr<std::shared_ptr<const ResidentMap>> DoCompose(
      absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
      absl::Span<const CellStatistics> statistics, const ResidentMap* previous) override {
    if (absl::Status health = Health(); !health.ok()) return health;
    return ForwardingEngine::DoCompose(tiles, statistics, previous);
  }
  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    VOXLOC_TRY(ForwardingEngine::DoAlign(jobs, results));
    DeviceTimes times = kTimes;
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (!jobs[i].with_device_times) continue;
      results[i].device_times = times;
      times.first_of_launch = false;
    }
    for (AlignResult& result : results) {
      if (faults_->dead) result.status = Health();
      if (faults_->failing) result.status = absl::InternalError("a kernel failed");
      if (faults_->wrong) result.map_T_base.translation.x() += 0.01;
    }
    return absl::OkStatus();
  }
  absl::StatusOr<ScoreResult> DoScore(const ScoreRequest& request) override {
    if (absl::Status health = Health(); !health.ok()) return health;
    return ForwardingEngine::DoScore(request);
  }
  absl::StatusOr<FilteredCloud> DoFilter(const PointCloud& cloud, const FilterOptions& options,
                                         WorkClass work_class) override {
    if (faults_->failing) return absl::InternalError("a kernel failed");
    return ForwardingEngine::DoFilter(cloud, options, work_class);
  }
  EngineInfo Info() const override {
    EngineInfo info;
    info.name = "cuda";
    info.device = "a made-up GPU";
    info.memory_bytes_total = 1'000'000'000;  // or no map would stay in it
    info.memory_bytes_free = 400'000'000;
    return info;
  }
  absl::Status Health() const override {
    if (!faults_->dead) return absl::OkStatus();
    return absl::UnavailableError("an illegal memory access was encountered");
  }

 private:
  const std::shared_ptr<GpuFaults> faults_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_ENGINES_FAKE_GPU_H_
