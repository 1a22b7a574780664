// SPDX-License-Identifier: Apache-2.0
//
// The parameters of a stage for kernels, by value: cells, constants of the score, options. Made on
// the host from a Stage and the map.

#ifndef VOXLOC_CUDA_ALIGN_STAGE_TERMS_H_
#define VOXLOC_CUDA_ALIGN_STAGE_TERMS_H_

#include <cstdint>

#include "core/ndt/point_terms.h"
#include "cuda/map/cell_blocks.h"

namespace voxloc {
struct Stage;
}

namespace voxloc::cuda {

struct StageTerms {
  CellBlocks blocks;
  // Candidates count if their squared distance is smaller: cell_size_m^2 for a radius search (see
  // kPossibleSquaredHalf and kCertainSquaredHalf), infinite where `reach` alone decides.
  float squared_radius_m2;
  // Largest number of axes along which the cell of a candidate may differ from the point's: 3, 1 or
  // 0.
  int reach;
  double inverse_cell_size;  // 1/m
  float cell_size_m;
  MeanRange mean_range;
  // A cell's mean is also where the search finds it.
  bool mean_is_index;
  bool float_transform;
  bool exact_pitch_curvature;
  bool small_angle_shortcut;
  bool second_order;  // Curvature::kExact
  float d2;
  float curvature;  // see ndt::AddPair
  ndt::ReachBoundary<float> boundary;
  double max_pair_score;    // score of a perfect pair, -d1
  double derivative_scale;  // d1 d2
};

// `blocks` are those of the stage's cell statistics.
[[nodiscard]] StageTerms MakeStageTerms(const Stage& stage, const CellBlocks& blocks);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_STAGE_TERMS_H_
