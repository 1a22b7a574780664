// SPDX-License-Identifier: Apache-2.0
//
// Alignments whose guess has a covariance: in a corridor, which says nothing about the way along
// it, on open ground, and in a street, which says everything.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/search_rules.h"
#include "core/geometry/euler.h"
#include "tests/support/diagonal_covariance.h"
#include "tests/support/engine_test.h"
#include "tests/support/random_numbers.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

// Points on the floor of the stretch from -reach_m to reach_m, and on walls along x where
// `half_width_m` is not 0.
PointCloud PlanePoints(double reach_m, double half_width_m, size_t points, uint64_t seed) {
  RandomNumbers random(seed);
  const double across_m = half_width_m > 0.0 ? half_width_m : reach_m;
  PointCloud cloud;
  for (size_t i = 0; i < points; ++i) {
    Eigen::Vector3d p(random.Uniform(-reach_m, reach_m), random.Uniform(-across_m, across_m), 0.0);
    if (half_width_m > 0.0 && i % 3 != 0) {
      p.y() = i % 3 == 1 ? half_width_m : -half_width_m;
      p.z() = random.Uniform(0.0, 4.0);
    }
    p += 0.01 * random.NormalVector();
    cloud.PushBack(static_cast<float>(p.x()), static_cast<float>(p.y()), static_cast<float>(p.z()));
  }
  return cloud;
}

