// SPDX-License-Identifier: Apache-2.0
//
// What a reply says beyond the pose: its covariance, what the scan observes, how likely it is
// right, colours, scores without the ground, diagnostics.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/geometry/covariance.h"
#include "server/convert/pose.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Matrix6 CovarianceOf(const v1::AlignmentResult& result) {
  Matrix6 covariance = Matrix6::Zero();
  EXPECT_EQ(result.map_t_base().covariance_size(), 36) << result.ShortDebugString();
  for (int i = 0; i < result.map_t_base().covariance_size(); ++i)
    covariance(i / 6, i % 6) = result.map_t_base().covariance(i);
  return covariance;
}

Eigen::Vector2d PlaceOf(const v1::Pose& pose) { return {pose.position().x(), pose.position().y()}; }

// In protobuf's text format.
std::string FixedCovariance(const std::vector<double>& diagonal) {
  std::string text;
  for (int i = 0; i < 36; ++i) {
    absl::StrAppend(&text,
                    " fixed_covariance: ", i % 7 == 0 ? diagonal[static_cast<size_t>(i / 7)] : 0.0);
  }
  return text;
}
const std::string kFloors = FixedCovariance(std::vector<double>(6, 1e-12));

void AddDiagonal(const std::vector<double>& diagonal, google::protobuf::RepeatedField<double>& to) {
  for (int i = 0; i < 36; ++i) to.Add(i % 7 == 0 ? diagonal[static_cast<size_t>(i / 7)] : 0.0);
}

// Level ground of 40 x 40 m with nothing on it, 2 cm of noise.
PointCloud Field() {
  std::mt19937 noise(3);
  PointCloud field;
  for (double x = -20.0; x < 20.0; x += 0.1) {
    for (double y = -20.0; y < 20.0; y += 0.1) {
      const double z = 0.02 * (static_cast<double>(noise()) / 2147483648.0 - 1.0);
      field.PushBack(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z));
    }
  }
  return field;
}

// What GoodScan would see there within 12 m.
v1::Scan FieldScan() {
  const Pose base_T_map = VehiclePose().Inverse();
  PointCloud points;
  for (double x = -11.0; x < 13.0; x += 0.43) {
    for (double y = -12.0; y < 12.0; y += 0.43) {
      const Eigen::Vector3d point = base_T_map * Eigen::Vector3d(x, y, 0.0);
      if (point.norm() > 12.0) continue;
      points.PushBack(static_cast<float>(point.x()), static_cast<float>(point.y()),
                      static_cast<float>(point.z()));
    }
  }
  v1::Scan scan = GoodScan();
  *scan.mutable_clouds(0)->mutable_cloud() = CloudOf(points);
  return scan;
}

// Of positions in the plane, by their weights.
Eigen::Matrix2d SpreadOf(const std::vector<Eigen::Vector2d>& places,
                         const std::vector<double>& weights) {
  double sum = 0.0;
  for (const double weight : weights) sum += weight;
  Eigen::Vector2d mean = Eigen::Vector2d::Zero();
  for (size_t i = 0; i < places.size(); ++i) mean += weights[i] / sum * places[i];
  Eigen::Matrix2d spread = Eigen::Matrix2d::Zero();
  for (size_t i = 0; i < places.size(); ++i) {
    spread += weights[i] / sum * (places[i] - mean) * (places[i] - mean).transpose();
  }
  return spread;
}

void ExpectPositionCovariance(const v1::AlignmentResult& result, const Eigen::Matrix2d& expected) {
  EXPECT_TRUE((CovarianceOf(result).topLeftCorner<2, 2>().isApprox(expected, 3e-3)))
      << CovarianceOf(result) << "\n\n"
      << expected;
}

class Estimates : public EngineTest {
 protected:
  v1::AlignmentResult Align(const std::string& text = "", const v1::Scan& scan = GoodScan()) {
    TestSession session(server_, TownSession(text));
    return session.Align(scan);
  }
  Matrix6 CovarianceWith(const std::string& text) {
    return CovarianceOf(Align(absl::StrCat("setup { options { covariance { ", text, " } } }")));
  }

