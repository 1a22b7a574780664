// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/scan_evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ndt/chart_derivatives.h"

namespace voxloc::cpu {
namespace {

// Lists and candidates that the neighbourhoods of a stage may hold before they are cleared; a
// candidate takes 36 bytes. A scan of 1,500 points needs about 10,000; more are kept for the next
// scans, as long as they fit into an L2 cache of 2 MB.
constexpr size_t kMaxCachedEntries = size_t{1} << 16;
// The limit during the evaluation of a scan. Reaching it takes thousands of lattice cells per
// point.
constexpr size_t kMaxEntriesInUse = size_t{1} << 24;
// Chunks kept for the next scan.
constexpr size_t kMaxKeptChunks = 512;

int PaddedCount(int count) { return (count + 7) / 8 * 8; }

ndt::Rotation<float> ToFloat(const ndt::Rotation<double>& rotation) {
  ndt::Rotation<float> rounded;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) rounded.m[i][j] = static_cast<float>(rotation.m[i][j]);
  }
  return rounded;
}

}  // namespace

// The cells that the points of a chunk may match in one stage: the lattice cells that the points
// were in last, and their lists in the neighbourhoods of this generation. Valid for the first
// `known` points.
struct ScanEvaluator::StageLists {
  uint64_t generation = 0;
  int known = 0;
  CellKey cell[kPointsPerChunk];
  uint32_t begin[kPointsPerChunk];
  uint32_t count[kPointsPerChunk];
};

struct ScanEvaluator::Chunk {
  int count = 0;  // points; the arrays go on to the next multiple of eight
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

  // Of the stages, by their numbers. Those of the stages in use, one bit each, are of this scan.
  std::vector<std::unique_ptr<StageLists>> stages;
  uint32_t stages_in_use = 0;

  StageLists& Lists(size_t stage) {
    if (stages.size() <= stage) stages.resize(stage + 1);
    if (stages[stage] == nullptr) stages[stage] = std::make_unique<StageLists>();
    if ((stages_in_use >> stage & 1U) == 0) {
      stages[stage]->known = 0;
      stages_in_use |= 1U << stage;
    }
    return *stages[stage];
  }

  std::vector<uint32_t> accepted;

  ChunkSums sums;
  std::unique_ptr<PointPairSums> pair_sums;  // null until they are wanted
};

// What all chunks of one evaluation share.
struct ScanEvaluator::EvaluationFrame {
  LocateArguments locate{};
  ChunkOutput output = ChunkOutput::kScore;
  const ndt::Rotation<float>* rotation = nullptr;  // of the derivatives, where they are wanted
  float* point_scores = nullptr;
};

// For the sums of groups: where each place of the scan lies among the chunks, and points of one
// group side by side.
struct ScanEvaluator::GroupScratch {
  std::vector<uint32_t> at;  // of places that take part
  float entry[3 + kPairSumEntries][kPointsPerChunk];
};

ScanEvaluator::ScanEvaluator(const Kernels& kernels) : kernels_(kernels) {}
ScanEvaluator::~ScanEvaluator() = default;

void ScanEvaluator::SetScan(const PointCloud& scan, absl::Span<const uint32_t> places) {
  points_ = 0;
  used_chunks_ = 0;
  const Eigen::Vector3f origin = scan.origin.cast<float>();
  for (const uint32_t place : places) AddPoint(scan.Offset(place) + origin, place);
  PadChunks();
}

void ScanEvaluator::SetScan(const PointCloud& scan) {
  points_ = 0;
  used_chunks_ = 0;
  const Eigen::Vector3f origin = scan.origin.cast<float>();
  for (size_t i = 0; i < scan.size(); ++i) {
    const Eigen::Vector3f p = scan.Offset(i) + origin;
    if (p.allFinite()) AddPoint(p, static_cast<uint32_t>(i));
  }
  PadChunks();
}

