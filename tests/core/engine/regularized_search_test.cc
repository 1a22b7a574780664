// SPDX-License-Identifier: Apache-2.0
//
// Alignments with a reference position that pulls along the heading.

#include <gtest/gtest.h>

#include <cmath>

#include "core/geometry/euler.h"
#include "tests/support/engine_test.h"

namespace voxloc {
namespace {

constexpr double kScale = 5.0;

struct Pull {
  double forward_m;
  double left_m;
};

class RegularizedSearchTest : public EngineTest {
 protected:
  static AlignJob PulledJob(const Pull& pull) {
    AlignJob job = SceneJob(PreciseProfile());
    job.profile.regularization_scale = kScale;
    const double yaw = ChartFromPose(ScenePose())[5];
    const Eigen::Vector3d forward(std::cos(yaw), std::sin(yaw), 0.0);
    const Eigen::Vector3d left(-std::sin(yaw), std::cos(yaw), 0.0);
    job.regularization_position_map =
        ScenePose().translation + pull.forward_m * forward + pull.left_m * left;
    return job;
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(RegularizedSearchTest);

TEST_P(RegularizedSearchTest, AReferencePullsAlongTheHeadingOnly) {
  const AlignResult free = AlignOne(engine(), SceneJob(PreciseProfile()));
  ASSERT_TRUE(free.status.ok());
  const double yaw = ChartFromPose(ScenePose())[5];
  const Eigen::Vector2d forward(std::cos(yaw), std::sin(yaw));
  const Eigen::Vector2d left(-std::sin(yaw), std::cos(yaw));
  for (const double sign : {-1.0, 1.0}) {
    const AlignResult ahead = AlignOne(engine(), PulledJob({0.3 * sign, 0.0}));
    ASSERT_TRUE(ahead.status.ok()) << ahead.status;
    const Eigen::Vector2d moved =
        (ahead.map_T_base.translation - free.map_T_base.translation).head<2>();
    EXPECT_GT(sign * moved.dot(forward), 0.002);
    EXPECT_LT(std::abs(moved.dot(left)), 0.3 * std::abs(moved.dot(forward)));

    const AlignResult beside = AlignOne(engine(), PulledJob({0.0, 0.3 * sign}));
    ASSERT_TRUE(beside.status.ok()) << beside.status;
    EXPECT_LT((beside.map_T_base.translation - free.map_T_base.translation).norm(), 0.002);
  }
}

TEST_P(RegularizedSearchTest, TheTransformProbabilityHoldsItsScoreOnlyWhereTheProfileSaysSo) {
  const Pull pull = {2.0, 0.5};
  for (const bool included : {false, true}) {
    AlignJob job = PulledJob(pull);
    job.profile = AutowareProfile();
    job.profile.regularization_scale = kScale;
    job.profile.score_includes_regularization = included;
    AlignJob free = job;
    free.regularization_position_map.reset();
    const AlignResult with = AlignOne(engine(), job);
    const AlignResult without = AlignOne(engine(), free);
    ASSERT_TRUE(with.status.ok() && without.status.ok());
    // At the guess, which is the true pose: the weight times the pairs times the squared distance.
    const double added = included ? -kScale * static_cast<double>(without.before.pairs) *
                                        pull.forward_m * pull.forward_m
                                  : 0.0;
    EXPECT_NEAR(with.before.score, without.before.score + added, 1e-6 * std::abs(added) + 1e-9);
    EXPECT_NEAR(with.before.transform_probability,
                with.before.score / static_cast<double>(with.before.points), 1e-9);
    EXPECT_EQ(with.before.nearest_voxel_likelihood, without.before.nearest_voxel_likelihood);
    EXPECT_EQ(with.before.pairs, without.before.pairs);
  }
}

TEST_P(RegularizedSearchTest, AScaleOfZeroIsNoReference) {
  AlignJob job = PulledJob({1.0, 1.0});
  job.profile.regularization_scale = 0.0;
  const AlignResult result = AlignOne(engine(), job);
  const AlignResult free = AlignOne(engine(), SceneJob(PreciseProfile()));
  EXPECT_EQ(result.map_T_base.translation, free.map_T_base.translation);
}

}  // namespace
}  // namespace voxloc
