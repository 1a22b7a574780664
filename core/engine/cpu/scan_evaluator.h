// SPDX-License-Identifier: Apache-2.0
//
// ScanEvaluator: one scan, ready to be evaluated at any pose against one grid of cells.
//
// The scan is held in chunks of 128 points, each with its own sums, added up in the order of the
// chunks: the result does not depend on who computed which chunk. Each thread that takes part has
// its own caches of neighbourhoods, one a stage, which stay for the next scan on the same grid. Not
// thread-safe; memory grows to the largest scan and stays.

#ifndef VOXLOC_CORE_ENGINE_CPU_SCAN_EVALUATOR_H_
#define VOXLOC_CORE_ENGINE_CPU_SCAN_EVALUATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/align.h"
#include "core/engine/cpu/gaussian_grid.h"
#include "core/engine/cpu/kernels.h"
#include "core/engine/cpu/neighborhood_cache.h"
#include "core/engine/cpu/newton_search.h"
#include "core/engine/profile.h"
#include "core/ndt/point_terms.h"
#include "core/ndt/pose_score.h"
#include "core/parallel/spin_team.h"

namespace voxloc::cpu {

class ScanEvaluator {
 public:
  explicit ScanEvaluator(const Kernels& kernels = SelectKernels());
  ~ScanEvaluator();

  // Takes the points of a scan in its base frame: those at these places, which are finite, in their
  // order; or all that are finite.
  void SetScan(const PointCloud& scan, absl::Span<const uint32_t> places);
  void SetScan(const PointCloud& scan);
  // Until the next scan, calls with the same `number` must have the same grid and the same search.
  void SetStage(const GaussianGrid* grid, const Stage& stage, size_t number = 0);

  // `points` is how many points take part, from the first. `team` null: on the caller's thread.
  // `point_scores` null, or room for one value a point of the scan (0 for those left out).
  [[nodiscard]] Evaluation Evaluate(const ChartVector& chart, bool with_derivatives, size_t points,
                                    SpinTeam* team, float* point_scores);

  // The sums of these groups, of places in the scan, at this pose, exact; and the scores of their
  // points, where there is room for them (one value a point of the scan, others are left as they
  // are).
  void EvaluateGroups(const ChartVector& chart, const PointGroups& groups, SpinTeam* team,
                      float* point_scores, std::vector<GroupSums>& sums);

  [[nodiscard]] size_t points() const { return points_; }

 private:
  struct StageLists;
  struct Chunk;
  struct EvaluationFrame;
  struct GroupScratch;
  // Of one thread: the neighbourhoods of each stage, by its number; null until it is evaluated.
  using Neighborhoods = std::vector<std::unique_ptr<NeighborhoodCache>>;

  void AddPoint(const Eigen::Vector3f& point_base, uint32_t place);
  void PadChunks();
  void SetPose(const ndt::Rotation<double>& rotation, const ChartVector& chart,
               EvaluationFrame& frame) const;
  void EvaluateChunks(const EvaluationFrame& frame, size_t points, SpinTeam* team);
  void EvaluateChunk(const EvaluationFrame& frame, int count, Neighborhoods& neighborhoods,
                     Chunk& chunk) const;
  // Of the points at these places, once their chunks have been evaluated with sums over pairs.
  [[nodiscard]] GroupSums SumGroup(absl::Span<const uint32_t> places,
                                   const ndt::Rotation<float>& rotation, float* point_scores);
  // Writes the derivatives in the map's axes, zero where none were evaluated; those of the result
  // stay zero.
  [[nodiscard]] Evaluation SumChunks(size_t points, ndt::DerivativeSums<double>& derivatives) const;

  const Kernels& kernels_;
  const GaussianGrid* grid_ = nullptr;
  Stage stage_;
  size_t stage_number_ = 0;
  ndt::ScoreConstants constants_;
  size_t points_ = 0;
  size_t used_chunks_ = 0;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Neighborhoods> neighborhoods_;  // chunk c is with those of c modulo their number
  std::unique_ptr<GroupScratch> scratch_;
};

}  // namespace voxloc::cpu

#endif  // VOXLOC_CORE_ENGINE_CPU_SCAN_EVALUATOR_H_
