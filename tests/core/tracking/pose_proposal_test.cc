// SPDX-License-Identifier: Apache-2.0
//
// Poses that were found, and corrections of a client's poses, carried along by odometry.

#include "core/tracking/pose_proposal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace voxloc {
namespace {

Pose LevelPose(double x, double y, double yaw_rad) {
  return {{x, y, 1.5}, Eigen::Quaterniond(Eigen::AngleAxisd(yaw_rad, Eigen::Vector3d::UnitZ()))};
}

// A drive at 10 m/s on a circle of 30 m, every tenth of a second; and as odometry of a frame of its
// own sees it.
Pose VehicleAt(int i) {
  const double turned = 0.1 * 10.0 / 30.0 * i;
  return LevelPose(30.0 * std::sin(turned), 30.0 * (1.0 - std::cos(turned)), turned);
}
Pose OdometryAt(int i) { return LevelPose(-70.0, 12.0, 2.0) * VehicleAt(i); }

PoseProposal Proposed(const Pose& map_T_base, const std::optional<Pose>& odometry = OdometryAt(0)) {
  return PoseProposal(map_T_base, odometry, SequentialTestOptions());
}

TEST(PoseProposalTest, IsExpectedWhereOdometryCarriesIt) {
  const PoseProposal proposal = Proposed(VehicleAt(0));
  for (const int i : {1, 7, 60}) {
    EXPECT_LT(TranslationDistance(proposal.Expected(OdometryAt(i)), VehicleAt(i)), 1e-9);
    EXPECT_LT(RotationDistance(proposal.Expected(OdometryAt(i)), VehicleAt(i)), 1e-9);
  }
  EXPECT_EQ(proposal.Expected(std::nullopt).translation, VehicleAt(0).translation);
  const PoseProposal without = Proposed(VehicleAt(0), std::nullopt);
  EXPECT_EQ(without.Expected(OdometryAt(5)).translation, VehicleAt(0).translation);
}

TEST(PoseProposalTest, FollowsTheScansThatAgree) {
  PoseProposal proposal = Proposed(VehicleAt(0));
  Pose measured = VehicleAt(1);
  measured.translation.x() += 0.2;
  proposal.Check(measured, OdometryAt(1));
  EXPECT_LT(TranslationDistance(proposal.Expected(OdometryAt(1)), measured), 1e-9);
  proposal.Check(std::nullopt, OdometryAt(2));
  const Pose way = OdometryAt(1).Inverse() * OdometryAt(3);
  EXPECT_LT(TranslationDistance(proposal.Expected(OdometryAt(3)), measured * way), 1e-9);
}

TEST(PoseProposalTest, IsPendingUntilEnoughScansAgree) {
  PoseProposal proposal = Proposed(VehicleAt(0));
  for (int i = 1; i < 5; ++i) {
    proposal.Check(VehicleAt(i), OdometryAt(i));
    EXPECT_EQ(proposal.outcome().state, ProposalState::kPending);
    EXPECT_FALSE(proposal.outcome().decided);
  }
  proposal.Check(VehicleAt(5), OdometryAt(5));
  EXPECT_EQ(proposal.outcome().state, ProposalState::kConfirmed);
  EXPECT_TRUE(proposal.outcome().decided);
  EXPECT_EQ(proposal.outcome().checked_scans, 5);
  EXPECT_EQ(proposal.outcome().agreeing_scans, 5);
  proposal.Check(VehicleAt(6), OdometryAt(6));
  EXPECT_EQ(proposal.outcome().state, ProposalState::kConfirmed);
  EXPECT_FALSE(proposal.outcome().decided);
}

TEST(PoseProposalTest, IsDroppedWhereScansDoNotAgree) {
  PoseProposal proposal = Proposed(VehicleAt(0));
  int scans = 0;
  while (proposal.outcome().state == ProposalState::kPending && scans < 50) {
    proposal.Check(std::nullopt, OdometryAt(++scans));
  }
  EXPECT_EQ(proposal.outcome().state, ProposalState::kDropped);
  EXPECT_TRUE(proposal.outcome().decided);
  EXPECT_LE(scans, 3);
  EXPECT_EQ(proposal.outcome().agreeing_scans, 0);
}

TEST(PoseProposalTest, AConfirmedOneIsDroppedOnceScansNoLongerAgree) {
  PoseProposal proposal = Proposed(VehicleAt(0));
  int i = 0;
  while (proposal.outcome().state == ProposalState::kPending) {
    ++i;
    proposal.Check(VehicleAt(i), OdometryAt(i));
  }
  for (const int end = i + 3; i < end; ++i) proposal.Check(std::nullopt, OdometryAt(i));
  EXPECT_EQ(proposal.outcome().state, ProposalState::kDropped);
}

TEST(PoseProposalTest, ALeastTravelKeepsItPendingUntilTheVehicleHasMoved) {
  PoseProposal proposal(VehicleAt(0), OdometryAt(0), SequentialTestOptions(), 8.0);
  for (int i = 1; i < 40; ++i) {  // it stands
    proposal.Check(VehicleAt(0), OdometryAt(0));
    ASSERT_EQ(proposal.outcome().state, ProposalState::kPending) << i;
  }
  int i = 1;
  for (; proposal.outcome().state == ProposalState::kPending && i < 40; ++i) {
    proposal.Check(VehicleAt(i), OdometryAt(i));
  }
  EXPECT_EQ(proposal.outcome().state, ProposalState::kConfirmed);
  EXPECT_GT(TranslationDistance(VehicleAt(i - 1), VehicleAt(0)), 8.0);
  // A scan that does not agree counts meanwhile as ever.
  PoseProposal wrong(VehicleAt(0), OdometryAt(0), SequentialTestOptions(), 8.0);
  for (int k = 1; k <= 7; ++k) wrong.Check(VehicleAt(0), OdometryAt(0));
  for (int k = 0; k < 10 && wrong.outcome().state == ProposalState::kPending; ++k) {
    wrong.Check(std::nullopt, OdometryAt(0));
  }
  EXPECT_EQ(wrong.outcome().state, ProposalState::kDropped);
  // Without odometry nobody knows that it moves.
  PoseProposal without(VehicleAt(0), std::nullopt, SequentialTestOptions(), 8.0);
  for (int k = 1; k < 40; ++k) without.Check(VehicleAt(k), std::nullopt);
  EXPECT_EQ(without.outcome().state, ProposalState::kPending);
}

// The client's poses lag: they are where the vehicle was half a second ago.
Pose LaggingAt(int i) { return VehicleAt(i - 5); }

TEST(PoseCorrectionTest, HoldsForPosesThatLagHoweverFarTheVehicleDrives) {
  PoseCorrection correction(VehicleAt(0), LaggingAt(0), SequentialTestOptions());
  for (int i = 1; i < 400; ++i) {  // twice around, 400 m
    const Pose guess = correction.Apply(LaggingAt(i));
    // One step behind a turn, and no more.
    ASSERT_LT(TranslationDistance(guess, VehicleAt(i)), 0.25) << i;
    ASSERT_TRUE(correction.Update(VehicleAt(i), LaggingAt(i), /*uncorrected_suffices=*/false)) << i;
  }
}

TEST(PoseCorrectionTest, EndsOnceTheClientsOwnPosesSuffice) {
  PoseCorrection correction(VehicleAt(0), LaggingAt(0), SequentialTestOptions());
  // A single alignment that happens to lead there does not end it.
  EXPECT_TRUE(correction.Update(VehicleAt(1), LaggingAt(1), true));
  for (int i = 2; i < 40; ++i) {
    ASSERT_TRUE(correction.Update(VehicleAt(i), LaggingAt(i), i % 8 == 0)) << i;
  }
  int scans = 0;
  while (correction.Update(VehicleAt(40 + scans), VehicleAt(40 + scans), true)) {
    ASSERT_LT(++scans, 20);
  }
  EXPECT_GE(scans, 3);
}

TEST(PoseCorrectionTest, AfterAJumpOfTheClientsPosesItBeginsAtTheirNewPlace) {
  PoseCorrection correction(VehicleAt(0), LaggingAt(0), SequentialTestOptions());
  ASSERT_TRUE(correction.Update(VehicleAt(1), LaggingAt(1), false));
  // The client has been reset, and its own guess was the better one.
  ASSERT_TRUE(correction.Update(VehicleAt(2), VehicleAt(2), true));
  EXPECT_LT(TranslationDistance(correction.Apply(VehicleAt(3)), VehicleAt(3)), 1e-9);
}

}  // namespace
}  // namespace voxloc
