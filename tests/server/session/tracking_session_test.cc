// SPDX-License-Identifier: Apache-2.0
//
// What a session remembers from scan to scan: poses for guesses, reference positions, whether it is
// active, and where its vehicle was before it got lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/geometry/euler.h"
#include "server/convert/pose.h"
#include "tests/server/gated_engine.h"
#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kSecond_ns = 1'000'000'000;

Pose PoseOfResult(const v1::AlignmentResult& result) {
  auto pose = PoseFromProto(result.map_t_base().pose(), "map_t_base");
  return pose.ok() ? *pose : Pose{};
}

v1::AlignScansRequest PoseMessage(int64_t stamp_ns, const Pose& pose) {
  v1::AlignScansRequest request;
  request.mutable_pose()->set_stamp_ns(stamp_ns);
  *request.mutable_pose()->mutable_map_t_base()->mutable_pose() = PoseOf(pose);
  return request;
}

v1::AlignScansRequest ReferenceMessage(int64_t stamp_ns, const Eigen::Vector3d& position) {
  v1::AlignScansRequest request;
  request.mutable_reference()->set_stamp_ns(stamp_ns);
  VectorToProto(position, *request.mutable_reference()->mutable_position());
  return request;
}

v1::AlignScansRequest ActivateMessage(uint64_t sequence, bool active) {
  v1::AlignScansRequest request;
  request.mutable_activate()->set_sequence(sequence);
  request.mutable_activate()->set_active(active);
  return request;
}

Pose Moved(double x, double y) {
  Pose pose = VehiclePose();
  pose.translation += Eigen::Vector3d(x, y, 0.0);
  return pose;
}

// A scan from VehiclePose() at a time, without a guess.
v1::Scan ScanAt(int64_t stamp_ns, uint64_t sequence = 1) {
  v1::Scan scan = GoodScan(sequence);
  scan.set_stamp_ns(stamp_ns);
  scan.clear_guess_map_t_base();
  return scan;
}

v1::AlignScansRequest ConfigureMessage(const v1::AlignmentOptions& options) {
  v1::AlignScansRequest request;
  *request.mutable_configure()->mutable_setup()->mutable_options() = options;
  return request;
}

void AddDiagonalTo(const std::function<double(int)>& variance_of, v1::PoseWithCovariance& pose) {
  for (int i = 0; i < 36; ++i) pose.add_covariance(i % 7 == 0 ? variance_of(i / 7) : 0.0);
}

class TrackingSession : public EngineTest {
 protected:
  TownServer server_{{}, EngineHandle()};
};
VOXLOC_INSTANTIATE_ON_ENGINES(TrackingSession);

TEST_P(TrackingSession, AGuessIsInterpolatedFromTheSessionsPoses) {
  TestSession session(server_, "town");
  session.Send(PoseMessage(1 * kSecond_ns, Moved(-0.5, -0.2)));
  session.Send(PoseMessage(1 * kSecond_ns + kSecond_ns / 2, Moved(0.5, 0.2)));
  const v1::AlignmentResult result = session.Align(ScanAt(1 * kSecond_ns + kSecond_ns / 4));
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK) << result.ShortDebugString();
  const auto guess = PoseFromProto(result.guess_map_t_base(), "guess_map_t_base");
  ASSERT_TRUE(guess.ok());
  EXPECT_LT(TranslationDistance(*guess, VehiclePose()), 1e-9);
  EXPECT_LT(TranslationDistance(PoseOfResult(result), VehiclePose()), 0.05);
}

TEST_P(TrackingSession, AGuessHasTheCovarianceOfTheOlderPose) {
  const auto innovation = [this](double variance) {
    v1::AlignScansRequest older = PoseMessage(1 * kSecond_ns, Moved(0.4, 0.0));
    AddDiagonalTo([variance](int) { return variance; },
                  *older.mutable_pose()->mutable_map_t_base());
    TestSession session(server_, "town");
    session.Send(older);
    session.Send(PoseMessage(1 * kSecond_ns + kSecond_ns / 2, Moved(0.4, 0.0)));
    return session.Align(ScanAt(1 * kSecond_ns + kSecond_ns / 4)).confidence().innovation();
  };
  EXPECT_GT(innovation(1e-3), 3.0 * innovation(1.0));
}

