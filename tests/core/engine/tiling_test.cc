// SPDX-License-Identifier: Apache-2.0
//
// Alignments do not depend on how a map was cut into tiles, or on where its frame has its zero.

#include <gtest/gtest.h>

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
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_TRUE(results[i].status.ok()) << results[i].status;
      Pose shifted = expected[i].map_T_base;
      shifted.translation += shift;
      EXPECT_LE(TranslationDistance(results[i].map_T_base, shifted), tolerance_m);
      EXPECT_LE(RotationDistance(results[i].map_T_base, shifted), tolerance_m / 10.0);
      EXPECT_EQ(results[i].termination, expected[i].termination);
      EXPECT_LE(TranslationDistance(expected[i].map_T_base, ScenePose()), 0.05);
    }
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(TilingTest);

// Those of autoware do on tiles cut across cells.
TEST_P(TilingTest, AlignmentsDoNotDependOnTheTiling) {
  const PointCloud map = SceneMap();
  const Eigen::Vector3d origin = Eigen::Vector3d::Zero();
  const struct {
    Profile profile;
    int columns, rows;
    Eigen::Vector2d corner, size;
  } cuts[] = {{PreciseProfile(), 5, 2, {-31.0, -31.0}, {12.4, 31.0}},
              {PreciseProfile(), 20, 20, {-31.0, -31.0}, {3.1, 3.1}},
              {AutowareProfile(), 5, 2, {-32.0, -32.0}, {14.0, 32.0}},
              {AutowareProfile(), 16, 16, {-32.0, -32.0}, {4.0, 4.0}},
              {AutowareProfile(), 32, 32, {-32.0, -32.0}, {2.0, 2.0}}};
  for (const auto& cut : cuts) {
    SCOPED_TRACE(cut.profile.name + ", " + std::to_string(cut.columns) + " columns");
    const auto tiles = CutIntoTiles(map, cut.columns, cut.rows, cut.corner, cut.size);
    if (cut.columns < 32) {
      ASSERT_EQ(tiles.size(), static_cast<size_t>(cut.columns * cut.rows));
    }
    ExpectSamePoses(AlignFromAll(cut.profile, tiles, origin),
                    AlignFromAll(cut.profile, {map}, origin), origin, 1e-6);
  }
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
