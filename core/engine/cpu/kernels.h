// SPDX-License-Identifier: Apache-2.0
//
// The hot loops of the CPU engine, behind plain structs: compiled once for each instruction set,
// one picked at run time.
//
// They work on a chunk of points padded to a multiple of eight. Between the two, the engine finds
// each point's candidate cells (neighborhood_cache.h).

#ifndef VOXLOC_CORE_ENGINE_CPU_KERNELS_H_
#define VOXLOC_CORE_ENGINE_CPU_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ndt/chart.h"
#include "core/ndt/point_terms.h"

namespace voxloc::cpu {

constexpr int kPointsPerChunk = 128;

// A Gaussian of the map: its information matrix, xx xy xz yy yz zz, 1/m^2; and where the neighbour
// search finds it and its mean, relative to the low corner of the lattice cell of the former, m.
struct alignas(16) GaussianRecord {
  float information[6];
  float index[3];
  float mean[3];
};

// Candidate cells of all lattice cells that a chunk's points have met; list i of a point is
// [begin, begin + count) in these arrays. Positions are relative to the low corner of the lattice
// cell that the point lies in, metres.
struct CandidateCell {
  float mean[3];
  const GaussianRecord* record;
};
struct CandidateArrays {
  const float* index_x;
  const float* index_y;
  const float* index_z;
  const CandidateCell* cells;
};

struct LocateArguments {
  // Points of the scan, base frame, m.
  const float* x;
  const float* y;
  const float* z;
  int padded_count;
  double rotation[3][3];
  double translation[3];  // map frame, m
  double cell_size_m;
  bool float_transform;  // Stage::float_transform
};
struct LocatedPoints {
  // Lattice cell of each transformed point, clamped to +-2^28, and the place in it, m.
  int32_t* cell_x;
  int32_t* cell_y;
  int32_t* cell_z;
  float* local_x;
  float* local_y;
  float* local_z;
};

// The sums over the pairs of each point of a chunk (ndt::PairSums).
constexpr int kPairSumEntries = 9;
struct PointPairSums {
  float entry[kPairSumEntries][kPointsPerChunk];  // s x y z, then m xx xy xz yy yz zz
  float exponentials[kPointsPerChunk];
  float best[kPointsPerChunk];  // e of the best pair
  uint32_t pairs[kPointsPerChunk];
};

// What is computed of a chunk.
enum class ChunkOutput {
  kScore,
  kFirstOrder,   // and the derivatives, see ndt::AddPoint
  kSecondOrder,  // likewise
  kPairSums,     // and each point's sums over its pairs, exact
};

struct AccumulateArguments {
  const float* x;  // base frame, m
  const float* y;
  const float* z;
  const float* local_x;  // of LocatedPoints
  const float* local_y;
  const float* local_z;
  const uint32_t* list_begin;
  const uint32_t* list_count;
  int padded_count;
  CandidateArrays candidates;
  // Candidates whose index position is at least this far away, squared, do not count; infinite
  // where the search takes all.
  float squared_radius_m2;
  float d2;
  float curvature;  // see ndt::AddPair
  ChunkOutput output;
  const ndt::Rotation<float>* rotation;  // of the derivatives, where they are wanted
  PointPairSums* pair_sums;              // out, where they are wanted
  ndt::ReachBoundary<float> boundary;    // of the curvature in pair_sums
  uint32_t* accepted;                    // scratch for all lists together and eight entries more
  float* best;                           // out, if not null: e of each point's best pair
};

// Sums over a chunk, without the constants: the score is -d1 times `exponentials`, the derivatives
// are d1 d2 times theirs.
struct ChunkSums {
  double exponentials = 0.0;
  double best = 0.0;
  ndt::DerivativeSums<double> derivatives;  // in the map's axes
  uint64_t matched_points = 0;
  uint64_t pairs = 0;
};

// The voxel of a point relative to its node: `offset` words further in the plane and `up` z levels
// higher. If a column is one word, `up` is between -63 and 63.
struct BoundEntry {
  int64_t offset;
  int32_t up;
};

// Bounding counts the hits of neighbouring nodes, all heights of a node at once.
struct BoundRowArguments {
  const uint64_t* first;  // the first node's place in the first plane of the level
  size_t nodes;           // next to each other; three words beyond the last may be read
  // 0, or the words from a node to the one below it: the nodes are then a square of two by two.
  size_t next_row;
  size_t plane;   // words from one plane to the next
  int32_t words;  // in a column
  const BoundEntry* entries;
  size_t entry_count;  // at most 255
  const uint64_t* allowed_z;
  uint32_t min_hits;
  // Out, one a node: hits << 16 | z level; 0 where there are fewer than min_hits.
  uint32_t* found;
};

// Points with their sums over pairs, x y z and kPairSumEntries more, each an array of eight times
// `lane_groups`.
struct AddPointsArguments {
  const float* entry[3 + kPairSumEntries];
  int lane_groups;
  const ndt::Rotation<float>* rotation;
};

struct Kernels {
  const char* instruction_set;
  void (*locate)(const LocateArguments&, const LocatedPoints&);
  void (*accumulate)(const AccumulateArguments&, ChunkSums&);
  void (*add_points)(const AddPointsArguments&, ndt::DerivativeSums<double>&);
  bool (*bound_row)(const BoundRowArguments&);  // whether any node has enough hits
};

// All that this processor can run, the widest last.
std::vector<const Kernels*> AvailableKernels();

// The widest. Always the same one within a process.
const Kernels& SelectKernels();

}  // namespace voxloc::cpu

#endif  // VOXLOC_CORE_ENGINE_CPU_KERNELS_H_