void ScanEvaluator::AddPoint(const Eigen::Vector3f& point_base, uint32_t place) {
  const size_t at = points_++ % kPointsPerChunk;
  if (at == 0) {
    if (used_chunks_ == chunks_.size()) chunks_.push_back(std::make_unique<Chunk>());
    Chunk& begun = *chunks_[used_chunks_++];
    begun.count = 0;
    begun.stages_in_use = 0;
  }
  Chunk& chunk = *chunks_[used_chunks_ - 1];
  chunk.x[at] = point_base.x();
  chunk.y[at] = point_base.y();
  chunk.z[at] = point_base.z();
  chunk.source[at] = place;
  ++chunk.count;
}

// Padding repeats the origin and never has a candidate.
void ScanEvaluator::PadChunks() {
  if (used_chunks_ > 0) {
    Chunk& last = *chunks_[used_chunks_ - 1];
    for (int i = last.count; i < PaddedCount(last.count); ++i) {
      last.x[i] = last.y[i] = last.z[i] = 0.0F;
    }
  }
  if (chunks_.size() > std::max(used_chunks_, kMaxKeptChunks)) {
    chunks_.resize(std::max(used_chunks_, kMaxKeptChunks));
  }
  for (Neighborhoods& of_thread : neighborhoods_) {
    for (const std::unique_ptr<NeighborhoodCache>& of_stage : of_thread) {
      if (of_stage != nullptr) of_stage->ClearIfLarger(kMaxCachedEntries);
    }
  }
}

void ScanEvaluator::SetStage(const GaussianGrid* grid, const Stage& stage, size_t number) {
  grid_ = grid;
  stage_ = stage;
  stage_number_ = number;
  constants_ = ndt::ComputeScoreConstants(stage.outlier_ratio, stage.cells.cell_size_m);
}

Evaluation ScanEvaluator::Evaluate(const ChartVector& chart, bool with_derivatives, size_t points,
                                   SpinTeam* team, float* point_scores) {
  const ndt::AngleTerms<double> angles = ndt::ComputeAngleTerms(chart[3], chart[4], chart[5]);
  EvaluationFrame frame;
  SetPose(ndt::ComputeRotation(angles), chart, frame);
  frame.point_scores = point_scores;
  const ndt::AngleTerms<double> derivative_angles =
      stage_.small_angle_shortcut ? ndt::ComputeShortcutAngleTerms(chart[3], chart[4], chart[5])
                                  : angles;
  const ndt::Rotation<float> rotation = ToFloat(ndt::ComputeRotation(derivative_angles));
  const bool second_order = stage_.curvature == Curvature::kExact;
  if (with_derivatives) {
    frame.output = second_order ? ChunkOutput::kSecondOrder : ChunkOutput::kFirstOrder;
    frame.rotation = &rotation;
  }
  EvaluateChunks(frame, points, team);

  ndt::DerivativeSums<double> sums;
  Evaluation evaluation = SumChunks(points, sums);
  if (with_derivatives) {
    ndt::ToChart(sums, ndt::ComputeChartAxes(derivative_angles),
                 {second_order, stage_.exact_pitch_curvature}, evaluation.derivatives);
  }
  return evaluation;
}

void ScanEvaluator::EvaluateGroups(const ChartVector& chart, const PointGroups& groups,
                                   SpinTeam* team, float* point_scores,
                                   std::vector<GroupSums>& sums) {
  const ndt::Rotation<double> exact =
      ndt::ComputeRotation(ndt::ComputeAngleTerms(chart[3], chart[4], chart[5]));
  EvaluationFrame frame;
  SetPose(exact, chart, frame);
  frame.output = ChunkOutput::kPairSums;
  EvaluateChunks(frame, points_, team);

  if (scratch_ == nullptr) scratch_ = std::make_unique<GroupScratch>();
  for (size_t i = 0; i < points_; ++i) {
    const uint32_t place = chunks_[i / kPointsPerChunk]->source[i % kPointsPerChunk];
    if (scratch_->at.size() <= place) scratch_->at.resize(place + 1);
    scratch_->at[place] = static_cast<uint32_t>(i);
  }
  const ndt::Rotation<float> rotation = ToFloat(exact);
  const absl::Span<const uint32_t> places(groups.places);
  size_t begin = 0;
  for (const uint32_t end : groups.ends) {
    sums.push_back(SumGroup(places.subspan(begin, end - begin), rotation, point_scores));
    begin = end;
  }
}