  // With floors that nothing is below. The reference turns x and y by a block of the rotation that
  // is not quite a rotation where the vehicle is tilted, so covariances agree to a thousandth only.
  v1::AlignmentResult AlignBy(const std::string& method) {
    return Align(absl::StrCat("setup { options { profile: 'autoware' covariance { method: ", method,
                              kFloors, " } } output { hessian: true } }"));
  }

  static void AddRoof(Config& config) {
    SensorCalibration roof;
    roof.name = "roof";
    roof.position_sigma_m.value = {0.5, 0.5, 0.5};
    config.sensors.Set(roof);
  }

  TownServer server_{AddRoof, EngineHandle()};
};
VOXLOC_INSTANTIATE_ON_ENGINES(Estimates);

TEST_P(Estimates, TheProfileNamesTheMethodWhereTheRequestDoesNot) {
  v1::AlignmentResult result = Align("setup { options { profile: 'autoware' } }");
  EXPECT_EQ(result.covariance_report().method(), v1::COVARIANCE_METHOD_FIXED);
  const Matrix6 fixed = CovarianceOf(result);
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(fixed(i, i), i < 3 ? 0.0225 : 0.000625, 1e-9);

  result = Align();
  EXPECT_EQ(result.covariance_report().method(), v1::COVARIANCE_METHOD_CALIBRATED);
  EXPECT_EQ(result.covariance_report().detail(), "");
  const Matrix6 calibrated = CovarianceOf(result);
  EXPECT_TRUE(calibrated.isApprox(calibrated.transpose(), 1e-12));
  EXPECT_GT(calibrated.selfadjointView<Eigen::Lower>().eigenvalues().minCoeff(), 0.0);
  EXPECT_LT(std::sqrt(calibrated(0, 0)), 0.2);
}

TEST_P(Estimates, TheSystematicErrorIsAddedToTheCalibratedCovariance) {
  const Matrix6 scan_alone = CovarianceWith(
      "systematic_position_sigma_m: [0, 0, 0] systematic_rotation_sigma_rad: [0, 0, 0]");
  const Matrix6 difference = CovarianceWith(
                                 "systematic_position_sigma_m: [0.2, 0.2, 0.2] "
                                 "systematic_rotation_sigma_rad: [0.01, 0.01, 0.01]") -
                             scan_alone;
  // Equal along all axes, so it does not turn with the vehicle.
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      const double expected = i != j ? 0.0 : i < 3 ? 0.04 : 1e-4;
      EXPECT_NEAR(difference(i, j), expected, 1e-9) << i << ", " << j;
    }
  }
  // Not zero unless zero is asked for.
  const Matrix6 shipped = CovarianceWith("") - scan_alone;
  EXPECT_GT(shipped.diagonal().minCoeff(), 0.0);
}

TEST_P(Estimates, SaysWhatTheCalibratedCovarianceIsTheSumOf) {
  const v1::AlignmentResult result = Align();
  const v1::SigmaShares& shares = result.covariance_report().sigma_shares();
  ASSERT_EQ(shares.scan_size(), 6);
  ASSERT_EQ(shares.time_size(), 6);
  ASSERT_EQ(shares.sweep_size(), 6);
  EXPECT_THAT(shares.map_and_mounting(),
              ElementsAre(0.04f, 0.04f, 0.04f, 0.0035f, 0.0035f, 0.0035f));
  const Matrix6 covariance = CovarianceOf(result);
  // The trace does not turn with the vehicle.
  double variance = 0.0;
  for (const auto* part :
       {&shares.scan(), &shares.map_and_mounting(), &shares.time(), &shares.sweep()}) {
    for (int i = 0; i < 3; ++i) variance += std::pow(part->Get(i), 2);
  }
  EXPECT_NEAR(variance, (covariance.topLeftCorner<3, 3>().trace()), 1e-6 * variance);
  // One scan without a session tells nothing of the motion.
  EXPECT_THAT(shares.time(), Each(0.0f));
  EXPECT_FALSE(
      Align("setup { options { profile: 'autoware' } }").covariance_report().has_sigma_shares());
}

