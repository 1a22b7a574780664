// SPDX-License-Identifier: Apache-2.0
//
// Everything of an engine's results as bytes, to compare bit by bit.

#ifndef VOXLOC_TESTS_SUPPORT_RESULT_BITS_H_
#define VOXLOC_TESTS_SUPPORT_RESULT_BITS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "core/engine/align.h"
#include "core/engine/bound.h"
#include "core/map/cells.h"

namespace voxloc {

// Of the passes alone.
inline std::string PassBits(const AlignResult& result) {
  std::string bits;
  const auto append = [&bits](const void* data, size_t size) {
    if (size > 0) bits.append(static_cast<const char*>(data), size);
  };
  for (const PassResult& pass : result.passes) {
    for (const GroupSums& group : pass.groups) {
      append(&group.score, sizeof(group.score));
      append(group.derivatives.gradient, sizeof(group.derivatives.gradient));
      append(group.derivatives.hessian, sizeof(group.derivatives.hessian));
    }
    append(pass.point_scores.data(), pass.point_scores.size() * sizeof(float));
  }
  return bits;
}

inline std::string Bits(const AlignResult& result) {
  std::string bits;
  const auto append = [&bits](const void* data, size_t size) {
    if (size > 0) bits.append(static_cast<const char*>(data), size);
  };
  const auto append_pose = [&](const Pose& pose) {
    append(pose.translation.data(), 3 * sizeof(double));
    append(pose.rotation.coeffs().data(), 4 * sizeof(double));
  };
  const auto append_score = [&](const PoseScore& score) {
    const double values[] = {score.score, score.transform_probability,
                             score.nearest_voxel_likelihood};
    append(values, sizeof(values));
    const size_t counts[] = {score.points, score.matched_points, score.pairs};
    append(counts, sizeof(counts));
  };
  append_pose(result.map_T_base);
  append_score(result.before);
  append_score(result.after);
  append(result.gradient.data(), 6 * sizeof(double));
  append(result.hessian.data(), 36 * sizeof(double));
  const int numbers[] = {static_cast<int>(result.termination), result.iterations,
                         result.evaluations, result.oscillations};
  append(numbers, sizeof(numbers));
  for (const IterationTrace& trace : result.trace) {
    append_pose(trace.map_T_base_after);
    append(trace.newton_step.data(), 6 * sizeof(double));
    append(trace.hessian.data(), 36 * sizeof(double));
  }
  append(result.point_scores.data(), result.point_scores.size() * sizeof(float));
  return bits + PassBits(result);
}

template <typename T>
void AppendBits(const T& value, std::string& bits) {
  bits.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

inline std::string Bits(const std::vector<MapCell>& cells) {
  std::string bits;
  for (const MapCell& cell : cells) {
    AppendBits(cell.mean, bits);
    AppendBits(cell.information, bits);
  }
  return bits;
}

inline std::string Bits(const ScoreResult& result) {
  std::string bits;
  for (const PoseScore& score : result.poses) {
    AppendBits(score.score, bits);
    AppendBits(score.nearest_voxel_likelihood, bits);
    AppendBits(score.pairs, bits);
  }
  for (const float score : result.point_scores) AppendBits(score, bits);
  return bits;
}

inline std::string Bits(const std::vector<BoundHit>& hits) {
  std::string bits;
  for (const BoundHit& hit : hits) {
    AppendBits(hit.node, bits);
    AppendBits(hit.hits, bits);
    AppendBits(hit.z, bits);
  }
  return bits;
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_RESULT_BITS_H_
