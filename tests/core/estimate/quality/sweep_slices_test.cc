// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "core/cloud/motion.h"
#include "core/estimate/quality/sweep_check.h"
#include "core/ndt/point_terms.h"
#include "tests/support/engine_test.h"
#include "tests/support/reference_ndt.h"

namespace voxloc {
namespace {

constexpr double kSweepS = 0.1;

// Of a sensor that spins once: by the direction of each point, zero in the middle of the sweep. In
// as many steps as there are slices where `steps` is set.
std::vector<float> TimesOfTurn(const PointCloud& scan, bool steps = false) {
  std::vector<size_t> order(scan.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto direction = [&](size_t i) { return std::atan2(scan.y[i], scan.x[i]); };
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return direction(a) < direction(b); });
  std::vector<float> time_s(scan.size());
  for (size_t rank = 0; rank < order.size(); ++rank) {
    double turn = static_cast<double>(rank) / static_cast<double>(order.size());
    if (steps) turn = std::floor(turn * kSweepSlices) / kSweepSlices;
    time_s[order[rank]] = static_cast<float>(kSweepS * (turn - 0.5));
  }
  return time_s;
}

TEST(SweepSlicesTest, SlicesHaveEqualNumbersOfPointsInTheOrderOfTime) {
  std::vector<float> time_s(480);
  for (size_t i = 0; i < time_s.size(); ++i) time_s[i] = 0.001F * static_cast<float>(i * 7 % 480);
  const auto slices = SliceSweep(time_s);
  ASSERT_TRUE(slices.has_value());
  ASSERT_EQ(slices->groups->ends.size(), kSweepSlices);
  ASSERT_EQ(slices->time_s.size(), kSweepSlices);
  for (size_t slice = 0; slice < kSweepSlices; ++slice) {
    const size_t begin = 30 * slice;
    EXPECT_EQ(slices->groups->ends[slice], begin + 30);
    for (size_t i = begin; i < begin + 30; ++i) {
      EXPECT_FLOAT_EQ(time_s[slices->groups->places[i]], 0.001F * static_cast<float>(i));
    }
    // Times from the mean of all, 0.2395 s.
    EXPECT_NEAR(slices->time_s[slice], 0.001 * (static_cast<double>(begin) + 14.5) - 0.2395, 1e-6);
  }
  EXPECT_NEAR(MotionOver(*slices, {{3.0, 4.0, 0.0}, {0.0, 0.0, 2.0}}), 5.0 * 0.45, 1e-5);
}

TEST(SweepSlicesTest, FewPointsOrOneTimeHaveNoSlices) {
  std::vector<float> time_s(95);
  std::iota(time_s.begin(), time_s.end(), 0.0F);
  EXPECT_FALSE(SliceSweep(time_s).has_value());
  EXPECT_FALSE(SliceSweep({}).has_value());
  EXPECT_FALSE(SliceSweep(std::vector<float>(1000, 0.03F)).has_value());
  time_s.push_back(1.0F);
  EXPECT_TRUE(SliceSweep(time_s).has_value());
}

class SweepPullTest : public EngineTest {
 protected:
  AlignJob Job(std::shared_ptr<const PointCloud> scan) {
    AlignJob job = SceneJob(PreciseProfile());
    if (map_ == nullptr) map_ = LoadMap(engine(), {SceneMap()}, AllStatistics());
    job.map = map_;
    job.scan = std::move(scan);
    return job;
  }

  // Of a vehicle that moved with `real` while it saw the scene, and said that it moved with `said`.
  SweepDerivatives PullOf(const Twist& real, const Twist& said) {
    PointCloud scan = *SceneJob(PreciseProfile()).scan;
    const std::vector<float> time_s = TimesOfTurn(scan);
    for (size_t i = 0; i < scan.size(); ++i) {
      const Eigen::Vector3f seen =
          (IntegrateTwist(real, static_cast<double>(time_s[i])).Inverse() * scan.Point(i))
              .cast<float>();
      scan.x[i] = seen.x();
      scan.y[i] = seen.y();
      scan.z[i] = seen.z();
    }
    Deskew(said, time_s, 0.0, scan);
    const auto slices = SliceSweep(time_s);
    AlignJob job = Job(std::make_shared<const PointCloud>(scan));
    const size_t place = RequestSweepPass(*slices, nullptr, job);
    const AlignResult result = AlignOne(engine(), job);
    EXPECT_TRUE(result.status.ok()) << result.status;
    return ComputeSweepDerivatives(*slices, result.passes[place].groups, said, result.map_T_base);
  }