TEST_P(Estimates, ASessionNamesTheSensorWhoseCalibrationHolds) {
  const auto with = [this](const std::string& sensor) {
    return CovarianceOf(Align(absl::StrCat("setup { options { sensor: '", sensor, "' } }")));
  };
  const Matrix6 difference = with("roof") - with("");
  for (int i = 0; i < 6; ++i) {
    EXPECT_NEAR(difference(i, i), i < 3 ? 0.25 - 0.0016 : 0.0, 1e-9) << i;
  }

  const grpc::Status status =
      OpenError(server_, TownSession("setup { options { sensor: 'rof' } }"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("known: default, roof; did you mean roof?"));

  EXPECT_THAT(ServerInfoOf(server_).sensors(), ElementsAre("default", "roof"));
}

TEST_P(Estimates, TheTimePartGrowsAlongTheWayOfTheSessionsPoses) {
  const auto moving = [this](double speed_m_s) {
    TestSession session(server_, TownSession("setup { options { covariance {"
                                             " systematic_time_sigma_s { value: 0.1 }"
                                             " systematic_skew_sigma_s { value: 0 } } } }"));
    v1::Scan scan = GoodScan();
    for (const int side : {-1, 1}) {
      v1::AlignScansRequest request;
      request.mutable_pose()->set_stamp_ns(scan.stamp_ns() + side * 50'000'000);
      Pose pose = VehiclePose();
      pose.translation += pose.rotation * Eigen::Vector3d(side * 0.05 * speed_m_s, 0.0, 0.0);
      PoseToProto(pose, *request.mutable_pose()->mutable_map_t_base()->mutable_pose());
      session.Send(request);
    }
    return CovarianceOf(session.Align(scan));
  };
  const Matrix6 difference = moving(2.0) - moving(0.0);
  const Eigen::Vector3d way = VehiclePose().rotation * Eigen::Vector3d(0.2, 0.0, 0.0);
  const Eigen::Matrix3d expected = way * way.transpose();
  const Eigen::Matrix3d position = difference.topLeftCorner<3, 3>();
  // The answer is turned against the truth by some milliradians.
  EXPECT_TRUE(position.isApprox(expected, 0.03)) << position;
}

TEST_P(Estimates, ASystematicErrorOfTwoValuesIsRefused) {
  const grpc::Status status = OpenError(
      server_,
      TownSession("setup { options { covariance { systematic_position_sigma_m: [0.1, 0.1] } } }"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("systematic_position_sigma_m must have 3 values"));
}

TEST_P(Estimates, TheFixedCovarianceTurnsItsPositionWithTheVehicle) {
  const v1::AlignmentResult result =
      Align(absl::StrCat("setup { options { covariance { method: COVARIANCE_METHOD_FIXED ",
                         FixedCovariance({1.0, 4.0, 9.0, 16.0, 25.0, 36.0}), " } } }"));
  const auto pose = PoseFromProto(result.map_t_base().pose(), "map_t_base");
  ASSERT_TRUE(pose.ok());
  const Matrix6 covariance = CovarianceOf(result);
  const Eigen::Matrix3d map_R_base = pose->rotation.toRotationMatrix();
  const Eigen::Matrix3d turned =
      map_R_base * Eigen::Vector3d(1.0, 4.0, 9.0).asDiagonal() * map_R_base.transpose();
  EXPECT_TRUE((covariance.topLeftCorner<3, 3>().isApprox(turned, 1e-6))) << covariance;
  EXPECT_EQ((covariance.bottomRightCorner<3, 3>().diagonal()), Eigen::Vector3d(16.0, 25.0, 36.0));
}

TEST_P(Estimates, LaplaceIsTheInverseOfTheHessiansBlock) {
  const v1::AlignmentResult result = AlignBy("COVARIANCE_METHOD_LAPLACE");
  ASSERT_EQ(result.hessian_size(), 36);
  Eigen::Matrix2d hessian;
  hessian << result.hessian(0), result.hessian(1), result.hessian(6), result.hessian(7);
  ExpectPositionCovariance(result, (-hessian).inverse());
}

TEST_P(Estimates, MultiNdtIsTheSpreadOfAlignmentsAroundTheResult) {
  const v1::AlignmentResult result = AlignBy("COVARIANCE_METHOD_MULTI_NDT");
  const v1::CovarianceReport& report = result.covariance_report();
  ASSERT_EQ(report.offset_map_t_base_size(), 6);
  ASSERT_EQ(report.aligned_map_t_base_size(), 6);
  EXPECT_EQ(report.nvtl_size(), 6);
  std::vector<Eigen::Vector2d> places = {PlaceOf(result.map_t_base().pose())};
  for (const v1::Pose& pose : report.aligned_map_t_base()) places.push_back(PlaceOf(pose));
  ExpectPositionCovariance(result, 6.0 / 7.0 * SpreadOf(places, std::vector<double>(7, 1.0)));
}

TEST_P(Estimates, MultiNdtScoreWeighsOffsetsByTheirScores) {
  const v1::AlignmentResult result = AlignBy("COVARIANCE_METHOD_MULTI_NDT_SCORE");
  const v1::CovarianceReport& report = result.covariance_report();
  ASSERT_EQ(report.offset_map_t_base_size(), 6);
  ASSERT_EQ(report.nvtl_size(), 6);
  EXPECT_EQ(report.aligned_map_t_base_size(), 0);
  std::vector<Eigen::Vector2d> places = {PlaceOf(result.map_t_base().pose())};
  std::vector<double> weights = {std::exp(result.scores().nvtl() / 0.05)};
  for (int i = 0; i < 6; ++i) {
    places.push_back(PlaceOf(report.offset_map_t_base(i)));
    weights.push_back(std::exp(report.nvtl(i) / 0.05));
  }
  ExpectPositionCovariance(result, SpreadOf(places, weights));
}

TEST_P(Estimates, ScaleFactorScalesWhatIsEstimated) {
  const auto align = [this](double factor) {
    return CovarianceWith(absl::StrCat("method: COVARIANCE_METHOD_LAPLACE", kFloors,
                                       " scale_factor { value: ", factor, " }"));
  };
  EXPECT_NEAR(align(7.0)(0, 0) / align(1.0)(0, 0), 7.0, 1e-6);
}

TEST_P(Estimates, SaysHowLikelyThePoseIsRightUnlessItIsLeftOut) {
  const v1::AlignmentResult result = Align();
  ASSERT_TRUE(result.has_confidence());
  EXPECT_GT(result.confidence().value(), 0.0);
  EXPECT_LE(result.confidence().value(), 1.0);
  EXPECT_GT(result.confidence().sharp_ratio(), 0.0);
  EXPECT_GT(result.confidence().raised_points(), 0U);
  EXPECT_GT(result.confidence().raised_ratio(), 0.5);
  EXPECT_GT(result.confidence().rays(), 0U);
  // An alignment that has converged is within a few centimetres of the optimum.
  EXPECT_LT(result.confidence().remaining_step_m(), 0.1);
  EXPECT_LT(result.confidence().remaining_turn_rad(), 0.01);
  EXPECT_GT(result.confidence().cluster_step_m(), 0.0);
  EXPECT_GT(result.confidence().cluster_turn_rad(), 0.0);
  EXPECT_GT(result.confidence().cell_size_m(), 0.0);
  EXPECT_FALSE(Align("setup { output { no_confidence: true } }").has_confidence());
}

TEST_P(Estimates, SaysHowFarOffThePositionMayBeOnRequest) {
  EXPECT_FALSE(Align().has_protection());
  const auto levels_at = [this](double risk) {
    // For what this small town shows of few places only.
    v1::Scan scan = GoodScan();
    AddDiagonal(std::vector<double>(6, 0.1),
                *scan.mutable_guess_map_t_base()->mutable_covariance());
    const v1::AlignmentResult result =
        Align(absl::StrCat("setup { options { covariance { method: COVARIANCE_METHOD_CALIBRATED } }"
                           " output { protection { risk { value: ",
                           risk, " } } } }"),
              scan);
    const v1::Vector3& found = result.map_t_base().pose().position();
    const Eigen::Vector3d error =
        Eigen::Vector3d(found.x(), found.y(), found.z()) - VehiclePose().translation;
    EXPECT_GT(result.protection().horizontal_m(), error.head<2>().norm());
    EXPECT_GT(result.protection().vertical_m(), std::abs(error.z()));
    EXPECT_EQ(result.protection().risk(), risk);
    EXPECT_EQ(result.protection().excluded_points(), 0U);
    EXPECT_EQ(result.protection().map_t_base().position().x(), found.x());
    return result.protection();
  };
  const v1::ProtectionLevels often = levels_at(0.01);
  const v1::ProtectionLevels rarely = levels_at(1e-6);
  EXPECT_TRUE(std::isfinite(rarely.horizontal_m()));
  EXPECT_GT(rarely.horizontal_m(), 1.2 * often.horizontal_m());
  EXPECT_GT(rarely.vertical_m(), 1.2 * often.vertical_m());
}

TEST_P(Estimates, AConfidenceBelowTheLimitIsNotAccepted) {
  // A third of the points hangs where the map has nothing.
  PointCloud points = ScanFrom(VehiclePose());
  for (size_t i = 0; i < points.size(); i += 3) points.z[i] += 60.0F;
  v1::Scan scan = GoodScan();
  *scan.mutable_clouds(0)->mutable_cloud() = CloudOf(points);
  const v1::AlignmentResult result = Align(
      "setup { options { gate { min_confidence { value: 1 } } } output { diagnostics: true } }",
      scan);
  ASSERT_LT(result.confidence().value(), 1.0);
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_LOW_CONFIDENCE);
  EXPECT_FALSE(result.accepted());
  EXPECT_TRUE(result.has_map_t_base());
  EXPECT_THAT(result.detail(), HasSubstr("is below 1"));
  EXPECT_THAT(result.diagnostics().message(), HasSubstr("is below 1"));
}

TEST_P(Estimates, SaysWhichDirectionsTheScanObserves) {
  const v1::Degeneracy town = Align().degeneracy();
  ASSERT_EQ(town.eigenvalues_size(), 6);
  ASSERT_EQ(town.eigenvectors_size(), 36);
  EXPECT_THAT(town.axes(), ::testing::Not(::testing::Contains(v1::AXIS_VERDICT_UNOBSERVED)));

  server_.LoadMap("field", Field());
  const v1::AlignmentResult result = Align(
      // On a field a search slides for long.
      "setup { map: 'field' options { gate { rule: ACCEPTANCE_RULE_REFERENCE"
      " score_threshold { value: 0 } } overrides { max_iterations { value: 200 } } } }",
      FieldScan());
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_DEGENERATE) << result.ShortDebugString();
  EXPECT_TRUE(result.accepted());
  EXPECT_THAT(result.degeneracy().axes(),
              ElementsAre(v1::AXIS_VERDICT_UNOBSERVED, v1::AXIS_VERDICT_UNOBSERVED,
                          v1::AXIS_VERDICT_OBSERVED, v1::AXIS_VERDICT_OBSERVED,
                          v1::AXIS_VERDICT_OBSERVED, v1::AXIS_VERDICT_UNOBSERVED));
  EXPECT_EQ(result.detail(), "not observed: x, y, rz");
  EXPECT_GT(result.degeneracy().condition(), 10.0 * town.condition());
}