TEST_P(TrackingSession, ScansForgetThePosesBeforeThemAndStampsThatGoBackBeginAnew) {
  TestSession session(server_, "town");
  session.Send(PoseMessage(5 * kSecond_ns, Moved(0.2, 0.0)));
  session.Send(PoseMessage(5 * kSecond_ns + kSecond_ns / 2, Moved(0.2, 0.0)));
  session.Send(PoseMessage(2 * kSecond_ns, Moved(0.1, 0.0)));
  EXPECT_EQ(session.Align(ScanAt(5 * kSecond_ns + kSecond_ns / 4)).status(),
            v1::ALIGNMENT_STATUS_NO_PRIOR);
  session.Send(PoseMessage(2 * kSecond_ns + kSecond_ns / 2, Moved(0.1, 0.0)));
  EXPECT_EQ(session.Align(ScanAt(2 * kSecond_ns + kSecond_ns / 4)).status(),
            v1::ALIGNMENT_STATUS_OK);
  const v1::AlignmentResult result = session.Align(ScanAt(2 * kSecond_ns + kSecond_ns / 3));
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_NO_PRIOR);
  EXPECT_THAT(result.detail(), HasSubstr("at least 2 poses (got 1)"));
}

TEST_P(TrackingSession, SaysWhyThereIsNoGuess) {
  TestSession session(server_);
  v1::OpenSession open = TownSession();
  v1::ValidationOptions& validation =
      *open.mutable_setup()->mutable_options()->mutable_gate()->mutable_validation();
  validation.mutable_guess_timeout_s()->set_value(0.2);
  validation.mutable_guess_distance_tolerance_m()->set_value(1.0);
  session.Open(open);
  session.Send(PoseMessage(10 * kSecond_ns, Moved(0.0, 0.0)));
  session.Send(PoseMessage(10 * kSecond_ns + kSecond_ns / 10, Moved(2.0, 0.0)));
  v1::AlignmentResult result = session.Align(ScanAt(9 * kSecond_ns));
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_NO_PRIOR);
  EXPECT_THAT(result.detail(), HasSubstr("before that of the first pose"));
  EXPECT_FALSE(result.has_map_t_base());
  EXPECT_THAT(session.Align(ScanAt(10 * kSecond_ns + kSecond_ns / 20)).detail(),
              HasSubstr("m apart"));
  EXPECT_THAT(session.Align(ScanAt(11 * kSecond_ns)).detail(), HasSubstr("less than 0.2 s"));

  // Other limits, and the same poses do.
  validation.mutable_guess_distance_tolerance_m()->set_value(3.0);
  session.Send(ConfigureMessage(open.setup().options()));
  ASSERT_TRUE(session.Read().has_configured());
  EXPECT_TRUE(session.Align(ScanAt(10 * kSecond_ns + kSecond_ns / 20)).has_map_t_base());
}

TEST_P(TrackingSession, KeepsNoMorePosesThanAllowed) {
  TownServer server([](Config& config) { config.limits.max_buffered_poses = 2; }, EngineHandle());
  TestSession session(server, "town");
  for (int i = 0; i < 3; ++i) {
    session.Send(PoseMessage(kSecond_ns + i * kSecond_ns / 10, Moved(0.1, 0.0)));
  }
  EXPECT_THAT(session.Align(ScanAt(kSecond_ns + kSecond_ns / 20)).detail(),
              HasSubstr("before that of the first pose"));
  EXPECT_EQ(session.Align(ScanAt(kSecond_ns + 3 * kSecond_ns / 20)).status(),
            v1::ALIGNMENT_STATUS_OK);
}

