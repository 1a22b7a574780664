// SPDX-License-Identifier: Apache-2.0
//
// An engine that aligns as a test says, and remembers what it was asked. One thread at a time.

#ifndef VOXLOC_TESTS_CORE_ESTIMATE_INITIAL_POSE_FAKE_ENGINE_H_
#define VOXLOC_TESTS_CORE_ESTIMATE_INITIAL_POSE_FAKE_ENGINE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine.h"

namespace voxloc {

class FakeEngine : public Engine {
 public:
  // `index` counts all jobs so far.
  using Aligner = std::function<AlignResult(const AlignJob& job, size_t index)>;
  explicit FakeEngine(Aligner aligner) : aligner_(std::move(aligner)) {}

  std::vector<AlignResult> Align(absl::Span<const AlignJob> jobs) override {
    batches.push_back(jobs.size());
    std::vector<AlignResult> results;
    for (const AlignJob& job : jobs) {
      results.push_back(aligner_(job, starts.size()));
      starts.push_back(job.map_T_base_guess);
    }
    return results;
  }
  absl::StatusOr<std::shared_ptr<const ResidentTile>> BuildTile(
      const PointCloud& /*cloud_map*/, absl::Span<const CellStatistics> /*statistics*/) override {
    return absl::UnimplementedError("it only aligns");
  }
  absl::StatusOr<std::shared_ptr<const ResidentMap>> Compose(
      absl::Span<const std::shared_ptr<const ResidentTile>> /*tiles*/,
      absl::Span<const CellStatistics> /*statistics*/, const ResidentMap* /*previous*/) override {
    return absl::UnimplementedError("it only aligns");
  }
  absl::StatusOr<std::string> ExportTile(const ResidentTile& /*tile*/) override {
    return absl::UnimplementedError("it only aligns");
  }
  absl::StatusOr<std::shared_ptr<const ResidentTile>> ImportTile(
      absl::string_view /*bytes*/) override {
    return absl::UnimplementedError("it only aligns");
  }
  absl::StatusOr<ScoreResult> Score(const ScoreRequest& /*request*/) override {
    return absl::UnimplementedError("it only aligns");
  }
  absl::StatusOr<FilteredCloud> Filter(const PointCloud& /*cloud*/,
                                       const FilterOptions& /*options*/,
                                       WorkClass /*work_class*/) override {
    return absl::UnimplementedError("it only aligns");
  }
  absl::StatusOr<std::shared_ptr<const ResidentBoundGrid>> KeepBoundGrid(
      BoundGrid /*grid*/) override {
    return absl::UnimplementedError("it only aligns");
  }
  absl::StatusOr<std::vector<BoundHit>> Bound(const BoundRequest& /*request*/) override {
    return absl::UnimplementedError("it only aligns");
  }
  EngineInfo Info() const override { return {}; }
  absl::Status Health() const override { return absl::OkStatus(); }

  std::vector<size_t> batches;  // jobs of each call
  std::vector<Pose> starts;     // of all jobs

 private:
  const Aligner aligner_;
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CORE_ESTIMATE_INITIAL_POSE_FAKE_ENGINE_H_