void ScanEvaluator::SetPose(const ndt::Rotation<double>& rotation, const ChartVector& chart,
                            EvaluationFrame& frame) const {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) frame.locate.rotation[i][j] = rotation.m[i][j];
    frame.locate.translation[i] = chart[i];
  }
  frame.locate.cell_size_m = grid_->cell_size_m();
  frame.locate.float_transform = stage_.float_transform;
}

void ScanEvaluator::EvaluateChunks(const EvaluationFrame& frame, size_t points, SpinTeam* team) {
  const size_t chunks = (points + kPointsPerChunk - 1) / kPointsPerChunk;
  // By the whole scan, so that a chunk stays with its neighbourhoods.
  const size_t threads = team == nullptr ? 1 : std::min(team->threads(), used_chunks_);
  if (neighborhoods_.size() < threads) neighborhoods_.resize(threads);
  ParallelFor(team, threads, [&](size_t thread) {
    for (size_t c = thread; c < chunks; c += threads) {
      const size_t count = std::min<size_t>(kPointsPerChunk, points - c * kPointsPerChunk);
      EvaluateChunk(frame, static_cast<int>(count), neighborhoods_[thread], *chunks_[c]);
    }
  });
}

void ScanEvaluator::EvaluateChunk(const EvaluationFrame& frame, int count,
                                  Neighborhoods& neighborhoods, Chunk& chunk) const {
  if (neighborhoods.size() <= stage_number_) neighborhoods.resize(stage_number_ + 1);
  if (neighborhoods[stage_number_] == nullptr) {
    neighborhoods[stage_number_] = std::make_unique<NeighborhoodCache>();
  }
  NeighborhoodCache& known = *neighborhoods[stage_number_];
  known.Use(*grid_, stage_.search);
  known.ClearIfLarger(kMaxEntriesInUse);
  StageLists& lists = chunk.Lists(stage_number_);
  if (lists.generation != known.generation()) lists.known = 0;
  lists.generation = known.generation();
  LocateArguments locate = frame.locate;
  locate.x = chunk.x;
  locate.y = chunk.y;
  locate.z = chunk.z;
  locate.padded_count = PaddedCount(count);
  kernels_.locate(locate, {chunk.cell_x, chunk.cell_y, chunk.cell_z, chunk.local_x, chunk.local_y,
                           chunk.local_z});

  uint32_t candidates = 0;
  for (int i = 0; i < count; ++i) {
    const CellKey cell = {chunk.cell_x[i], chunk.cell_y[i], chunk.cell_z[i]};
    if (i >= lists.known || !(cell == lists.cell[i])) {
      const NeighborhoodCache::List list = known.Find(cell);
      lists.cell[i] = cell;
      lists.begin[i] = list.begin;
      lists.count[i] = list.count;
    }
    candidates += lists.count[i];
  }
  lists.known = std::max(lists.known, count);
  if (const int padded = PaddedCount(count); padded > count) {
    // The kernels go on to a multiple of eight. Those points have no candidates in this evaluation;
    // their lists are looked up again in the next.
    for (int i = count; i < padded; ++i) lists.begin[i] = lists.count[i] = 0;
    lists.known = count;
  }

  // Eight more than may be accepted: the kernels write as many at once.
  if (chunk.accepted.size() < size_t{candidates} + 8) chunk.accepted.resize(candidates + 8);
  AccumulateArguments accumulate{};
  accumulate.x = chunk.x;
  accumulate.y = chunk.y;
  accumulate.z = chunk.z;
  accumulate.local_x = chunk.local_x;
  accumulate.local_y = chunk.local_y;
  accumulate.local_z = chunk.local_z;
  accumulate.list_begin = lists.begin;
  accumulate.list_count = lists.count;
  accumulate.padded_count = PaddedCount(count);
  accumulate.candidates = known.arrays();
  const double radius_m = grid_->cell_size_m();
  accumulate.squared_radius_m2 = stage_.search == NeighborSearch::kRadius
                                     ? static_cast<float>(radius_m * radius_m)
                                     : std::numeric_limits<float>::infinity();
  accumulate.d2 = static_cast<float>(constants_.d2);
  accumulate.curvature = frame.output == ChunkOutput::kFirstOrder ? 0.0F : accumulate.d2;
  accumulate.output = frame.output;
  accumulate.rotation = frame.rotation;
  if (frame.output == ChunkOutput::kPairSums) {
    if (chunk.pair_sums == nullptr) chunk.pair_sums = std::make_unique<PointPairSums>();
    accumulate.pair_sums = chunk.pair_sums.get();
    accumulate.boundary = ndt::BoundaryOf(accumulate.squared_radius_m2);
  }
  accumulate.accepted = chunk.accepted.data();
  accumulate.best = frame.point_scores != nullptr ? chunk.best : nullptr;
  chunk.sums = {};
  kernels_.accumulate(accumulate, chunk.sums);

  if (frame.point_scores != nullptr) {
    const auto largest = static_cast<float>(-constants_.d1);
    for (int i = 0; i < count; ++i) {
      frame.point_scores[chunk.source[i]] = largest * chunk.best[i];
    }
  }
}