class GuessPriorTest : public EngineTest {
 protected:
  // A scan from `truth`, in a corridor or, without a width, on open ground, all turned by a
  // heading.
  static AlignJob PlaneJob(double half_width_m, double heading_rad, Pose& truth) {
    Pose map_T_world;
    map_T_world.rotation = RotationFromRosAngles(0.0, 0.0, heading_rad);
    Pose world_T_base;
    world_T_base.translation.z() = 1.5;
    world_T_base.rotation = RotationFromRosAngles(0.01, -0.02, 0.1);
    truth = map_T_world * world_T_base;
    AlignJob job;
    job.map =
        LoadMap(engine(), {Transform(map_T_world, PlanePoints(45.0, half_width_m, 200'000, 1))},
                AllStatistics());
    job.scan = std::make_shared<const PointCloud>(
        Transform(world_T_base.Inverse(), PlanePoints(20.0, half_width_m, 1500, 2)));
    job.profile = PreciseProfile();
    return job;
  }

  static AlignResult AlignFrom(AlignJob job, const Pose& guess,
                               const std::optional<Matrix6>& covariance) {
    job.map_T_base_guess = guess;
    job.guess_covariance = job.prior_covariance = covariance;
    const AlignResult result = AlignOne(engine(), job);
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.termination, Termination::kConverged);
    return result;
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(GuessPriorTest);

TEST_P(GuessPriorTest, AlongACorridorTheGuessStaysAndAcrossItTheScanDecides) {
  for (const double heading_rad : {0.0, 0.6, 2.5}) {
    SCOPED_TRACE(heading_rad);
    Pose truth;
    AlignJob job = PlaneJob(3.3, heading_rad, truth);
    const Eigen::Vector3d along(std::cos(heading_rad), std::sin(heading_rad), 0.0);
    const Eigen::Vector3d across = Eigen::Vector3d::UnitZ().cross(along);
    const Pose guess = Displaced(truth, 0.7 * along + 0.15 * across + Eigen::Vector3d(0, 0, 0.1),
                                 kRadiansPerDegree);
    job.map_T_base_guess = guess;
    job.guess_covariance = job.prior_covariance = DiagonalCovariance(0.1, 0.01);
    const AlignResult result = AlignOne(engine(), job);
    ASSERT_TRUE(result.status.ok()) << result.status;
    const Eigen::Vector3d error = result.map_T_base.translation - truth.translation;
    // The noise of the points moves it by as much as the guess is uncertain, in steps that may not
    // end before the last one that is allowed.
    EXPECT_NEAR(error.dot(along), 0.7, 0.2);
    EXPECT_LE(std::abs(error.dot(across)), 0.01);
    EXPECT_LE(std::abs(error.z()), 0.02);
    EXPECT_LE(RotationDistance(result.map_T_base, truth), 0.1 * kRadiansPerDegree);
  }
}

TEST_P(GuessPriorTest, OnOpenGroundTheGuessStaysAndTheScanDecidesHeightAndTilt) {
  Pose truth;
  const AlignJob job = PlaneJob(0.0, 0.3, truth);
  const Pose guess = Displaced(truth, {0.3, -0.2, 0.1}, kRadiansPerDegree);
  const AlignResult result = AlignFrom(job, guess, DiagonalCovariance(0.1, 0.01));
  const Eigen::Vector3d moved = result.map_T_base.translation - guess.translation;
  EXPECT_LE(moved.head<2>().norm(), 0.03);
  EXPECT_NEAR(result.map_T_base.translation.z(), 1.5, 0.01);
}

TEST_P(GuessPriorTest, AStreetIsFoundAsExactlyAsWithoutIt) {
  for (const AlignJob& job : PerturbedSceneJobs(SceneJob(PreciseProfile()))) {
    const AlignResult free = AlignFrom(job, job.map_T_base_guess, std::nullopt);
    // What the guesses are off by, and a guess that claims to be a hundred times better.
    for (const double share : {1.0, 0.01}) {
      const AlignResult held =
          AlignFrom(job, job.map_T_base_guess, DiagonalCovariance(0.5 * share, 0.05 * share));
      EXPECT_LE(TranslationDistance(held.map_T_base, free.map_T_base), 0.003) << share;
      EXPECT_LE(RotationDistance(held.map_T_base, free.map_T_base), 0.0005) << share;
    }
  }
}

// Where the reference's rule holds, and where a client switches the weight off.
TEST_P(GuessPriorTest, AProfileWithoutItGivesTheSameBits) {
  Profile precise = PreciseProfile();
  precise.independent_points = 0.0;
  for (const Profile& profile : {AutowareProfile(), precise}) {
    AlignJob job = SceneJob(profile);
    job.map_T_base_guess = Displaced(ScenePose(), {0.2, -0.1, 0.0}, 0.01);
    const std::string bits = Bits(AlignOne(engine(), job));
    job.prior_covariance = DiagonalCovariance(0.05, 0.005);
    EXPECT_EQ(Bits(AlignOne(engine(), job)), bits);
  }
}

TEST_P(GuessPriorTest, ScansThatBringNoneHaveTheSameBitsBesideOnesThatDo) {
  AlignJob job = SceneJob(PreciseProfile());
  job.map_T_base_guess = Displaced(ScenePose(), {0.2, -0.1, 0.0}, 0.01);
  const std::string bits = Bits(AlignOne(engine(), job));
  AlignJob held = job;
  held.prior_covariance = DiagonalCovariance(0.05, 0.005);
  const std::string held_bits = Bits(AlignOne(engine(), held));
  for (const AlignResult& result : engine().Align(std::vector<AlignJob>{job, held, held, job})) {
    EXPECT_TRUE(Bits(result) == bits || Bits(result) == held_bits);
  }
  const std::vector<AlignResult> mixed = engine().Align(std::vector<AlignJob>{held, job});
  EXPECT_EQ(Bits(mixed[0]), held_bits);
  EXPECT_EQ(Bits(mixed[1]), bits);
}

// The prior is in neither: they are those of a search that starts at the answer and has none.
TEST_P(GuessPriorTest, DerivativesOfTheResultAreThoseOfTheScan) {
  Pose truth;
  AlignJob job = PlaneJob(3.3, 0.6, truth);
  const AlignResult held =
      AlignFrom(job, Displaced(truth, {0.3, 0.1, 0.0}, 0.01), DiagonalCovariance(0.05, 0.005));
  ASSERT_EQ(held.stage, static_cast<int>(job.profile.stages.size()) - 1);
  job.profile.stages = {job.profile.stages.back()};
  job.profile.stages[0].max_iterations = 1;
  job.profile.score_stage = 0;
  job.profile.judged = false;
  job.map_T_base_guess = held.map_T_base;
  job.with_trace = true;
  const AlignResult free = AlignOne(engine(), job);
  ASSERT_EQ(free.trace.size(), 1u);
  EXPECT_LE((held.hessian - free.trace[0].hessian).norm(), 1e-5 * held.hessian.norm());
  EXPECT_LE((held.gradient - free.trace[0].gradient).norm(), 1e-5 * held.hessian.norm());
}

// The covariance is about fixed map axes, and the search's coordinates are angles: a small change
// of these must have the same probability in both.
TEST(MakeGuessPriorTest, ItIsTheCovarianceInTheSearchesCoordinates) {
  RandomNumbers random(41);
  AlignJob job;
  job.profile = PreciseProfile();
  job.scan = std::make_shared<const PointCloud>(PlanePoints(10.0, 0.0, 300, 3));
  for (int trial = 0; trial < 50; ++trial) {
    job.map_T_base_guess.translation = 100.0 * random.NormalVector();
    job.map_T_base_guess.rotation = RotationFromRosAngles(
        random.Uniform(-0.5, 0.5), random.Uniform(-1.0, 1.0), random.Uniform(-3.1, 3.1));
    Matrix6 root;
    for (double& value : root.reshaped()) value = random.Normal();
    job.prior_covariance = root * root.transpose() + 0.1 * Matrix6::Identity();
    const ndt::GuessPrior prior = MakeGuessPrior(job, 7.0);
    ASSERT_TRUE(prior.active);
    EXPECT_EQ(prior.rotation_scale_m, 7.0);

    Vector6 fixed_axes;
    for (double& value : fixed_axes) value = 1e-6 * random.Normal();
    const Pose moved = ApplyFixedAxesDifference(job.map_T_base_guess, fixed_axes);
    const Vector6 chart = ChartFromPose(moved) - ChartFromPose(job.map_T_base_guess);
    const double expected = fixed_axes.dot(job.prior_covariance->inverse() * fixed_axes);
    const double in_chart = chart.dot(ToEigen(prior.covariance).inverse() * chart);
    EXPECT_NEAR(in_chart, expected, 1e-4 * expected);
    EXPECT_EQ(prior.independent_share, job.profile.independent_points / 300.0);
  }
}

}  // namespace
}  // namespace voxloc