TEST_P(Estimates, AcceptsADegenerateScanStrictlyOnlyWhereItsGuessIsSure) {
  server_.LoadMap("field", Field());
  const auto judged = [this](const std::vector<double>& variances) {
    v1::Scan scan = FieldScan();
    auto& covariance = *scan.mutable_guess_map_t_base()->mutable_covariance();
    covariance.Clear();
    if (!variances.empty()) AddDiagonal(variances, covariance);
    return Align(
        "setup { map: 'field' options { gate { rule: ACCEPTANCE_RULE_STRICT"
        " score_threshold { value: 0 } min_confidence { value: 0 } }"
        " overrides { degeneracy_aware { value: true } } } }",
        scan);
  };
  const v1::AlignmentResult bare = judged({});
  EXPECT_EQ(bare.status(), v1::ALIGNMENT_STATUS_DEGENERATE) << bare.detail();
  EXPECT_FALSE(bare.accepted());
  EXPECT_EQ(bare.degeneracy().settled_by(), v1::PRIOR_SOURCE_UNSPECIFIED);
  const v1::AlignmentResult unsure = judged({1.0, 1.0, 1.0, 0.01, 0.01, 0.01});
  EXPECT_FALSE(unsure.accepted()) << unsure.detail();
  const v1::AlignmentResult sure = judged({1e-3, 1e-3, 1e-3, 1e-7, 1e-7, 1e-7});
  EXPECT_EQ(sure.status(), v1::ALIGNMENT_STATUS_DEGENERATE);
  EXPECT_TRUE(sure.accepted()) << sure.detail();
  EXPECT_EQ(sure.degeneracy().settled_by(), v1::PRIOR_SOURCE_GUESS);
  EXPECT_GT(sure.degeneracy().settled_within_m(), 2.0 * std::sqrt(1e-3));
  EXPECT_LE(sure.degeneracy().settled_within_m(), 1.0);
}

