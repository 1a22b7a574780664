// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/scan_evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace voxloc::cpu {
namespace {

// Candidate cells that a chunk's cache may hold before it starts afresh.
constexpr uint32_t kMaxCachedCandidates = 1U << 20;
// Chunks kept for the next scan.
constexpr size_t kMaxKeptChunks = 1024;

}  // namespace

struct ScanEvaluator::Chunk {
  int count = 0;         // points
  int padded_count = 0;  // the next multiple of eight
  float x[kPointsPerChunk];
  float y[kPointsPerChunk];
  float z[kPointsPerChunk];
  uint32_t source[kPointsPerChunk];  // index in the scan

  int32_t cell_x[kPointsPerChunk];
  int32_t cell_y[kPointsPerChunk];
  int32_t cell_z[kPointsPerChunk];
  float local_x[kPointsPerChunk];
  float local_y[kPointsPerChunk];
  float local_z[kPointsPerChunk];
  float best[kPointsPerChunk];

  // The lists of the lattice cells that the points were in last.
  bool lists_valid = false;
  CellKey list_cell[kPointsPerChunk];
  uint32_t list_begin[kPointsPerChunk];
  uint32_t list_count[kPointsPerChunk];
  NeighborhoodCache neighborhoods;
  std::vector<uint32_t> accepted;

  ChunkSums sums;
};

// What all chunks of one evaluation share.
struct ScanEvaluator::EvaluationFrame {
  LocateArguments locate{};
  const ndt::ChartDerivatives<float>* chart = nullptr;
  float* point_scores = nullptr;
};

ScanEvaluator::ScanEvaluator(const Kernels& kernels) : kernels_(kernels) {}
ScanEvaluator::~ScanEvaluator() = default;

void ScanEvaluator::SetScan(const PointCloud& scan) {
  points_ = 0;
  used_chunks_ = 0;
  const Eigen::Vector3f origin = scan.origin.cast<float>();
  Chunk* chunk = nullptr;
  for (size_t i = 0; i < scan.size(); ++i) {
    const Eigen::Vector3f p = scan.Offset(i) + origin;
    if (!p.allFinite()) continue;
    if (chunk == nullptr || chunk->count == kPointsPerChunk) {
      if (used_chunks_ == chunks_.size()) chunks_.push_back(std::make_unique<Chunk>());
      chunk = chunks_[used_chunks_++].get();
      chunk->count = 0;
    }
    const int at = chunk->count++;
    chunk->x[at] = p.x();
    chunk->y[at] = p.y();
    chunk->z[at] = p.z();
    chunk->source[at] = static_cast<uint32_t>(i);
    ++points_;
  }
  for (size_t c = 0; c < used_chunks_; ++c) {
    Chunk& filled = *chunks_[c];
    filled.padded_count = (filled.count + 7) / 8 * 8;
    // Padding repeats the origin and never has a candidate.
    for (int i = filled.count; i < filled.padded_count; ++i) {
      filled.x[i] = filled.y[i] = filled.z[i] = 0.0F;
      filled.list_begin[i] = filled.list_count[i] = 0;
    }
  }
  if (chunks_.size() > std::max(used_chunks_, kMaxKeptChunks)) {
    chunks_.resize(std::max(used_chunks_, kMaxKeptChunks));
  }
}

void ScanEvaluator::SetStage(const GaussianGrid* grid, const Stage& stage) {
  grid_ = grid;
  stage_ = stage;
  constants_ = ndt::ComputeScoreConstants(stage.outlier_ratio, stage.cells.cell_size_m);
  for (size_t c = 0; c < used_chunks_; ++c) {
    chunks_[c]->neighborhoods.Reset(grid, stage.search);
    chunks_[c]->lists_valid = false;
  }
}

Evaluation ScanEvaluator::Evaluate(const ChartVector& chart, bool with_derivatives,
                                   ThreadPool* pool, float* point_scores) {
  const ndt::AngleTerms<double> angles = ndt::ComputeAngleTerms(chart[3], chart[4], chart[5]);
  const ndt::Rotation<double> rotation = ndt::ComputeRotation(angles);
  EvaluationFrame frame;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) frame.locate.rotation[i][j] = rotation.m[i][j];
    frame.locate.translation[i] = chart[i];
  }
  frame.locate.cell_size_m = grid_->cell_size_m();
  frame.locate.float_transform = stage_.float_transform;
  frame.point_scores = point_scores;

  ndt::ChartDerivatives<float> derivatives;
  if (with_derivatives) {
    ndt::ChartDerivatives<double> exact = ndt::ComputeChartDerivatives(
        stage_.small_angle_shortcut ? ndt::ComputeShortcutAngleTerms(chart[3], chart[4], chart[5])
                                    : angles,
        stage_.exact_pitch_curvature);
    if (stage_.curvature == Curvature::kReweighted) ndt::DropSecondOrder(exact);
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 3; ++j) derivatives.first[i][j] = static_cast<float>(exact.first[i][j]);
    }
    for (int i = 0; i < 15; ++i) {
      for (int j = 0; j < 3; ++j) derivatives.second[i][j] = static_cast<float>(exact.second[i][j]);
    }
    frame.chart = &derivatives;
  }

  if (pool != nullptr) {
    pool->ParallelFor(used_chunks_, [&](size_t c) { EvaluateChunk(frame, *chunks_[c]); });
  } else {
    for (size_t c = 0; c < used_chunks_; ++c) EvaluateChunk(frame, *chunks_[c]);
  }
  return SumChunks(with_derivatives);
}