TEST_P(TrackingSession, InterpolatedReferencesPullTheResultAsTheScansOwnDo) {
  v1::OpenSession open = TownSession();
  v1::AlignmentOverrides& overrides = *open.mutable_setup()->mutable_options()->mutable_overrides();
  overrides.mutable_regularization()->mutable_scale_factor()->set_value(100.0);
  const Eigen::Vector3d pull = VehiclePose() * Eigen::Vector3d(0.5, 0.0, 0.0);

  TestSession session(server_, open);
  const Pose free = PoseOfResult(session.Align(GoodScan()));
  v1::Scan scan = GoodScan();
  VectorToProto(pull, *scan.mutable_reference_position());
  const Pose pulled = PoseOfResult(session.Align(scan));
  ASSERT_GT(TranslationDistance(free, pulled), 0.05);

  const auto between_references = [&] {
    const Eigen::Vector3d half = {0.7, 0.0, 0.0};
    session.Send(ReferenceMessage(0, pull - half));
    session.Send(ReferenceMessage(200'000'000, pull + half));
    return PoseOfResult(session.Align(GoodScan()));  // at 100 ms
  };
  EXPECT_LT(TranslationDistance(between_references(), pulled), 1e-6);

  overrides.mutable_regularization()->mutable_enable()->set_value(false);
  session.Send(ConfigureMessage(open.setup().options()));
  ASSERT_TRUE(session.Read().has_configured());
  EXPECT_LT(TranslationDistance(between_references(), free), 1e-9);
}

TEST_P(TrackingSession, AnInactiveSessionAlignsNothing) {
  TestSession session(server_,
                      TownSession("start_inactive: true setup { output { diagnostics: true } }"));
  v1::AlignmentResult result = session.Align(GoodScan(1));
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_NOT_ACTIVE);
  EXPECT_FALSE(result.has_map_t_base());
  // The record ends where the checks ended, and the scan does not count as skipped.
  const auto& entries = result.diagnostics().entries();
  ASSERT_EQ(entries.size(), 7);
  EXPECT_EQ(entries[5].key(), "is_activated");
  EXPECT_FALSE(entries[5].bool_value());
  EXPECT_EQ(entries[6].key(), "skipping_publish_num");
  EXPECT_EQ(entries[6].int_value(), 0);

  session.Send(ActivateMessage(8, true));
  v1::AlignScansResponse response = session.Read();
  EXPECT_EQ(response.activated().sequence(), 8);
  EXPECT_TRUE(response.activated().active());
  EXPECT_EQ(session.Align(GoodScan(2)).status(), v1::ALIGNMENT_STATUS_OK);
  session.Send(ActivateMessage(9, false));
  EXPECT_FALSE(session.Read().activated().active());
  EXPECT_EQ(session.Align(GoodScan(3)).status(), v1::ALIGNMENT_STATUS_NOT_ACTIVE);
}

TEST_P(TrackingSession, ActivationForgetsThePoses) {
  TestSession session(server_, "town");
  session.Send(PoseMessage(1 * kSecond_ns, Moved(0.1, 0.0)));
  session.Send(PoseMessage(2 * kSecond_ns, Moved(0.1, 0.0)));
  session.Send(ActivateMessage(1, true));
  ASSERT_TRUE(session.Read().has_activated());
  EXPECT_THAT(session.Align(ScanAt(1 * kSecond_ns + kSecond_ns / 2)).detail(),
              HasSubstr("give an initial pose"));
  // Nor does an inactive session take any.
  session.Send(ActivateMessage(2, false));
  ASSERT_TRUE(session.Read().has_activated());
  session.Send(PoseMessage(1 * kSecond_ns, Moved(0.1, 0.0)));
  session.Send(ActivateMessage(3, true));
  ASSERT_TRUE(session.Read().has_activated());
  session.Send(PoseMessage(2 * kSecond_ns, Moved(0.1, 0.0)));
  EXPECT_THAT(session.Align(ScanAt(1 * kSecond_ns + kSecond_ns / 2)).detail(),
              HasSubstr("at least 2 poses (got 1)"));
}