  std::shared_ptr<const ResidentMap> map_;
};
VOXLOC_INSTANTIATE_ON_ENGINES(SweepPullTest);

// Against the score of scans that were moved farther, by brute force in double.
TEST_P(SweepPullTest, TheSlopeIsThatOfTheScoreByTheShareOfTheMotion) {
  const Twist twist{{6.0, -0.5, 0.1}, {0.02, -0.03, 0.5}};
  PointCloud scan = *SceneJob(PreciseProfile()).scan;
  const std::vector<float> time_s = TimesOfTurn(scan, true);
  Deskew(twist, time_s, 0.0, scan);  // so that the slope is not zero
  const auto slices = SliceSweep(time_s);
  ASSERT_TRUE(slices.has_value());
  AlignJob job = Job(std::make_shared<const PointCloud>(scan));
  job.passes_only = true;
  const size_t place = RequestSweepPass(*slices, nullptr, job);
  const AlignResult result = AlignOne(engine(), job);
  ASSERT_TRUE(result.status.ok()) << result.status;
  const SweepDerivatives pull =
      ComputeSweepDerivatives(*slices, result.passes[place].groups, twist, result.map_T_base);

  Stage stage = job.profile.stages[job.profile.score_stage];
  stage.curvature = Curvature::kExact;
  const std::vector<MapCell> cells = AllCells(*job.map, stage.cells);
  const double mean_s =
      std::accumulate(time_s.begin(), time_s.end(), 0.0) / static_cast<double>(time_s.size());
  const auto score = [&](double share) {
    PointCloud moved = scan;
    for (size_t i = 0; i < scan.size(); ++i) {
      const Twist more{share * twist.linear_m_s, share * twist.angular_rad_s};
      const Eigen::Vector3f point =
          (IntegrateTwist(more, static_cast<double>(time_s[i]) - mean_s) * scan.Point(i))
              .cast<float>();
      moved.x[i] = point.x();
      moved.y[i] = point.y();
      moved.z[i] = point.z();
    }
    return reference::Evaluate(cells, moved, ChartFromPose(result.map_T_base), stage,
                               ndt::kShellFraction)
        .score;
  };
  // So short that hardly a pair comes or goes at the radius of the search, which no slope counts.
  constexpr double kStep = 3e-4;
  const double slope = (score(kStep) - score(-kStep)) / (2.0 * kStep);
  EXPECT_GT(std::abs(slope), 10.0);
  EXPECT_NEAR(pull.slope, slope, 0.05 * std::abs(slope));
  EXPECT_GT(pull.curvature, 0.0);
}

TEST_P(SweepPullTest, TellsWhichPartOfTheMotionIsUnexplained) {
  const Twist real{{6.0, 0.0, 0.0}, {0.0, 0.0, 0.2}};
  const Twist still;
  const Twist reversed{-real.linear_m_s, -real.angular_rad_s};
  const Twist half{0.5 * real.linear_m_s, 0.5 * real.angular_rad_s};
  const auto unexplained = [&](const Twist& moved, const Twist& said) {
    const SweepDerivatives pull = PullOf(moved, said);
    EXPECT_GT(pull.curvature, 0.0);
    return pull.slope / pull.curvature;
  };
  EXPECT_LT(std::abs(unexplained(real, real)), 0.1);
  EXPECT_GT(unexplained(real, half), 0.4);
  EXPECT_LT(unexplained(real, reversed), -0.4);
  EXPECT_LT(unexplained(still, real), -0.3);
}

}  // namespace
}  // namespace voxloc
