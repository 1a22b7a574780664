// SPDX-License-Identifier: Apache-2.0
//
// The scene of the self-test: a yard with uneven ground, walls, boxes and poles, far from the map's
// zero, and a scan taken in it. Made of whole numbers and plain arithmetic: the same points on
// every machine. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ENGINE_SELF_TEST_SELF_TEST_SCENE_H_
#define VOXLOC_CORE_ENGINE_SELF_TEST_SELF_TEST_SCENE_H_

#include <memory>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc {

struct SelfTestScene {
  PointCloud cloud_map;
  std::shared_ptr<const PointCloud> scan;  // base frame
  Pose map_T_base;                         // where it was taken
  std::vector<Pose> guesses;               // where searches begin
  std::vector<Pose> poses;                 // that are scored
};

[[nodiscard]] SelfTestScene MakeSelfTestScene();

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_SELF_TEST_SELF_TEST_SCENE_H_
