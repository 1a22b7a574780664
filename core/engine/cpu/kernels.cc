// SPDX-License-Identifier: Apache-2.0
//
// Compiled once for each instruction set, with VOXLOC_KERNEL_NAMESPACE set to its name. Includes
// and calls nothing that has a copy elsewhere: such a copy could be linked into code that runs on
// processors without the instruction set.

#include "core/engine/cpu/kernels.h"

#include "core/engine/cpu/lanes.h"
#include "core/ndt/point_terms.h"
#include "core/ndt/symmetric3.h"

namespace voxloc::VOXLOC_KERNEL_NAMESPACE {
namespace {

using ndt::Symmetric3;
using ndt::Vector3;

constexpr double kCellIndexLimit = 268435456.0;  // 2^28

// Cell index and place in the cell along one axis. A coordinate beyond the last cell, or NaN, is
// moved to that cell's border: for every input the place lies within the cell.
VOXLOC_HD void LocateAxis(DoubleVector coordinate, double cell_size, double inverse, int32_t* cell,
                          float* local) {
  const DoubleVector limit = DoubleVector{} + kCellIndexLimit * cell_size;
  coordinate = coordinate < limit ? coordinate : limit;
  coordinate = coordinate > -limit ? coordinate : -limit;
  const DoubleVector scaled = coordinate * inverse;
  // Rounded towards zero, then down.
  const DoubleVector truncated =
      __builtin_convertvector(__builtin_convertvector(scaled, HalfIntVector), DoubleVector);
  const DoubleVector one = DoubleVector{} + 1.0;
  const DoubleVector floor =
      truncated - (DoubleVector)((LongVector)one & (LongVector)(truncated > scaled));
  Store(__builtin_convertvector(floor, HalfIntVector), cell);
  Store(__builtin_convertvector(coordinate - floor * cell_size, HalfVector), local);
}

void Locate(const cpu::LocateArguments& in, const cpu::LocatedPoints& out) {
  const double inverse = 1.0 / in.cell_size_m;
  int32_t* cells[3] = {out.cell_x, out.cell_y, out.cell_z};
  float* locals[3] = {out.local_x, out.local_y, out.local_z};
  for (int i = 0; i < in.padded_count; i += kDoubleLanes) {
    const auto x = Load<HalfVector>(in.x + i);
    const auto y = Load<HalfVector>(in.y + i);
    const auto z = Load<HalfVector>(in.z + i);
    for (int axis = 0; axis < 3; ++axis) {
      const double* r = in.rotation[axis];
      DoubleVector coordinate;
      if (in.float_transform) {
        const HalfVector sum = x * static_cast<float>(r[0]) + y * static_cast<float>(r[1]) +
                               z * static_cast<float>(r[2]) +
                               static_cast<float>(in.translation[axis]);
        coordinate = __builtin_convertvector(sum, DoubleVector);
      } else {
        coordinate = __builtin_convertvector(x, DoubleVector) * r[0] +
                     __builtin_convertvector(y, DoubleVector) * r[1] +
                     __builtin_convertvector(z, DoubleVector) * r[2] + in.translation[axis];
      }
      LocateAxis(coordinate, in.cell_size_m, inverse, cells[axis] + i, locals[axis] + i);
    }
  }
}

// Writes the candidates of one point within the radius to `accepted`; returns their number.
VOXLOC_HD uint32_t AcceptCandidates(const cpu::AccumulateArguments& in, int point,
                                    uint32_t* accepted) {
  const uint32_t begin = in.list_begin[point];
  const uint32_t count = in.list_count[point];
  const FloatVector x = FloatVector{} + in.local_x[point];
  const FloatVector y = FloatVector{} + in.local_y[point];
  const FloatVector z = FloatVector{} + in.local_z[point];
  uint32_t taken = 0;
  for (uint32_t c = 0; c < count; c += kLanes) {
    const uint32_t at = begin + c;
    const FloatVector dx = x - Load<FloatVector>(in.candidates.index_x + at);
    const FloatVector dy = y - Load<FloatVector>(in.candidates.index_y + at);
    const FloatVector dz = z - Load<FloatVector>(in.candidates.index_z + at);
    const FloatVector squared = dx * dx + dy * dy + dz * dz;
    const IntVector inside = squared < FloatVector{} + in.squared_radius_m2;
    taken += WriteActive(inside, count - c, at, accepted + taken);
  }
  return taken;
}

// Of an array, those at eight places.
template <typename Place>
VOXLOC_HD Lanes PickLanes(const float* from, const Place* places) {
  Lanes picked;
  for (int lane = 0; lane < kLanes; ++lane) picked.v[lane] = from[places[lane]];
  return picked;
}

// Means and information matrices of one candidate of each lane, as columns.
struct CandidateLanes {
  Vector3<Lanes> mean;
  Symmetric3<Lanes> information;
};

VOXLOC_HD CandidateLanes GatherCandidates(const cpu::AccumulateArguments& in,
                                          const uint32_t (&index)[kLanes]) {
  HalfVector mean_rows[kLanes];
  FloatVector information_rows[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const cpu::CandidateCell* cell = in.candidates.cells + index[lane];
    mean_rows[lane] = Load<HalfVector>(cell);
    // The last two of eight lanes are the index position's; nobody looks at them.
    information_rows[lane] = Load<FloatVector>(cell->record);
  }
  FloatVector mean[4];
  FloatVector information[8];
  Transpose4(mean_rows, mean);
  Transpose8(information_rows, information);
  return {{{mean[0]}, {mean[1]}, {mean[2]}},
          {{information[0]},
           {information[1]},
           {information[2]},
           {information[3]},
           {information[4]},
           {information[5]}}};
}

VOXLOC_HD void AddLanes(const ndt::DerivativeSums<Lanes>& lanes,
                        ndt::DerivativeSums<double>& sums) {
  for (int i = 0; i < ndt::kGradientSize; ++i) sums.gradient[i] += SumLanes(lanes.gradient[i]);
  for (int i = 0; i < ndt::kHessianSize; ++i) sums.hessian[i] += SumLanes(lanes.hessian[i]);
  sums.old_pitch += SumLanes(lanes.old_pitch);
}

// Those of the first `used` lanes, which hold these points.
VOXLOC_HD void StorePairSums(const ndt::PairSums<Lanes>& sums, const Lanes& best,
                             const uint32_t (&pairs)[kLanes], const uint16_t* points, int used,
                             cpu::PointPairSums& out) {
  const Lanes entries[cpu::kPairSumEntries] = {sums.s.x,  sums.s.y,  sums.s.z,
                                               sums.m.xx, sums.m.xy, sums.m.xz,
                                               sums.m.yy, sums.m.yz, sums.m.zz};
  for (int lane = 0; lane < used; ++lane) {
    const uint16_t point = points[lane];
    for (int k = 0; k < cpu::kPairSumEntries; ++k) out.entry[k][point] = entries[k].v[lane];
    out.exponentials[point] = sums.exponentials.v[lane];
    out.best[point] = best.v[lane];
    out.pairs[point] = pairs[lane];
  }
}

VOXLOC_HD void AddLaneBoundary(const cpu::AccumulateArguments& in, const Vector3<Lanes>& local,
                               const uint32_t (&index)[kLanes], const IntVector& active,
                               const ndt::PairTerms<Lanes>& pair, ndt::PairSums<Lanes>& sums) {
  const Vector3<Lanes> distance = {local.x - PickLanes(in.candidates.index_x, index),
                                   local.y - PickLanes(in.candidates.index_y, index),
                                   local.z - PickLanes(in.candidates.index_z, index)};
  const IntVector outer =
      ndt::Dot(distance, distance).v >= FloatVector{} + in.boundary.inner_squared_m2;
  const Lanes shell = Keep(active & outer, Broadcast(1.0F));
  ndt::AddBoundary(pair, distance, shell, in.boundary, sums);
}

// The points of a chunk by the number of their pairs, most first: eight that are summed side by
// side then have about as many, and points without a pair are left out.
struct PointOrder {
  uint16_t point[cpu::kPointsPerChunk + kLanes] = {};
  uint32_t first[cpu::kPointsPerChunk];  // of `accepted`, by point
  uint32_t taken[cpu::kPointsPerChunk];
  int matched = 0;
};

constexpr uint32_t kMaxRank = 31;  // points with more pairs share this rank

VOXLOC_HD uint32_t RankOf(uint32_t pairs) { return pairs < kMaxRank ? pairs : kMaxRank; }

// A counting sort: points with as many pairs stay in their order.
VOXLOC_HD void AcceptAndOrder(const cpu::AccumulateArguments& in, PointOrder& order) {
  int place[kMaxRank + 1] = {};
  uint32_t total = 0;
  for (int i = 0; i < in.padded_count; ++i) {
    order.first[i] = total;
    order.taken[i] = AcceptCandidates(in, i, in.accepted + total);
    total += order.taken[i];
    ++place[RankOf(order.taken[i])];
  }
  int next = 0;
  for (uint32_t rank = kMaxRank; rank > 0; --rank) {
    const int points = place[rank];
    place[rank] = next;
    next += points;
  }
  order.matched = next;
  for (int i = 0; i < in.padded_count; ++i) {
    const uint32_t rank = RankOf(order.taken[i]);
    if (rank > 0) order.point[place[rank]++] = static_cast<uint16_t>(i);
  }
  // The last eight may be fewer: the others stand for the first point and have no pair.
  for (int lane = 0; lane < kLanes; ++lane) order.point[next + lane] = order.point[0];
}

// What points without a pair have.
VOXLOC_HD void ClearPoints(const cpu::AccumulateArguments& in) {
  for (int i = 0; i < in.padded_count; i += kLanes) {
    if (in.best != nullptr) Store(FloatVector{}, in.best + i);
    if (in.output != cpu::ChunkOutput::kPairSums) continue;
    for (auto& entry : in.pair_sums->entry) Store(FloatVector{}, entry + i);
    Store(FloatVector{}, in.pair_sums->exponentials + i);
    Store(FloatVector{}, in.pair_sums->best + i);
    Store(IntVector{}, in.pair_sums->pairs + i);
  }
}

template <cpu::ChunkOutput kOutput>
VOXLOC_HD void AccumulateChunk(const cpu::AccumulateArguments& in, cpu::ChunkSums& sums) {
  using cpu::ChunkOutput;
  constexpr bool kWithPairs = kOutput != ChunkOutput::kScore;
  constexpr bool kWithDerivatives =
      kOutput == ChunkOutput::kFirstOrder || kOutput == ChunkOutput::kSecondOrder;
  PointOrder order;
  AcceptAndOrder(in, order);
  ClearPoints(in);
  ndt::DerivativeSums<Lanes> derivatives;
  Lanes exponentials;
  Lanes best_sum;
  for (int i = 0; i < order.matched; i += kLanes) {
    const uint16_t* const points = order.point + i;
    const int used = order.matched - i < kLanes ? order.matched - i : kLanes;
    uint32_t taken[kLanes] = {};
    uint32_t most = 0;
    for (int lane = 0; lane < used; ++lane) {
      taken[lane] = order.taken[points[lane]];
      most = taken[lane] > most ? taken[lane] : most;
      sums.pairs += taken[lane];
    }
    const Vector3<Lanes> local = {PickLanes(in.local_x, points), PickLanes(in.local_y, points),
                                  PickLanes(in.local_z, points)};
    const auto counts = (IntVector)Load<IntVector>(taken);
    ndt::PairSums<Lanes> pairs;
    Lanes best;
    for (uint32_t k = 0; k < most; ++k) {
      const IntVector active = counts > static_cast<int32_t>(k);
      uint32_t index[kLanes];
      // Lanes without a k-th candidate take their first again and are masked.
      for (int lane = 0; lane < kLanes; ++lane) {
        index[lane] = in.accepted[order.first[points[lane]] + (k < taken[lane] ? k : 0)];
      }
      const CandidateLanes candidate = GatherCandidates(in, index);
      const Vector3<Lanes> q = {local.x - candidate.mean.x, local.y - candidate.mean.y,
                                local.z - candidate.mean.z};
      ndt::PairTerms<Lanes> pair = ndt::ComputePairTerms(q, candidate.information, in.d2);
      pair.e = Keep(active, pair.e);
      best = Max(best, pair.e);
      if constexpr (kWithPairs) {
        ndt::AddPair(pair, candidate.information, in.curvature, pairs);
        if constexpr (kOutput == ChunkOutput::kPairSums) {
          AddLaneBoundary(in, local, index, active, pair, pairs);
        }
      } else {
        pairs.exponentials = pairs.exponentials + pair.e;
      }
    }
    exponentials = exponentials + pairs.exponentials;
    best_sum = best_sum + best;
    if (in.best != nullptr) {
      for (int lane = 0; lane < used; ++lane) in.best[points[lane]] = best.v[lane];
    }
    if constexpr (kOutput == ChunkOutput::kPairSums) {
      StorePairSums(pairs, best, taken, points, used, *in.pair_sums);
    }
    if constexpr (kWithDerivatives) {
      ndt::AddPoint<kOutput == ChunkOutput::kSecondOrder>(
          {PickLanes(in.x, points), PickLanes(in.y, points), PickLanes(in.z, points)}, pairs,
          *in.rotation, derivatives);
    }
  }
  sums.matched_points += static_cast<uint64_t>(order.matched);
  sums.exponentials += SumLanes(exponentials);
  sums.best += SumLanes(best_sum);
  if constexpr (kWithDerivatives) AddLanes(derivatives, sums.derivatives);
}

void Accumulate(const cpu::AccumulateArguments& in, cpu::ChunkSums& sums) {
  switch (in.output) {
    case cpu::ChunkOutput::kScore:
      return AccumulateChunk<cpu::ChunkOutput::kScore>(in, sums);
    case cpu::ChunkOutput::kFirstOrder:
      return AccumulateChunk<cpu::ChunkOutput::kFirstOrder>(in, sums);
    case cpu::ChunkOutput::kSecondOrder:
      return AccumulateChunk<cpu::ChunkOutput::kSecondOrder>(in, sums);
    case cpu::ChunkOutput::kPairSums:
      return AccumulateChunk<cpu::ChunkOutput::kPairSums>(in, sums);
  }
}

void AddPoints(const cpu::AddPointsArguments& in, ndt::DerivativeSums<double>& sums) {
  ndt::DerivativeSums<Lanes> derivatives;
  for (int i = 0; i < in.lane_groups * kLanes; i += kLanes) {
    const auto entry = [&in, i](int k) { return Lanes{Load<FloatVector>(in.entry[k] + i)}; };
    ndt::PairSums<Lanes> pairs;
    pairs.s = {entry(3), entry(4), entry(5)};
    pairs.m = {entry(6), entry(7), entry(8), entry(9), entry(10), entry(11)};
    const Vector3<Lanes> point = {entry(0), entry(1), entry(2)};
    ndt::AddPoint<true>(point, pairs, *in.rotation, derivatives);
  }
  AddLanes(derivatives, sums);
}

#define VOXLOC_TEXT_(name) #name
#define VOXLOC_TEXT(name) VOXLOC_TEXT_(name)

}  // namespace

bool BoundRow(const cpu::BoundRowArguments& in);  // bound_kernels.cc

extern const cpu::Kernels kKernels;
const cpu::Kernels kKernels = {VOXLOC_TEXT(VOXLOC_KERNEL_NAMESPACE), Locate, Accumulate, AddPoints,
                               BoundRow};

}  // namespace voxloc::VOXLOC_KERNEL_NAMESPACE