TEST_P(TrackingSession, CountsScansWithoutAnAcceptedResult) {
  TestSession session(server_, TownSession("setup { output { diagnostics: true } options { gate {"
                                           " validation { max_skipped_scans { value: 2 } } } } }"));
  const auto skipped = [&session](const v1::Scan& scan) {
    const v1::Diagnostics diagnostics = session.Align(scan).diagnostics();
    return diagnostics.entries(diagnostics.entries_size() - 1).int_value();
  };
  v1::Scan empty = GoodScan();
  empty.mutable_clouds(0)->mutable_cloud()->clear_data();
  EXPECT_EQ(skipped(ScanAt(kSecond_ns)), 1);
  EXPECT_EQ(skipped(empty), 2);
  EXPECT_EQ(skipped(GoodScan()), 0);
  EXPECT_EQ(skipped(ScanAt(kSecond_ns)), 1);
}

TEST_P(TrackingSession, ScansThatSeeLessFarThanRequiredAreNotAligned) {
  v1::Scan scan = GoodScan();
  PointCloud near;
  const PointCloud all = ScanFrom(VehiclePose(), 6000);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all.Point(i).norm() < 9.5) near.PushBack(all.x[i], all.y[i], all.z[i]);
  }
  *scan.mutable_clouds(0)->mutable_cloud() = CloudOf(near);
  const auto align = [&](const v1::OpenSession& open) {
    TestSession session(server_, open);
    return session.Align(scan);
  };
  v1::OpenSession open = TownSession();
  EXPECT_TRUE(align(open).has_map_t_base());
  v1::AlignmentOptions& options = *open.mutable_setup()->mutable_options();
  options.set_profile("autoware");
  const v1::AlignmentResult result = align(open);
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_INVALID_INPUT);
  EXPECT_THAT(result.detail(), HasSubstr("must be at least 10 m from the base"));
  options.mutable_gate()->mutable_validation()->mutable_required_distance_m()->set_value(5.0);
  EXPECT_TRUE(align(open).has_map_t_base());
}

TEST_P(TrackingSession, BadMessagesAreRejectedAndTheSessionLivesOn) {
  TestSession session(server_, "town");
  const auto diagonal = [](int axis) { return 7.0 * axis - 1.0; };  // the first is negative
  v1::AlignScansRequest unturned = PoseMessage(8, VehiclePose());
  unturned.mutable_pose()->mutable_map_t_base()->mutable_pose()->clear_orientation();
  v1::AlignScansRequest indefinite = PoseMessage(9, VehiclePose());
  AddDiagonalTo(diagonal, *indefinite.mutable_pose()->mutable_map_t_base());
  v1::AlignScansRequest empty = PoseMessage(9, VehiclePose());
  empty.mutable_pose()->clear_map_t_base();
  v1::AlignScansRequest nowhere;
  nowhere.mutable_reference();
  const struct {
    v1::AlignScansRequest request;
    v1::SessionRequestKind kind;
    int64_t stamp_ns;
    const char* detail;
  } rows[] = {
      {PoseMessage(7, Moved(kNotANumber, 0.0)), v1::SESSION_REQUEST_KIND_POSE, 7, "position"},
      {unturned, v1::SESSION_REQUEST_KIND_POSE, 8, "orientation"},
      {indefinite, v1::SESSION_REQUEST_KIND_POSE, 9, "map_t_base.covariance"},
      {empty, v1::SESSION_REQUEST_KIND_POSE, 9, "map_t_base"},
      {ReferenceMessage(10, {0.0, kNotANumber, 0.0}), v1::SESSION_REQUEST_KIND_REFERENCE, 10,
       "position must have components"},
      {nowhere, v1::SESSION_REQUEST_KIND_REFERENCE, 0, "position"},
  };
  for (const auto& row : rows) {
    session.Send(row.request);
    const v1::AlignScansResponse response = session.Read();
    ASSERT_TRUE(response.has_rejected()) << response.ShortDebugString();
    EXPECT_EQ(response.rejected().kind(), row.kind);
    EXPECT_EQ(response.rejected().reason(), v1::REJECTION_REASON_INVALID);
    EXPECT_EQ(response.rejected().stamp_ns(), row.stamp_ns);
    EXPECT_THAT(response.rejected().detail(), HasSubstr(row.detail));
  }
  v1::Scan scan = GoodScan();
  AddDiagonalTo([](int) { return -1.0; }, *scan.mutable_guess_map_t_base());
  const v1::AlignmentResult result = session.Align(scan);
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_INVALID_INPUT);
  EXPECT_THAT(result.detail(), HasSubstr("guess_map_t_base.covariance"));
  scan.clear_guess_map_t_base();
  scan.mutable_guess_map_t_base();  // without a pose
  EXPECT_THAT(session.Align(scan).detail(), HasSubstr("guess_map_t_base.pose.orientation"));
  EXPECT_EQ(session.Align(GoodScan()).status(), v1::ALIGNMENT_STATUS_OK);
}