TEST_P(Estimates, ADegeneracyAwareSearchLeavesTheRestAtTheGuess) {
  server_.LoadMap("field", Field());
  const auto moved_m = [this](bool aware) {
    const v1::AlignmentResult result =
        Align(absl::StrCat("setup { map: 'field' options { overrides { degeneracy_aware { value: ",
                           aware ? "true" : "false", " } } } }"),
              FieldScan());
    return (PlaceOf(result.map_t_base().pose()) - PlaceOf(result.guess_map_t_base())).norm();
  };
  EXPECT_GT(moved_m(false), 5.0 * moved_m(true));
}

TEST_P(Estimates, KnowsHowFarTheResultLiesFromAGuessOfKnownCovariance) {
  const auto innovation = [this](double variance) {
    v1::Scan scan = GoodScan();  // 0.36 m off
    if (variance > 0.0) {
      AddDiagonal(std::vector<double>(6, variance),
                  *scan.mutable_guess_map_t_base()->mutable_covariance());
    }
    return Align("", scan).confidence().innovation();
  };
  EXPECT_EQ(innovation(0.0), 0.0);
  EXPECT_GT(innovation(1e-3), 3.0 * innovation(1.0));
}

TEST_P(Estimates, ColoursPointsByTheirScores) {
  const v1::AlignmentResult result =
      Align("setup { output { point_scores: true point_colors: true } }");
  const v1::PointScores& points = result.point_scores();
  ASSERT_EQ(points.rgb().size(), 3 * static_cast<size_t>(points.best_score_size()));
  size_t black = 0;
  size_t unmatched = 0;
  for (int i = 0; i < points.best_score_size(); ++i) {
    const std::string colour = points.rgb().substr(3 * static_cast<size_t>(i), 3);
    black += colour == std::string(3, '\0') ? 1 : 0;
    unmatched += points.best_score(i) == 0.0F ? 1 : 0;
    // Half way and beyond there is no blue, up to there no red.
    EXPECT_TRUE(points.best_score(i) < 2.3F || colour[2] == '\0');
    EXPECT_TRUE(points.best_score(i) > 2.2F || colour[0] == '\0');
  }
  EXPECT_EQ(black, unmatched);
}

