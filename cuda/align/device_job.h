// SPDX-License-Identifier: Apache-2.0
//
// The data exchanged between host and device for a batch of alignments: plain structs.

#ifndef VOXLOC_CUDA_ALIGN_DEVICE_JOB_H_
#define VOXLOC_CUDA_ALIGN_DEVICE_JOB_H_

#include <cstdint>

#include "core/ndt/point_terms.h"
#include "core/ndt/pose_score.h"
#include "core/ndt/search.h"
#include "core/ndt/search_rules.h"
#include "core/ndt/termination.h"
#include "cuda/map/cell_blocks.h"

namespace voxloc {
struct Stage;
}

namespace voxloc::cuda {

// The parameters of a stage for kernels, by value: cells, constants of the score, options. Made on
// the host from a Stage and the map.
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

// Stages with the map's cells, shared by the jobs of one profile in one map. A stage whose rotation
// scale depends on the scan has 0 here; each job then has its own.
struct AlignProgram {
  ndt::StageRules rules[ndt::kMaxStages];
  StageTerms terms[ndt::kMaxStages];
  int stages;
  int score_stage;
  ndt::JudgementRules judgement;
};

// Points in the base frame, metres: x, y and z one after another, each `stride` long, from place
// `first` of an array of floats.
struct DeviceScan {
  uint64_t first;
  uint32_t stride;
  uint32_t points;
  // Of these, from the first, those that each stage of an alignment searches with.
  uint32_t stage_points[ndt::kMaxStages];
};

// See EvaluationPass.
struct DevicePass {
  uint32_t scan;          // its cloud, among the scans
  uint32_t groups;        // 0: no sums
  uint32_t places_begin;  // of its groups, in the array of places
  uint32_t ends_begin;    // in the array of ends, which count from places_begin
  uint32_t sums_begin;    // in the array of sums of groups
  uint32_t point_scores_begin;
  bool score_stage;
  bool own_cell_only;
  bool with_point_scores;
  bool of_groups;  // only the points in groups, which may be none, are scored
};

// The sums of a group, by Slot, in the units of the score.
struct DeviceGroupSums {
  float slot[32];
};

struct DeviceJob {
  double guess[6];  // chart
  ndt::GuessPrior prior;
  double reference_x;
  double reference_y;
  double regularization_scale;
  double rotation_scale_m;  // of its scan; 0 where the profile does not need it
  uint64_t deadline_ns;     // on the device's clock; 0: none
  uint32_t program;
  uint32_t scan;
  int entry;  // the first stage that runs
  // Iteration records may be written from here on in the trace array.
  uint32_t trace_begin;
  // Place in the array of point scores.
  uint32_t point_scores_begin;
  uint32_t passes_begin;
  uint32_t passes;
  Interrupt interrupt;  // raised before the start
  bool regularized;
  bool score_includes_regularization;
  bool with_trace;
  bool with_point_scores;
  bool passes_only;
  bool watched;  // the host may raise its stop while it runs
};

struct DeviceIteration {
  ndt::IterationRecord step;
  PoseSums score;
};

struct DeviceResult {
  double chart[6];
  PoseSums before;
  PoseSums after;
  double gradient[6];
  double hessian[6][6];
  Termination termination;
  int iterations;
  int evaluations;
  int oscillations;
  int stage;  // see AlignResult
  bool reached_iteration_limit;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_DEVICE_JOB_H_