TEST_P(TrackingSession, ContradictoryOptionsEndTheStreamOrAreRejected) {
  const char* const recovery =
      "recovery { lost_after_scans: 1 initial_radius_m: 5 max_radius_m: 6 } ";
  for (const std::string& text : {
           std::string("setup { output { point_colors: true } }"),
           std::string("setup { options { gate { rule: 3 } } }"),
           std::string("setup { options { gate { odometry_drift { value: 1.5 } } } }"),
           absl::StrCat(recovery, "recovery { lost_after_scans: 0 }"),
           absl::StrCat(recovery, "recovery { max_radius_m: 4 }"),
           absl::StrCat(recovery, "recovery { false_confirmation_rate: 1 }"),
           absl::StrCat(recovery, "recovery { false_confirmation_rate: nan }"),
           absl::StrCat(recovery, "recovery { max_confirmation_scans: 1001 }"),
           absl::StrCat(recovery, "recovery { min_confirmation_travel_m: nan }"),
       }) {
    EXPECT_EQ(OpenError(server_, TownSession(text)).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT)
        << text;
  }

  // What would contradict only the rest of the session's options is found out as well.
  TestSession session(
      server_, TownSession("setup { options { covariance { method: COVARIANCE_METHOD_FIXED } } }"));
  v1::AlignScansRequest configure;
  configure.mutable_configure()->mutable_setup()->mutable_output()->mutable_protection();
  session.Send(configure);
  EXPECT_THAT(session.Read().rejected().detail(), HasSubstr("covariance.method CALIBRATED"));
  EXPECT_EQ(session.Align(GoodScan()).status(), v1::ALIGNMENT_STATUS_OK);
}

// A vehicle whose poses say that it is 6 m from where it is.
class LostVehicle : public TrackingSession {
 protected:
  static constexpr int64_t kStep = kSecond_ns / 10;
  static constexpr double kLostByM = 6.0;
  // Usual number of scans that confirm a found pose.
  static constexpr int kConfirming = 5;

  static v1::OpenSession RecoveringSession(bool apply, const std::string& text = "") {
    // Its steps are so short that it does not come back by itself. Scores alone accept poses that
    // are metres off: the ground fits everywhere.
    v1::OpenSession open = TownSession(
        "setup { options { profile: 'autoware' gate { min_confidence { value: 0.5 } } } }"
        "recovery { lost_after_scans: 2 initial_radius_m: 8 max_radius_m: 12 }" +
        text);
    open.mutable_recovery()->set_apply(apply);
    return open;
  }

  // Sends poses around scan `i`, and the scan.
  static void SendStep(TestSession& session, int i, const Pose& poses_say, v1::Scan scan) {
    const int64_t stamp_ns = kSecond_ns + i * kStep;
    session.Send(PoseMessage(stamp_ns - 1, poses_say));
    session.Send(PoseMessage(stamp_ns + 1, poses_say));
    scan.set_stamp_ns(stamp_ns);
    scan.set_sequence(static_cast<uint64_t>(i));
    session.Send(scan);
  }
  static v1::AlignmentResult Step(TestSession& session, int i, const Pose& poses_say,
                                  const v1::Scan& scan) {
    SendStep(session, i, poses_say, scan);
    return session.ReadResult();
  }
  // Of a vehicle that stands.
  static void SendStep(TestSession& session, int i, double off_x_m) {
    SendStep(session, i, Moved(off_x_m, 0.0), ScanAt(0));
  }
  static v1::AlignmentResult Step(TestSession& session, int i, double off_x_m) {
    return Step(session, i, Moved(off_x_m, 0.0), ScanAt(0));
  }

