// SPDX-License-Identifier: Apache-2.0
//
// A session without engine and network. Its recovery: what is done with which scan, and where
// guesses lie meanwhile; and how fast it takes its base to be.

#include "server/session/session_state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <variant>

namespace voxloc::server {
namespace {

constexpr int64_t kStepNs = 100'000'000;

Pose PoseAt(double x, double y, double yaw_rad) {
  return {{x, y, 1.5}, Eigen::Quaterniond(Eigen::AngleAxisd(yaw_rad, Eigen::Vector3d::UnitZ()))};
}

// 10 m/s on a circle of 40 m.
Pose VehicleAt(int i) {
  const double turned = 0.1 * 10.0 / 40.0 * i;
  return PoseAt(40.0 * std::sin(turned), 40.0 * (1.0 - std::cos(turned)), turned);
}

// The client's poses, 8 m behind.
Pose LaggingAt(int i) { return VehicleAt(i - 8); }

class Recovery : public ::testing::Test {
 protected:
  static SessionState::Options OptionsOf(bool apply) {
    SessionState::Options options;
    options.recovery.emplace();
    options.recovery->lost_after_scans = 2;
    options.recovery->apply = apply;
    return options;
  }

  // What the session knows of scan `i` where the client says this.
  static SessionState::ScanPrior PlaceOf(SessionState& state, int i, const Pose& poses_say) {
    EXPECT_TRUE(state.AddPose({i * kStepNs - 1, poses_say, Matrix6::Identity()}).ok());
    EXPECT_TRUE(state.AddPose({i * kStepNs + 1, poses_say, Matrix6::Identity()}).ok());
    SessionState::ScanPrior place = state.TakePrior(i * kStepNs);
    EXPECT_TRUE(place.status.ok()) << place.status;
    return place;
  }

  // Loses the vehicle after scan 0, and finds `found` with scan 2. The next scan is 3.
  static void LoseAndFind(SessionState& state, const Pose& found) {
    const auto good = PlaceOf(state, 0, VehicleAt(0));
    state.Found(0, VehicleAt(0), good, {});
    EXPECT_FALSE(state.Missed(PlaceOf(state, 1, LaggingAt(1)).odometry_T_base).has_value());
    const auto lost = PlaceOf(state, 2, LaggingAt(2));
    const auto step = state.Missed(lost.odometry_T_base);
    ASSERT_TRUE(step.has_value());
    EXPECT_TRUE(std::holds_alternative<RecoverySearch>(*step));
    const RecoveryOutcome outcome = state.EndSearch(found, lost.odometry_T_base);
    EXPECT_EQ(outcome.state, ProposalState::kPending);
    EXPECT_FALSE(outcome.applied);
  }

  // Misses scan `i` and compares it with what was found. Where the pose is expected.
  static Pose Expected(SessionState& state, int i, const Pose& poses_say) {
    const auto step = state.Missed(PlaceOf(state, i, poses_say).odometry_T_base);
    EXPECT_TRUE(step.has_value());
    if (!step.has_value()) return {};
    const auto* check = std::get_if<ProposalToCheck>(&*step);
    EXPECT_NE(check, nullptr);
    return check != nullptr ? check->expected_map_T_base : Pose();
  }