TEST_P(Estimates, ScoresThePointsThatStandClearOfTheGround) {
  const v1::AlignmentResult result =
      Align("setup { output { no_ground { z_margin_m: 0.8 cloud: true } } }");
  const auto pose = PoseFromProto(result.map_t_base().pose(), "map_t_base");
  ASSERT_TRUE(pose.ok());
  const PointCloud scan = ScanFrom(VehiclePose());
  size_t clear = 0;
  for (size_t i = 0; i < scan.size(); ++i) {
    clear += (*pose * scan.Point(i)).z() - pose->translation.z() > 0.8 ? 1 : 0;
  }
  ASSERT_GT(clear, 10);
  EXPECT_EQ(result.no_ground().points(), clear);
  EXPECT_EQ(result.no_ground().cloud().data().size(), clear * 12);
  EXPECT_GT(result.no_ground().scores().nvtl(), 0.0);
  EXPECT_LE(result.no_ground().scores().matched_points(), clear);
  EXPECT_FALSE(Align().has_no_ground());
}

TEST_P(Estimates, DiagnosticsHaveAllKeysOfAutowareInItsOrder) {
  const v1::AlignmentResult result = Align("setup { output { diagnostics: true } }");
  std::vector<std::string> keys;
  for (const v1::DiagnosticEntry& entry : result.diagnostics().entries()) {
    keys.push_back(entry.key());
  }
  EXPECT_THAT(
      keys, ElementsAre("topic_time_stamp", "sensor_points_size", "sensor_points_delay_time_sec",
                        "is_succeed_transform_sensor_points", "sensor_points_max_distance",
                        "is_activated", "is_succeed_interpolate_initial_pose", "is_set_map_points",
                        "iteration_num", "local_optimal_solution_oscillation_num",
                        "transform_probability", "nearest_voxel_transformation_likelihood",
                        "transform_probability_diff", "transform_probability_before",
                        "nearest_voxel_transformation_likelihood_diff",
                        "nearest_voxel_transformation_likelihood_before",
                        "distance_initial_to_result", "execution_time", "skipping_publish_num"));
  const auto& entries = result.diagnostics().entries();
  EXPECT_EQ(entries[0].int_value(), 100'000'000);
  EXPECT_EQ(entries[1].int_value(), 1500);
  EXPECT_GT(entries[4].double_value(), 20.0);
  EXPECT_LE(entries[4].double_value(), 25.001);
  EXPECT_EQ(entries[8].int_value(), result.iterations());
  EXPECT_EQ(entries[11].double_value(), result.scores().nvtl());
  EXPECT_EQ(entries[15].double_value(), result.initial_scores().nvtl());
  EXPECT_NEAR(entries[16].double_value(), 0.364, 0.05);
  EXPECT_GT(entries[17].double_value(), 0.0);
  EXPECT_EQ(entries[18].int_value(), 0);
  // The stamp lies in 1970: the scan is late.
  EXPECT_EQ(result.diagnostics().level(), v1::DIAGNOSTIC_LEVEL_WARN);
  EXPECT_FALSE(Align().has_diagnostics());
}

TEST_P(Estimates, ServesACallWithoutASessionAlike) {
  v1::AlignScanRequest request;
  *request.mutable_setup() = TownSession(
                                 "setup { output { diagnostics: true } options {"
                                 " covariance { method: COVARIANCE_METHOD_MULTI_NDT } } }")
                                 .setup();
  *request.mutable_scan() = GoodScan();
  v1::AlignScanResponse response;
  const grpc::Status status =
      server_.localization->AlignScan(TestServer::NewContext().get(), request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.result().covariance_report().method(), v1::COVARIANCE_METHOD_MULTI_NDT);
  EXPECT_EQ(response.result().diagnostics().entries_size(), 19);
  EXPECT_TRUE(response.result().has_confidence());
}

}  // namespace
}  // namespace voxloc::server
