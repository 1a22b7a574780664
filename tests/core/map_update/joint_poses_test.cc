// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/joint_poses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

Eigen::Quaterniond Turned(const Eigen::Vector3d& rotation_vector) {
  return Eigen::Quaterniond(
      Eigen::AngleAxisd(rotation_vector.norm(), rotation_vector.norm() > 0.0
                                                    ? Eigen::Vector3d(rotation_vector.normalized())
                                                    : Eigen::Vector3d::UnitZ()));
}

// A drive along a bend, as it was, as it was aligned, and its motions.
struct BentDrive {
  std::vector<Pose> truth;
  std::vector<Pose> aligned;
  std::vector<std::optional<Pose>> motions;

  explicit BentDrive(uint64_t seed) {
    RandomNumbers random(seed);
    Pose pose;
    for (int i = 0; i < 40; ++i) {
      truth.push_back(pose);
      aligned.push_back(
          {pose.translation + random.InBox(0.03), pose.rotation * Turned(random.InBox(0.002))});
      const Pose step = {{4.0, 0.0, 0.02}, Turned({0.0, 0.0, 0.03})};
      motions.emplace_back(Pose{step.translation + random.InBox(0.01),
                                step.rotation * Turned(random.InBox(0.0005))});
      pose = pose * step;
    }
    motions.back() = std::nullopt;
  }

  // Of poses from the truth, m.
  [[nodiscard]] double WorstError(const std::vector<Pose>& poses) const {
    double worst = 0.0;
    for (size_t i = 0; i < poses.size(); ++i) {
      worst = std::max(worst, TranslationDistance(poses[i], truth[i]));
    }
    return worst;
  }
};

TEST(JointPosesTest, DoesNotFollowAWallThatMovedUnderAPartOfTheDrive) {
  BentDrive drive(1);
  for (size_t i = 15; i < 22; ++i) drive.aligned[i].translation += Eigen::Vector3d(0.1, 0.28, 0.0);
  EXPECT_GT(drive.WorstError(drive.aligned), 0.25);
  EXPECT_LT(drive.WorstError(RefineTogether(drive.aligned, drive.motions)), 0.07);
}

TEST(JointPosesTest, AveragesTheErrorsOfAlignments) {
  const BentDrive drive(3);
  EXPECT_LT(drive.WorstError(RefineTogether(drive.aligned, drive.motions)),
            0.9 * drive.WorstError(drive.aligned));
}

TEST(JointPosesTest, LeavesPosesWithoutMotionsAsTheyAre) {
  const BentDrive drive(4);
  const std::vector<std::optional<Pose>> unknown(drive.aligned.size());
  const std::vector<Pose> refined = RefineTogether(drive.aligned, unknown);
  ASSERT_EQ(refined.size(), drive.aligned.size());
  for (size_t i = 0; i < refined.size(); ++i) {
    EXPECT_LT(TranslationDistance(refined[i], drive.aligned[i]), 1e-9);
    EXPECT_LT(RotationDistance(refined[i], drive.aligned[i]), 1e-7);
  }
  EXPECT_TRUE(RefineTogether({}, {}).empty());
}

TEST(JointPosesTest, AMapThatIsTurnedAboutTheVerticalTurnsTheResult) {
  BentDrive drive(5);
  for (size_t i = 10; i < 14; ++i) drive.aligned[i].translation.y() += 0.2;
  const Pose turned_T_map = {{100.0, -50.0, 3.0}, Turned({0.0, 0.0, 2.0})};
  std::vector<Pose> aligned;
  for (const Pose& pose : drive.aligned) aligned.push_back(turned_T_map * pose);
  const std::vector<Pose> refined = RefineTogether(drive.aligned, drive.motions);
  const std::vector<Pose> turned = RefineTogether(aligned, drive.motions);
  for (size_t i = 0; i < refined.size(); ++i) {
    EXPECT_LT(TranslationDistance(turned[i], turned_T_map * refined[i]), 1e-6);
    EXPECT_LT(RotationDistance(turned[i], turned_T_map * refined[i]), 1e-6);
  }
}

}  // namespace
}  // namespace voxloc
