// SPDX-License-Identifier: Apache-2.0
//
// Whether an engine agrees with a reference engine: a small synthetic scene is built, aligned and
// scored on both. Takes milliseconds; a server runs it before it uses a device.
//
// Thread-safe: no shared state. What is built is freed before it returns.

#ifndef VOXLOC_CORE_ENGINE_SELF_TEST_SELF_TEST_H_
#define VOXLOC_CORE_ENGINE_SELF_TEST_SELF_TEST_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/engine.h"
#include "core/geometry/pose.h"

namespace voxloc {

// The scene of the self-test: a yard with uneven ground, walls, boxes and poles, far from the map's
// zero, and a scan taken in it. Made of whole numbers and plain arithmetic: the same points on
// every machine. Thread-safe: no shared state.
struct SelfTestScene {
  PointCloud cloud_map;
  std::shared_ptr<const PointCloud> scan;  // base frame
  Pose map_T_base;                         // where it was taken
  std::vector<Pose> guesses;               // where searches begin
  std::vector<Pose> poses;                 // that are scored
};

[[nodiscard]] SelfTestScene MakeSelfTestScene();

// Scores at the same pose: score, transform probability, nearest voxel likelihood.
inline constexpr double kScoreTolerance = 1e-5;  // relative
// Derivatives at the same pose, relative to what they are sums of: an entry (i, j) of the Hessian
// to sqrt(|H_ii H_jj|), an entry i of the gradient to sqrt(|score H_ii|).
inline constexpr double kDerivativeTolerance = 1e-4;
// Where a search ends. Iterations and the reason for the end must be the same.
inline constexpr double kPositionToleranceM = 1e-3;
inline constexpr double kRotationToleranceDeg = 0.005;
// Scores and derivatives there, at poses that may differ by as much; relative as above.
inline constexpr double kEndpointTolerance = 1e-2;

// Internal: the results of `engine` differ from those of `reference`, or are missing. The message
// has the quantity, both values and the tolerance.
[[nodiscard]] absl::Status CheckAgreement(Engine& reference, Engine& engine);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_SELF_TEST_SELF_TEST_H_