void ScanEvaluator::EvaluateChunk(const EvaluationFrame& frame, Chunk& chunk) const {
  LocateArguments locate = frame.locate;
  locate.x = chunk.x;
  locate.y = chunk.y;
  locate.z = chunk.z;
  locate.padded_count = chunk.padded_count;
  kernels_.locate(locate, {chunk.cell_x, chunk.cell_y, chunk.cell_z, chunk.local_x, chunk.local_y,
                           chunk.local_z});

  if (chunk.neighborhoods.size() > kMaxCachedCandidates) {
    chunk.neighborhoods.Reset(grid_, stage_.search);
    chunk.lists_valid = false;
  }
  for (int i = 0; i < chunk.count; ++i) {
    const CellKey cell = {chunk.cell_x[i], chunk.cell_y[i], chunk.cell_z[i]};
    if (chunk.lists_valid && cell == chunk.list_cell[i]) continue;
    const NeighborhoodCache::List list = chunk.neighborhoods.Find(cell);
    chunk.list_cell[i] = cell;
    chunk.list_begin[i] = list.begin;
    chunk.list_count[i] = list.count;
  }
  chunk.lists_valid = true;

  const uint32_t stride = chunk.neighborhoods.longest() + 8;
  if (chunk.accepted.size() < size_t{8} * stride) chunk.accepted.resize(size_t{8} * stride);
  AccumulateArguments accumulate{};
  accumulate.x = chunk.x;
  accumulate.y = chunk.y;
  accumulate.z = chunk.z;
  accumulate.local_x = chunk.local_x;
  accumulate.local_y = chunk.local_y;
  accumulate.local_z = chunk.local_z;
  accumulate.list_begin = chunk.list_begin;
  accumulate.list_count = chunk.list_count;
  accumulate.padded_count = chunk.padded_count;
  accumulate.candidates = chunk.neighborhoods.arrays();
  accumulate.information = grid_->information();
  const double radius_m = grid_->cell_size_m();
  accumulate.squared_radius_m2 = stage_.search == NeighborSearch::kRadius
                                     ? static_cast<float>(radius_m * radius_m)
                                     : std::numeric_limits<float>::infinity();
  accumulate.d2 = static_cast<float>(constants_.d2);
  accumulate.curvature = stage_.curvature == Curvature::kExact ? accumulate.d2 : 0.0F;
  accumulate.chart = frame.chart;
  accumulate.accepted = chunk.accepted.data();
  accumulate.accepted_stride = stride;
  accumulate.best = frame.point_scores != nullptr ? chunk.best : nullptr;
  chunk.sums = {};
  kernels_.accumulate(accumulate, chunk.sums);

  if (frame.point_scores != nullptr) {
    const auto largest = static_cast<float>(-constants_.d1);
    for (int i = 0; i < chunk.count; ++i) {
      frame.point_scores[chunk.source[i]] = largest * chunk.best[i];
    }
  }
}

Evaluation ScanEvaluator::SumChunks(bool with_derivatives) const {
  ChunkSums total;
  for (size_t c = 0; c < used_chunks_; ++c) {
    const ChunkSums& sums = chunks_[c]->sums;
    total.exponentials += sums.exponentials;
    total.best += sums.best;
    for (int i = 0; i < 6; ++i) total.gradient[i] += sums.gradient[i];
    for (int i = 0; i < 21; ++i) total.hessian[i] += sums.hessian[i];
    total.matched_points += sums.matched_points;
    total.pairs += sums.pairs;
  }
  Evaluation evaluation;
  evaluation.score =
      ToPoseScore({-constants_.d1 * total.exponentials, -constants_.d1 * total.best,
                   static_cast<double>(total.matched_points), static_cast<double>(total.pairs)},
                  points_);
  evaluation.derivatives.score = evaluation.score.score;
  if (with_derivatives) {
    const double factor = constants_.d1 * constants_.d2;
    int k = 0;
    for (int i = 0; i < 6; ++i) {
      evaluation.derivatives.gradient[i] = factor * total.gradient[i];
      for (int j = i; j < 6; ++j) {
        const double entry = factor * total.hessian[k++];
        evaluation.derivatives.hessian.m[i][j] = entry;
        evaluation.derivatives.hessian.m[j][i] = entry;
      }
    }
  }
  return evaluation;
}

}  // namespace voxloc::cpu
