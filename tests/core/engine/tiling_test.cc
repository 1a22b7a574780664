// SPDX-License-Identifier: Apache-2.0
//
// Alignments do not depend on how a map was cut into tiles, or on where its frame has its zero.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "tests/support/engine_test.h"

namespace voxloc {
namespace {

const std::vector<Eigen::Vector3d>& StartErrors() {
  static const auto& errors =
      *new std::vector<Eigen::Vector3d>{{0.4, -0.3, 0.05}, {-0.3, 0.35, -0.05}, {0.0, 0.0, 0.0}};
  return errors;
}

class TilingTest : public EngineTest {
 protected:
  static std::vector<AlignResult> AlignFromAll(const Profile& profile,
                                               const std::vector<PointCloud>& tiles,
                                               const Eigen::Vector3d& origin) {
    const auto map = LoadMap(engine(), tiles, RequiredStatistics({profile}));
    std::vector<AlignJob> jobs;
    for (const Eigen::Vector3d& error : StartErrors()) {
      AlignJob job = SceneJob(profile);
      job.map = map;
      job.map_T_base_guess = Displaced(ScenePose(), error + origin, 0.035 * error.x() / 0.4);
      jobs.push_back(job);
    }
    return engine().Align(jobs);
  }

  static void ExpectSamePoses(const std::vector<AlignResult>& results,
                              const std::vector<AlignResult>& expected,
                              const Eigen::Vector3d& shift, double tolerance_m) {
    double largest = 0.0;
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_TRUE(results[i].status.ok()) << results[i].status;
      Pose shifted = expected[i].map_T_base;
      shifted.translation += shift;
      largest = std::max(largest, TranslationDistance(results[i].map_T_base, shifted));
      EXPECT_LE(RotationDistance(results[i].map_T_base, shifted), tolerance_m / 10.0);
      EXPECT_EQ(results[i].termination, expected[i].termination);
      EXPECT_LE(TranslationDistance(expected[i].map_T_base, ScenePose()), 0.05);
    }
    EXPECT_LE(largest, tolerance_m);
    std::cout << "largest deviation " << largest << " m" << std::endl;
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(TilingTest);

TEST_P(TilingTest, PreciseAlignmentsDoNotDependOnTheTiling) {
  const PointCloud map = SceneMap();
  const auto whole = AlignFromAll(PreciseProfile(), {map}, Eigen::Vector3d::Zero());
  for (const int count : {10, 400}) {
    const std::vector<PointCloud> tiles =
        count == 10 ? CutIntoTiles(map, 5, 2, {-31.0, -31.0}, {12.4, 31.0})
                    : CutIntoTiles(map, 20, 20, {-31.0, -31.0}, {3.1, 3.1});
    ASSERT_EQ(tiles.size(), static_cast<size_t>(count));
    ExpectSamePoses(AlignFromAll(PreciseProfile(), tiles, Eigen::Vector3d::Zero()), whole,
                    Eigen::Vector3d::Zero(), 1e-6);
  }
}

TEST_P(TilingTest, AutowareAlignmentsDoNotDependOnTilesCutAlongCells) {
  const PointCloud map = SceneMap();
  const auto whole = AlignFromAll(AutowareProfile(), {map}, Eigen::Vector3d::Zero());
  for (const int count : {10, 256}) {
    const std::vector<PointCloud> tiles =
        count == 10 ? CutIntoTiles(map, 5, 2, {-32.0, -32.0}, {14.0, 32.0})
                    : CutIntoTiles(map, 16, 16, {-32.0, -32.0}, {4.0, 4.0});
    ASSERT_EQ(tiles.size(), static_cast<size_t>(count));
    ExpectSamePoses(AlignFromAll(AutowareProfile(), tiles, Eigen::Vector3d::Zero()), whole,
                    Eigen::Vector3d::Zero(), 1e-6);
  }
  const std::vector<PointCloud> small = CutIntoTiles(map, 32, 32, {-32.0, -32.0}, {2.0, 2.0});
  ExpectSamePoses(AlignFromAll(AutowareProfile(), small, Eigen::Vector3d::Zero()), whole,
                  Eigen::Vector3d::Zero(), 1e-6);
}

TEST_P(TilingTest, AFarMapFrameMovesTheAnswerAndNothingElse) {
  const Eigen::Vector3d shift(4e5, 4e6, 100.0);
  for (const Profile& profile : {PreciseProfile(), AutowareProfile()}) {
    SCOPED_TRACE(profile.name);
    const auto near = AlignFromAll(profile, {SceneMap()}, Eigen::Vector3d::Zero());
    const auto far = AlignFromAll(profile, {SceneMap({}, shift)}, shift);
    ExpectSamePoses(far, near, shift, 1e-4);
  }
}

}  // namespace
}  // namespace voxloc
