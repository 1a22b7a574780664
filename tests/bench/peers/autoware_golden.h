// SPDX-License-Identifier: Apache-2.0
//
// What Autoware's NDT makes of one map and one scan, as golden sets state it. A function without
// state; it computes on one thread, so that sums have one order.

#ifndef VOXLOC_TESTS_BENCH_PEERS_AUTOWARE_GOLDEN_H_
#define VOXLOC_TESTS_BENCH_PEERS_AUTOWARE_GOLDEN_H_

#include <nlohmann/json.hpp>

#include "core/cloud/point_cloud.h"

namespace voxloc::bench {

// Fills in a set. It needs `params`, `truth`, `tiles` (points of `target`, from `begin` up to
// `end`), `derivatives` with `label` and `pose`, and `alignments` with `label` and `guess`;
// `regularization_pose` where there is one. Matrices are row-major. Of cells, at most about 250 are
// stated. Throws what the JSON library throws where something is missing.
[[nodiscard]] nlohmann::json ComputeGoldenSet(nlohmann::json set, const PointCloud& target,
                                              const PointCloud& source);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_PEERS_AUTOWARE_GOLDEN_H_