GroupSums ScanEvaluator::SumGroup(absl::Span<const uint32_t> places,
                                  const ndt::Rotation<float>& rotation, float* point_scores) {
  GroupScratch& scratch = *scratch_;
  GroupSums sums;
  AddPointsArguments add{};
  for (int k = 0; k < 3 + kPairSumEntries; ++k) add.entry[k] = scratch.entry[k];
  add.rotation = &rotation;
  for (size_t begin = 0; begin < places.size(); begin += kPointsPerChunk) {
    const int count = static_cast<int>(std::min<size_t>(kPointsPerChunk, places.size() - begin));
    for (int i = 0; i < count; ++i) {
      const uint32_t place = places[begin + static_cast<size_t>(i)];
      const uint32_t at = scratch.at[place];
      const Chunk& chunk = *chunks_[at / kPointsPerChunk];
      const uint32_t from = at % kPointsPerChunk;
      const PointPairSums& pairs = *chunk.pair_sums;
      const bool matched = pairs.pairs[from] > 0;
      // The sums of a point without a pair are 0, but 0 * infinity is not: its coordinates become
      // 0.
      scratch.entry[0][i] = matched ? chunk.x[from] : 0.0F;
      scratch.entry[1][i] = matched ? chunk.y[from] : 0.0F;
      scratch.entry[2][i] = matched ? chunk.z[from] : 0.0F;
      for (int k = 0; k < kPairSumEntries; ++k) scratch.entry[3 + k][i] = pairs.entry[k][from];
      sums.score.score += static_cast<double>(pairs.exponentials[from]);
      sums.score.best += static_cast<double>(pairs.best[from]);
      sums.score.matched_points += matched ? 1.0 : 0.0;
      sums.score.pairs += pairs.pairs[from];
      if (point_scores != nullptr) {
        point_scores[place] = static_cast<float>(-constants_.d1) * pairs.best[from];
      }
    }
    const int padded = PaddedCount(count);
    for (auto& entry : scratch.entry) std::fill(entry + count, entry + padded, 0.0F);
    add.lane_groups = padded / 8;
    kernels_.add_points(add, sums.derivatives);
  }
  sums.score.score *= -constants_.d1;
  sums.score.best *= -constants_.d1;
  sums.derivatives = ndt::Scaled(sums.derivatives, constants_.d1 * constants_.d2);
  return sums;
}

Evaluation ScanEvaluator::SumChunks(size_t points, ndt::DerivativeSums<double>& derivatives) const {
  ChunkSums total;
  for (size_t c = 0; c * kPointsPerChunk < points; ++c) {
    const ChunkSums& sums = chunks_[c]->sums;
    total.exponentials += sums.exponentials;
    total.best += sums.best;
    ndt::Add(sums.derivatives, total.derivatives);
    total.matched_points += sums.matched_points;
    total.pairs += sums.pairs;
  }
  derivatives = ndt::Scaled(total.derivatives, constants_.d1 * constants_.d2);
  Evaluation evaluation;
  evaluation.score =
      ToPoseScore({-constants_.d1 * total.exponentials, -constants_.d1 * total.best,
                   static_cast<double>(total.matched_points), static_cast<double>(total.pairs)},
                  points);
  evaluation.derivatives.score = evaluation.score.score;
  return evaluation;
}

}  // namespace voxloc::cpu
