// SPDX-License-Identifier: Apache-2.0
//
// The synthetic scene in an engine: what most tests of engines begin with.

#ifndef VOXLOC_TESTS_SUPPORT_ENGINE_SCENE_H_
#define VOXLOC_TESTS_SUPPORT_ENGINE_SCENE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/cpu/cpu_engine.h"
#include "core/engine/engine.h"
#include "tests/support/synthetic_scene.h"

namespace voxloc {

// Of both built-in profiles.
std::vector<CellStatistics> AllStatistics();

// The stages of both built-in profiles, those of `precise` with either curvature, all of them with
// all points.
std::vector<Stage> StagesOfBothProfiles();

// A map of these clouds; null, and a failed test, where it cannot be made.
std::shared_ptr<const ResidentMap> LoadMap(Engine& engine, const std::vector<PointCloud>& tiles,
                                           const std::vector<CellStatistics>& statistics);

// All cells of the map that the stage uses.
std::vector<MapCell> AllCells(const ResidentMap& map, const CellStatistics& statistics);

// A pose within the scene, level to a few degrees, a metre and a half above the ground.
Pose ScenePose();

// The scene as a map of the CPU engine, once for the whole program, and that engine.
struct SceneInEngine {
  std::unique_ptr<Engine> engine;
  std::shared_ptr<const ResidentMap> map;
};
const SceneInEngine& SharedScene();

// Aligns a scan of 1,500 points taken at ScenePose() in a map of the scene, beginning there.
AlignJob SceneJob(const Profile& profile, std::shared_ptr<const ResidentMap> map);
// In SharedScene()'s map.
AlignJob SceneJob(const Profile& profile);

// The job eight times, from guesses half a metre away in eight directions and two degrees of yaw to
// either side, with traces.
std::vector<AlignJob> PerturbedSceneJobs(const AlignJob& scene_job);

// The scan of the scene's jobs at poses around the true one, in a map of the scene.
ScoreRequest SceneScoreRequest(const Stage& stage, size_t poses,
                               std::shared_ptr<const ResidentMap> map);

AlignResult AlignOne(Engine& engine, const AlignJob& job);

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_ENGINE_SCENE_H_