  // Until it is applied, with every scan agreeing. The next scan.
  static int Confirm(SessionState& state) {
    for (int i = 3; i < 30; ++i) {
      const Pose expected = Expected(state, i, LaggingAt(i));
      EXPECT_LT(TranslationDistance(expected, VehicleAt(i)), 0.5) << i;
      const RecoveryOutcome outcome = state.EndProposalCheck(VehicleAt(i), LaggingAt(i));
      if (outcome.applied) return i + 1;
      EXPECT_EQ(outcome.state, ProposalState::kPending);
    }
    ADD_FAILURE() << "never applied";
    return 0;
  }
};

TEST_F(Recovery, GuessesAreNotMovedBeforeTheFoundPoseIsConfirmed) {
  SessionState state(OptionsOf(true));
  LoseAndFind(state, VehicleAt(2));
  for (int i = 3; i < 7; ++i) {
    const auto place = PlaceOf(state, i, LaggingAt(i));
    EXPECT_FALSE(place.corrected);
    EXPECT_LT(TranslationDistance(place.guess_map_T_base, LaggingAt(i)), 1e-9);
    EXPECT_TRUE(place.guess_covariance.has_value());
    ASSERT_TRUE(state.Missed(place.odometry_T_base).has_value());
    EXPECT_FALSE(state.EndProposalCheck(VehicleAt(i), place.odometry_T_base).applied);
  }
}

TEST_F(Recovery, PosesThatLagKeepTheirCorrectionHoweverFarTheVehicleDrives) {
  SessionState state(OptionsOf(true));
  LoseAndFind(state, VehicleAt(2));
  for (int i = Confirm(state); i < 200; ++i) {  // 200 m, 25 times the lag
    const auto place = PlaceOf(state, i, LaggingAt(i));
    ASSERT_TRUE(place.corrected) << i;
    ASSERT_LT(TranslationDistance(place.guess_map_T_base, VehicleAt(i)), 0.4) << i;
    ASSERT_LT(TranslationDistance(*place.odometry_T_base, LaggingAt(i)), 1e-9) << i;
    ASSERT_FALSE(place.guess_covariance.has_value());
    state.Found(i * kStepNs, VehicleAt(i), place, {});
  }
}

TEST_F(Recovery, PosesThatAreRightAgainAreNotMovedAnyMore) {
  SessionState state(OptionsOf(true));
  LoseAndFind(state, VehicleAt(2));
  int i = Confirm(state);
  const int reset = i;
  for (; i < reset + 20; ++i) {
    const auto place = PlaceOf(state, i, VehicleAt(i));
    if (!place.corrected) break;
    state.Found(i * kStepNs, VehicleAt(i), place,
                {/*uncorrected_suffices=*/true, /*observed=*/false});
  }
  EXPECT_GE(i - reset, 3);
  EXPECT_LT(i - reset, 10);
  const auto place = PlaceOf(state, i + 1, LaggingAt(i + 1));
  EXPECT_LT(TranslationDistance(place.guess_map_T_base, LaggingAt(i + 1)), 1e-9);
}

// By odometry of the scans' own, 1 m a scan.
SessionState::ScanPrior OdometryPlace(SessionState& state, int i) {
  return state.TakePrior(i * kStepNs, PoseAt(i, 0.0, 0.0));
}

TEST(SessionOdometry, CarriesTheLastPoseThatItsScanObserved) {
  SessionState state;
  EXPECT_FALSE(OdometryPlace(state, 0).anchor.Prior(0.02).has_value());
  const auto observed = OdometryPlace(state, 1);
  state.Found(kStepNs, PoseAt(101.0, 0.0, 0.0), observed, {false, /*observed=*/true});
  // A scan that does not observe the way is accepted 5 m off, and moves nothing.
  const auto degenerate = OdometryPlace(state, 2);
  state.Found(2 * kStepNs, PoseAt(107.0, 0.0, 0.0), degenerate, {false, /*observed=*/false});
  const auto place = OdometryPlace(state, 3);
  // The guess is the last accepted result, carried on by 1 m.
  EXPECT_LT(TranslationDistance(place.guess_map_T_base, PoseAt(108.0, 0.0, 0.0)), 1e-9);
  ASSERT_TRUE(place.carried_by.has_value());
  EXPECT_LT((place.carried_by->translation - Eigen::Vector3d::UnitX()).norm(), 1e-9);
  const auto prior = place.anchor.Prior(0.02);
  ASSERT_TRUE(prior.has_value());
  EXPECT_LT(TranslationDistance(prior->map_T_base, PoseAt(103.0, 0.0, 0.0)), 1e-9);
  EXPECT_NEAR(std::sqrt(prior->covariance(0, 0)), 0.02 * 2.0, 1e-12);

  state.Activate(true);
  EXPECT_FALSE(OdometryPlace(state, 4).anchor.Prior(0.02).has_value());
}

TEST_F(Recovery, ForgetsWhatOdometryCarriedFromBeforeTheVehicleWasLost) {
  SessionState state(OptionsOf(true));
  const auto good = PlaceOf(state, -1, VehicleAt(-1));
  state.Found(-kStepNs, VehicleAt(-1), good, {false, /*observed=*/true});
  EXPECT_TRUE(PlaceOf(state, 0, VehicleAt(0)).anchor.Prior(0.02).has_value());
  LoseAndFind(state, VehicleAt(2));
  const int next = Confirm(state);
  EXPECT_FALSE(PlaceOf(state, next, LaggingAt(next)).anchor.Prior(0.02).has_value());
}

TEST_F(Recovery, AFalsePoseIsDroppedAndSearchedForAgain) {
  SessionState state(OptionsOf(true));
  const Pose wrong = PoseAt(-30.0, 12.0, 2.0);
  LoseAndFind(state, wrong);
  int i = 3;
  RecoveryOutcome outcome;
  for (; i < 10 && outcome.state != ProposalState::kDropped; ++i) {
    const Pose expected = Expected(state, i, LaggingAt(i));
    EXPECT_LT(TranslationDistance(expected, wrong * (LaggingAt(2).Inverse() * LaggingAt(i))), 1e-9);
    outcome = state.EndProposalCheck(std::nullopt, LaggingAt(i));
    EXPECT_FALSE(outcome.applied);
  }
  EXPECT_EQ(outcome.state, ProposalState::kDropped);
  EXPECT_LE(outcome.checked_scans, 3);
  const auto place = PlaceOf(state, i, LaggingAt(i));
  EXPECT_FALSE(place.corrected);
  const auto step = state.Missed(place.odometry_T_base);
  ASSERT_TRUE(step.has_value());
  ASSERT_TRUE(std::holds_alternative<RecoverySearch>(*step));
  EXPECT_GT(std::get<RecoverySearch>(*step).radius_m, RecoveryOptions().initial_radius_m);
}

TEST_F(Recovery, AVehicleThatIsFoundOtherwiseNeedsNoPose) {
  SessionState state(OptionsOf(true));
  LoseAndFind(state, PoseAt(-30.0, 12.0, 2.0));
  const auto place = PlaceOf(state, 3, VehicleAt(3));
  state.Found(3 * kStepNs, VehicleAt(3), place, {});
  EXPECT_FALSE(state.Missed(PlaceOf(state, 4, VehicleAt(4)).odometry_T_base).has_value());

  // Nor where that happens while a scan is compared, or searched with.
  SessionState other(OptionsOf(true));
  LoseAndFind(other, PoseAt(-30.0, 12.0, 2.0));
  static_cast<void>(Expected(other, 3, LaggingAt(3)));
  other.Found(4 * kStepNs, VehicleAt(4), PlaceOf(other, 4, VehicleAt(4)), {});
  EXPECT_EQ(other.EndProposalCheck(PoseAt(-30.0, 13.0, 2.0), LaggingAt(3)).state,
            ProposalState::kDropped);
  EXPECT_FALSE(PlaceOf(other, 5, VehicleAt(5)).corrected);
}

TEST_F(Recovery, OneStepAtATime) {
  SessionState state(OptionsOf(true));
  LoseAndFind(state, VehicleAt(2));
  static_cast<void>(Expected(state, 3, LaggingAt(3)));
  EXPECT_FALSE(state.Missed(PlaceOf(state, 4, LaggingAt(4)).odometry_T_base).has_value());
  state.AbandonStep(ProposalToCheck());
  static_cast<void>(Expected(state, 5, LaggingAt(5)));
}

TEST_F(Recovery, WithoutApplyingThePoseIsReportedUntilScansRefuteIt) {
  SessionState state(OptionsOf(false));
  LoseAndFind(state, VehicleAt(2));
  int i = 3;
  for (; i < 20; ++i) {
    static_cast<void>(Expected(state, i, LaggingAt(i)));
    const RecoveryOutcome outcome = state.EndProposalCheck(VehicleAt(i), LaggingAt(i));
    EXPECT_FALSE(outcome.applied);
    EXPECT_EQ(outcome.state, i < 7 ? ProposalState::kPending : ProposalState::kConfirmed) << i;
    EXPECT_FALSE(PlaceOf(state, i + 1, LaggingAt(i + 1)).corrected);
  }
}

TEST_F(Recovery, ActivationForgetsIt) {
  SessionState state(OptionsOf(true));
  LoseAndFind(state, VehicleAt(2));
  const int i = Confirm(state);
  EXPECT_TRUE(PlaceOf(state, i, LaggingAt(i)).corrected);
  state.Activate(true);
  EXPECT_FALSE(PlaceOf(state, i + 1, LaggingAt(i + 1)).corrected);
}

class TwistOfASession : public ::testing::Test {
 protected:
  static void ExpectDriving(const std::optional<Twist>& twist) {
    ASSERT_TRUE(twist.has_value());
    // 10 m/s ahead, turning left by a quarter of a radian per second.
    EXPECT_LT((twist->linear_m_s - Eigen::Vector3d(10.0, 0.0, 0.0)).norm(), 0.01);
    EXPECT_LT((twist->angular_rad_s - Eigen::Vector3d(0.0, 0.0, 0.25)).norm(), 1e-9);
  }
};

TEST_F(TwistOfASession, IsThatOfThePosesAroundTheScan) {
  SessionState state;
  ASSERT_TRUE(state.AddPose({4 * kStepNs, VehicleAt(4), Matrix6::Zero()}).ok());
  ASSERT_TRUE(state.AddPose({5 * kStepNs, VehicleAt(5), Matrix6::Zero()}).ok());
  // Results that jump do not matter.
  state.Found(3 * kStepNs, PoseAt(0.0, 0.0, 0.0), SessionState::ScanPrior(), {});
  state.Found(4 * kStepNs, PoseAt(50.0, 0.0, 1.0), SessionState::ScanPrior(), {});
  ExpectDriving(state.TakePrior(4 * kStepNs + kStepNs / 2).base_twist);
}

TEST_F(TwistOfASession, WithoutPosesIsThatOfTheLastTwoAcceptedResults) {
  SessionState state;
  EXPECT_FALSE(state.TakePrior(1).base_twist.has_value());
  state.Found(4 * kStepNs, VehicleAt(4), SessionState::ScanPrior(), {});
  EXPECT_FALSE(state.TakePrior(5 * kStepNs).base_twist.has_value());
  state.Found(5 * kStepNs, VehicleAt(5), SessionState::ScanPrior(), {});
  ExpectDriving(state.TakePrior(6 * kStepNs).base_twist);
  // They are too old after a second, and forgotten when the session is activated anew.
  EXPECT_FALSE(state.TakePrior(16 * kStepNs).base_twist.has_value());
  ExpectDriving(state.TakePrior(7 * kStepNs).base_twist);
  state.Activate(true);
  EXPECT_FALSE(state.TakePrior(7 * kStepNs).base_twist.has_value());
}

TEST_F(TwistOfASession, IsThatOfTheOdometryOfScansWhereThereAreNoPoses) {
  SessionState state;
  state.Found(3 * kStepNs, PoseAt(0.0, 0.0, 0.0), SessionState::ScanPrior(), {});
  state.Found(4 * kStepNs, PoseAt(50.0, 0.0, 1.0), SessionState::ScanPrior(), {});
  static_cast<void>(state.TakePrior(5 * kStepNs, VehicleAt(5)));
  ExpectDriving(state.TakePrior(6 * kStepNs, VehicleAt(6)).base_twist);
  // Poses of the session win.
  ASSERT_TRUE(state.AddPose({6 * kStepNs, PoseAt(0.0, 0.0, 0.0), Matrix6::Zero()}).ok());
  ASSERT_TRUE(state.AddPose({7 * kStepNs, PoseAt(0.0, 0.0, 0.0), Matrix6::Zero()}).ok());
  const auto twist = state.TakePrior(6 * kStepNs + kStepNs / 2, VehicleAt(7)).base_twist;
  ASSERT_TRUE(twist.has_value());
  EXPECT_EQ(twist->linear_m_s.norm(), 0.0);
}

// Along x from rest with this acceleration, at steps of a tenth of a second.
Pose AcceleratingAt(int i, double acceleration_m_s2) {
  const double time_s = 0.1 * i;
  return PoseAt(0.5 * acceleration_m_s2 * time_s * time_s, 0.0, 0.0);
}

TEST_F(TwistOfASession, OfTheOdometryIsThatAtTheScan) {
  SessionState state;
  for (int i = 0; i < 5; ++i)
    static_cast<void>(state.TakePrior(i * kStepNs, AcceleratingAt(i, 3.0)));
  const auto twist = state.TakePrior(5 * kStepNs, AcceleratingAt(5, 3.0)).base_twist;
  ASSERT_TRUE(twist.has_value());
  EXPECT_NEAR(twist->linear_m_s.x(), 3.0 * 0.5, 1e-9);  // the mean of the last step is 1.35
}

// A wheel that slips is not an acceleration that goes on.
TEST_F(TwistOfASession, OfAnOdometryThatJumpsIsTheMean) {
  SessionState state;
  static_cast<void>(state.TakePrior(0, PoseAt(0.0, 0.0, 0.0)));
  static_cast<void>(state.TakePrior(kStepNs, PoseAt(1.0, 0.0, 0.0)));
  const auto twist = state.TakePrior(2 * kStepNs, PoseAt(2.5, 0.0, 0.0)).base_twist;
  ASSERT_TRUE(twist.has_value());
  EXPECT_NEAR(twist->linear_m_s.x(), 15.0, 1e-9);
}

TEST_F(TwistOfASession, OdometryOfOneTimeOrBackInTimeTellsNone) {
  SessionState state;
  static_cast<void>(state.TakePrior(2 * kStepNs, VehicleAt(2)));
  EXPECT_FALSE(state.TakePrior(2 * kStepNs, VehicleAt(3)).base_twist.has_value());
  EXPECT_FALSE(state.TakePrior(kStepNs, VehicleAt(1)).base_twist.has_value());
  EXPECT_TRUE(state.TakePrior(2 * kStepNs, VehicleAt(2)).base_twist.has_value());
  state.Activate(true);
  EXPECT_FALSE(state.TakePrior(3 * kStepNs, VehicleAt(3)).base_twist.has_value());
}

TEST_F(TwistOfASession, ResultsThatAreFarApartOrAtOneTimeTellNone) {
  SessionState state;
  state.Found(0, VehicleAt(0), SessionState::ScanPrior(), {});
  state.Found(11 * kStepNs, VehicleAt(11), SessionState::ScanPrior(), {});
  EXPECT_FALSE(state.TakePrior(12 * kStepNs).base_twist.has_value());
  state.Found(11 * kStepNs, VehicleAt(12), SessionState::ScanPrior(), {});
  EXPECT_FALSE(state.TakePrior(12 * kStepNs).base_twist.has_value());
}

}  // namespace
}  // namespace voxloc::server
