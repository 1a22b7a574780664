// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/device_job.h"

#include <limits>

#include "core/engine/profile.h"
#include "core/ndt/pose_score.h"

namespace voxloc::cuda {

StageTerms MakeStageTerms(const Stage& stage, const CellBlocks& blocks) {
  const double size_m = stage.cells.cell_size_m;
  const ndt::ScoreConstants constants = ndt::ComputeScoreConstants(stage.outlier_ratio, size_m);
  StageTerms terms{};
  terms.blocks = blocks;
  terms.squared_radius_m2 = stage.search == NeighborSearch::kRadius
                                ? static_cast<float>(size_m * size_m)
                                : std::numeric_limits<float>::infinity();
  terms.reach = stage.search == NeighborSearch::kRadius    ? 3
                : stage.search == NeighborSearch::kDirect7 ? 1
                                                           : 0;
  terms.inverse_cell_size = 1.0 / size_m;
  terms.cell_size_m = static_cast<float>(size_m);
  terms.mean_is_index = !stage.cells.float_index;
  terms.mean_range = MeanRangeOf(terms.cell_size_m, terms.mean_is_index);
  terms.float_transform = stage.float_transform;
  terms.exact_pitch_curvature = stage.exact_pitch_curvature;
  terms.small_angle_shortcut = stage.small_angle_shortcut;
  terms.second_order = stage.curvature == Curvature::kExact;
  terms.d2 = static_cast<float>(constants.d2);
  terms.curvature = terms.second_order ? terms.d2 : 0.0F;
  terms.boundary = ndt::BoundaryOf(terms.squared_radius_m2);
  terms.max_pair_score = -constants.d1;
  terms.derivative_scale = constants.d1 * constants.d2;
  return terms;
}

}  // namespace voxloc::cuda
