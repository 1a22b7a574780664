// SPDX-License-Identifier: Apache-2.0
//
// ScanEvaluator: one scan, ready to be evaluated at any pose against one grid of cells.
//
// The scan is held in chunks of 256 points, each with its own cache of neighbourhoods and its own
// sums, added up in the order of the chunks: the result does not depend on who computed which
// chunk. Not thread-safe; memory grows to the largest scan and stays.

#ifndef VOXLOC_CORE_ENGINE_CPU_SCAN_EVALUATOR_H_
#define VOXLOC_CORE_ENGINE_CPU_SCAN_EVALUATOR_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/engine/cpu/gaussian_grid.h"
#include "core/engine/cpu/kernels.h"
#include "core/engine/cpu/neighborhood_cache.h"
#include "core/engine/cpu/newton_search.h"
#include "core/engine/cpu/thread_pool.h"
#include "core/engine/profile.h"
#include "core/ndt/score_function.h"

namespace voxloc::cpu {

class ScanEvaluator {
 public:
  explicit ScanEvaluator(const Kernels& kernels = SelectKernels());
  ~ScanEvaluator();

  // Takes the points of a scan in its base frame. Those that are not finite are left out.
  void SetScan(const PointCloud& scan);
  void SetStage(const GaussianGrid* grid, const Stage& stage);

  // `pool` null: on the caller's thread. `point_scores` null, or room for one value a point of the
  // scan (0 for those left out).
  [[nodiscard]] Evaluation Evaluate(const ChartVector& chart, bool with_derivatives,
                                    ThreadPool* pool, float* point_scores);

  [[nodiscard]] size_t points() const { return points_; }
  [[nodiscard]] size_t chunks() const { return used_chunks_; }

 private:
  struct Chunk;
  struct EvaluationFrame;

  void EvaluateChunk(const EvaluationFrame& frame, Chunk& chunk) const;
  [[nodiscard]] Evaluation SumChunks(bool with_derivatives) const;

  const Kernels& kernels_;
  const GaussianGrid* grid_ = nullptr;
  Stage stage_;
  ndt::ScoreConstants constants_;
  size_t points_ = 0;
  size_t used_chunks_ = 0;
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

}  // namespace voxloc::cpu

#endif  // VOXLOC_CORE_ENGINE_CPU_SCAN_EVALUATOR_H_