  // With scans 0 and 1: the next one is searched with.
  static void Lose(TestSession& session) {
    EXPECT_TRUE(Step(session, 0, 0.1).accepted());
    const v1::AlignmentResult missed = Step(session, 1, kLostByM);
    EXPECT_FALSE(missed.accepted()) << missed.ShortDebugString();
    EXPECT_FALSE(missed.has_recovery());
  }
  // Loses the vehicle and finds it, with scans 0 to 2.
  static v1::AlignmentResult LoseAndFind(TestSession& session) {
    Lose(session);
    return Step(session, 2, kLostByM);
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(LostVehicle);

TEST_P(LostVehicle, IsFoundAroundItsLastGoodPoseConfirmedAndTracked) {
  TestSession session(server_, RecoveringSession(true));
  const v1::AlignmentResult searched = LoseAndFind(session);
  EXPECT_FALSE(searched.accepted());
  ASSERT_TRUE(searched.has_recovery());
  const v1::RecoveryProposal& recovery = searched.recovery();
  EXPECT_EQ(recovery.detail(), "");
  EXPECT_EQ(recovery.state(), v1::RECOVERY_STATE_PENDING);
  EXPECT_FALSE(recovery.applied());
  EXPECT_EQ(recovery.checked_scans(), 0);
  EXPECT_EQ(recovery.search_radius_m(), 8.0);
  EXPECT_EQ(recovery.candidates(), 64);
  EXPECT_GT(recovery.confidence(), 0.0);
  const auto found = PoseFromProto(recovery.map_t_base().pose(), "map_t_base");
  ASSERT_TRUE(found.ok());
  EXPECT_LT(TranslationDistance(*found, VehiclePose()), 0.1);

  // Later scans confirm it before it is applied.
  for (int i = 1; i <= kConfirming; ++i) {
    const v1::AlignmentResult checked = Step(session, 2 + i, kLostByM);
    EXPECT_FALSE(checked.accepted());
    ASSERT_TRUE(checked.has_recovery()) << i;
    EXPECT_EQ(checked.recovery().state(),
              i < kConfirming ? v1::RECOVERY_STATE_PENDING : v1::RECOVERY_STATE_CONFIRMED);
    EXPECT_EQ(checked.recovery().applied(), i == kConfirming);
    EXPECT_EQ(checked.recovery().checked_scans(), i);
    EXPECT_EQ(checked.recovery().agreeing_scans(), i);
    EXPECT_EQ(checked.recovery().candidates(), 1);
    EXPECT_EQ(checked.recovery().search_radius_m(), 0.0);
    EXPECT_GT(checked.recovery().confidence(), 0.0);
    const auto pose = PoseFromProto(checked.recovery().map_t_base().pose(), "map_t_base");
    ASSERT_TRUE(pose.ok());
    EXPECT_LT(TranslationDistance(*pose, VehiclePose()), 0.1);
  }

  // The poses are as far off as before, and the session moves them.
  const v1::AlignmentResult tracked = Step(session, 20, kLostByM);
  EXPECT_TRUE(tracked.accepted()) << tracked.ShortDebugString();
  EXPECT_FALSE(tracked.has_recovery());
  EXPECT_LT(TranslationDistance(PoseOfResult(tracked), VehiclePose()), 0.05);
  EXPECT_EQ(tracked.timings().batch_size(), 1);
  // The client's filter has come back: its poses are right again, and lead there themselves.
  for (int i = 21; i < 30; ++i) {
    const v1::AlignmentResult back = Step(session, i, 0.1);
    EXPECT_TRUE(back.accepted()) << back.ShortDebugString();
    EXPECT_LT(TranslationDistance(PoseOfResult(back), VehiclePose()), 0.05);
  }
}

TEST_P(LostVehicle, WaitsForItsNextScanWhereTooManyAreSearchedFor) {
  const auto gate = std::make_shared<Gate>();
  TownServer server(
      [](Config& config) {
        config.limits.max_recoveries = 1;
        config.metrics_listen = "127.0.0.1:0";
      },
      std::make_unique<GatedEngine>(
          gate,
          [](absl::Span<const AlignJob> jobs) {
            return jobs.front().work_class == WorkClass::kSearching;
          },
          EngineHandle()));
  TestSession first(server);
  TestSession second(server);
  for (TestSession* session : {&first, &second}) {
    session->Open(RecoveringSession(true));
    Lose(*session);
  }
  gate->Close();
  SendStep(first, 2, kLostByM);
  gate->AwaitBatches(1);
  for (const int i : {2, 3}) {
    const v1::AlignmentResult refused = Step(second, i, kLostByM);
    EXPECT_EQ(refused.recovery().state(), v1::RECOVERY_STATE_NOT_FOUND);
    EXPECT_EQ(refused.recovery().candidates(), 0);
    EXPECT_EQ(refused.recovery().search_radius_m(), 8.0);  // no wider than before
    EXPECT_THAT(refused.recovery().detail(), HasSubstr("its limit of 1 allows"));
  }
  EXPECT_EQ(MetricsOf(server)["voxloc_rejected_total{class=\"searching\",reason=\"recoveries\"}"],
            2.0);
  gate->Open();
  EXPECT_EQ(first.ReadResult().recovery().state(), v1::RECOVERY_STATE_PENDING);
  const v1::AlignmentResult searched = Step(second, 4, kLostByM);
  EXPECT_EQ(searched.recovery().state(), v1::RECOVERY_STATE_PENDING);
  EXPECT_EQ(searched.recovery().search_radius_m(), 8.0);
}

TEST_P(LostVehicle, KeepsItsCorrectionWhileItDrivesAndItsPosesLag) {
  // 10 m/s; once lost, the poses are where the vehicle was 6 m before.
  const auto driven = [](double along_m) {
    return VehiclePose() * Pose{{along_m, 0.0, 0.0}, Eigen::Quaterniond::Identity()};
  };
  const auto step = [&](TestSession& session, int i, double lag_m) {
    const double along_m = -7.0 + i;
    v1::Scan scan = ScanAt(0);
    *scan.mutable_clouds(0)->mutable_cloud() = CloudOf(ScanFrom(driven(along_m)));
    const v1::AlignmentResult result = Step(session, i, driven(along_m - lag_m), scan);
    if (result.accepted()) {
      EXPECT_LT(TranslationDistance(PoseOfResult(result), driven(along_m)), 0.1) << i;
    }
    return result;
  };
  TestSession session(server_, RecoveringSession(true));
  EXPECT_TRUE(step(session, 0, 0.1).accepted());
  int i = 1;
  for (bool applied = false; !applied; ++i) {
    ASSERT_LT(i, 12) << "never recovered";
    const v1::AlignmentResult result = step(session, i, kLostByM);
    EXPECT_FALSE(result.accepted()) << i;
    applied = result.recovery().applied();
  }
  // It drives farther than the poses lag.
  const int recovered = i;
  for (; i < recovered + 9; ++i) {
    const v1::AlignmentResult result = step(session, i, kLostByM);
    EXPECT_TRUE(result.accepted()) << i << " " << result.ShortDebugString();
    EXPECT_FALSE(result.has_recovery());
  }
  // Then its client is reset.
  for (; i < recovered + 12; ++i) EXPECT_TRUE(step(session, i, 0.1).accepted()) << i;
}

TEST_P(LostVehicle, AFoundPoseThatLaterScansRefuteIsNeverApplied) {
  TestSession session(server_, RecoveringSession(true));
  EXPECT_EQ(LoseAndFind(session).recovery().state(), v1::RECOVERY_STATE_PENDING);
  // What comes now was taken elsewhere.
  v1::Scan elsewhere = ScanAt(0);
  *elsewhere.mutable_clouds(0)->mutable_cloud() = CloudOf(ScanFrom(Moved(-9.0, 7.0)));
  int i = 3;
  for (bool pending = true; pending; ++i) {
    ASSERT_LT(i, 8) << "still pending";
    const v1::AlignmentResult result = Step(session, i, Moved(kLostByM, 0.0), elsewhere);
    ASSERT_TRUE(result.has_recovery()) << i;
    EXPECT_FALSE(result.recovery().applied());
    EXPECT_FALSE(result.recovery().has_map_t_base());
    EXPECT_NE(result.recovery().detail(), "");
    EXPECT_EQ(result.recovery().agreeing_scans(), 0);
    pending = result.recovery().state() == v1::RECOVERY_STATE_PENDING;
    if (!pending) {
      EXPECT_EQ(result.recovery().state(), v1::RECOVERY_STATE_DROPPED);
    }
  }
  // The session searches on, in a wider disc.
  const v1::AlignmentResult searched = Step(session, i, Moved(kLostByM, 0.0), elsewhere);
  EXPECT_EQ(searched.recovery().search_radius_m(), 12.0);
}

TEST_P(LostVehicle, IsOnlyReportedWhereTheSessionDoesNotApply) {
  TestSession session(server_, RecoveringSession(false));
  EXPECT_TRUE(LoseAndFind(session).recovery().has_map_t_base());
  for (int i = 1; i < kConfirming + 3; ++i) {
    const v1::AlignmentResult checked = Step(session, 2 + i, kLostByM);
    EXPECT_FALSE(checked.accepted());
    EXPECT_TRUE(checked.recovery().has_map_t_base()) << checked.ShortDebugString();
    EXPECT_FALSE(checked.recovery().applied());
    EXPECT_EQ(checked.recovery().state(),
              i < kConfirming ? v1::RECOVERY_STATE_PENDING : v1::RECOVERY_STATE_CONFIRMED);
  }
}

TEST_P(LostVehicle, TheConfirmationCanBeChosen) {
  const auto states = [this](int scans, const std::string& text) {
    TestSession session(server_, RecoveringSession(true, text));
    std::vector<v1::RecoveryState> told = {LoseAndFind(session).recovery().state()};
    for (int i = 3; i < scans; ++i) {
      const v1::RecoveryProposal recovery = Step(session, i, kLostByM).recovery();
      told.push_back(recovery.state());
      EXPECT_EQ(recovery.applied(), recovery.state() == v1::RECOVERY_STATE_CONFIRMED);
    }
    return told;
  };
  EXPECT_THAT(states(4, "recovery { false_confirmation_rate: 0.3 }"),
              ElementsAre(v1::RECOVERY_STATE_PENDING, v1::RECOVERY_STATE_CONFIRMED));
  EXPECT_THAT(states(5, "recovery { false_confirmation_rate: 1e-9 max_confirmation_scans: 2 }"),
              ElementsAre(v1::RECOVERY_STATE_PENDING, v1::RECOVERY_STATE_PENDING,
                          v1::RECOVERY_STATE_DROPPED));
  // It stands.
  EXPECT_THAT(states(12, "recovery { min_confirmation_travel_m: 1 }"),
              Each(v1::RECOVERY_STATE_PENDING));
}

TEST_P(LostVehicle, IsNotLookedForUnlessAskedFor) {
  v1::OpenSession open = RecoveringSession(true);
  open.clear_recovery();
  TestSession session(server_, open);
  EXPECT_TRUE(Step(session, 0, 0.1).accepted());
  for (int i = 1; i < 4; ++i) {
    const v1::AlignmentResult result = Step(session, i, kLostByM);
    EXPECT_FALSE(result.accepted());
    EXPECT_FALSE(result.has_recovery());
  }
}

TEST_P(LostVehicle, AProposalSaysWhyThereIsNone) {
  TestSession session(
      server_,
      RecoveringSession(true, "setup { options { gate { score_threshold { value: -1 } } } }"));
  EXPECT_TRUE(Step(session, 0, 0.1).accepted());
  v1::AlignmentOptions options;
  options.mutable_gate()->mutable_score_threshold()->set_value(1000.0);
  session.Send(ConfigureMessage(options));
  ASSERT_TRUE(session.Read().has_configured());
  EXPECT_FALSE(Step(session, 1, 0.1).has_recovery());
  const v1::AlignmentResult searched = Step(session, 2, 0.1);
  ASSERT_TRUE(searched.has_recovery());
  EXPECT_FALSE(searched.recovery().has_map_t_base());
  EXPECT_FALSE(searched.recovery().applied());
  EXPECT_NE(searched.recovery().detail(), "");
}

}  // namespace
}  // namespace voxloc::server
