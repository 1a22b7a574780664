// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/calibrated_covariance.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <cmath>
#include <memory>

#include "tests/support/engine_test.h"
#include "tests/support/random_numbers.h"
#include "tests/support/room_scene.h"

namespace voxloc {
namespace {

using Vector6d = Eigen::Matrix<double, 6, 1>;

Vector6d ErrorOf(const Pose& map_T_base, const Pose& truth) {
  const Eigen::AngleAxisd turn(map_T_base.rotation * truth.rotation.conjugate());
  Vector6d error;
  error << map_T_base.translation - truth.translation, WrapAngle(turn.angle()) * turn.axis();
  return error;
}

AlignJob MakeJob(const std::shared_ptr<const ResidentMap>& map, PointCloud scan, const Pose& guess,
                 const Profile& profile) {
  AlignJob job;
  job.map = map;
  job.scan = std::make_shared<const PointCloud>(std::move(scan));
  job.map_T_base_guess = guess;
  job.profile = profile;
  return job;
}

PointCloud CorridorScan(const std::vector<Rectangle>& scene, const Pose& truth) {
  return ScanOf(scene, truth, 8000, 0.02, 7, 20.0);
}

Degeneracy DegeneracyOf(const CalibratedCovariance& calibrated) {
  return AnalyzeDegeneracy(calibrated.information, calibrated.rotation_scale_m, kDegeneracyLimits);
}

void ExpectPositiveDefinite(const Matrix6& covariance) {
  ASSERT_TRUE(covariance.allFinite()) << covariance;
  EXPECT_EQ((covariance - covariance.transpose()).cwiseAbs().maxCoeff(), 0.0);
  EXPECT_EQ(Eigen::LLT<Matrix6>(covariance).info(), Eigen::Success) << covariance;
}

Pose LevelPoseAt(double x, double y, double z) {
  return {{x, y, z}, Eigen::Quaterniond::Identity()};
}

class CalibratedCovarianceTest : public EngineTest {
 protected:
  static std::shared_ptr<const ResidentMap> MakePlace(const std::vector<Rectangle>& rectangles,
                                                      size_t points) {
    return LoadMap(engine(), {PointsOn(rectangles, points, 0.01, 11)}, AllStatistics());
  }

  static std::vector<CalibratedCovariance> Calibrate(const std::vector<AlignJob>& jobs,
                                                     const std::vector<AlignResult>& results,
                                                     bool covariance = true) {
    std::vector<CalibrationRequest> requests;
    for (size_t i = 0; i < jobs.size(); ++i) {
      requests.push_back({{&jobs[i], &results[i]}, covariance});
    }
    return CalibrateCovariances(engine(), requests);
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(CalibratedCovarianceTest);

// Scans from many poses in a room whose noise is known: the errors that alignments really make are
// those that the covariances say.
TEST_P(CalibratedCovarianceTest, TellsTheSpreadOfErrorsInARoom) {
  const auto room = MakePlace(Room(), 120'000);
  RandomNumbers random(5);
  std::vector<AlignJob> jobs;
  std::vector<Pose> truths;
  for (uint64_t i = 0; i < 120; ++i) {
    ChartVector chart;
    chart << random.Uniform(-1.5, 1.5), random.Uniform(-1.5, 1.5), random.Uniform(1.0, 2.0),
        random.Uniform(-0.05, 0.05), random.Uniform(-0.05, 0.05), random.Uniform(-3.0, 3.0);
    truths.push_back(PoseFromChart(chart));
    jobs.push_back(MakeJob(room, ScanOf(Room(), truths.back(), 900, 0.02, 1000 + i),
                           Displaced(truths.back(), random.InBox(0.05), 0.01), PreciseProfile()));
  }
  const std::vector<AlignResult> results = engine().Align(jobs);
  const std::vector<CalibratedCovariance> calibrated = Calibrate(jobs, results);
  double distance = 0.0;
  Vector6d square_error = Vector6d::Zero();
  Vector6d variance = Vector6d::Zero();
  for (size_t i = 0; i < jobs.size(); ++i) {
    ASSERT_TRUE(calibrated[i].status.ok()) << calibrated[i].status;
    ExpectPositiveDefinite(calibrated[i].covariance);
    const Vector6d error = ErrorOf(results[i].map_T_base, truths[i]);
    ASSERT_LT(error.norm(), 0.05) << i;
    distance += error.dot(Eigen::LLT<Matrix6>(calibrated[i].covariance).solve(error));
    square_error += error.cwiseAbs2();
    variance += calibrated[i].covariance.diagonal();
  }
  // The mean of chi squared with six degrees of freedom is 6; over 120 draws it spreads by 0.32.
  EXPECT_GT(distance / 120.0, 3.6);
  EXPECT_LT(distance / 120.0, 8.4);
  for (int axis = 0; axis < 6; ++axis) {
    const double ratio = std::sqrt(variance[axis] / square_error[axis]);
    EXPECT_GT(ratio, 0.75) << axis;
    EXPECT_LT(ratio, 1.6) << axis;
  }
}

TEST_P(CalibratedCovarianceTest, InformationIsTheSameWithoutTheCovariance) {
  const auto room = MakePlace(Room(), 60'000);
  const Pose truth = LevelPoseAt(0.3, -0.2, 1.4);
  std::vector<AlignJob> jobs;
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    jobs.push_back(MakeJob(room, ScanOf(Room(), truth, 1200, 0.02, 3),
                           Displaced(truth, Eigen::Vector3d(0.03, 0.02, 0.0), 0.01), profile));
  }
  const std::vector<AlignResult> results = engine().Align(jobs);
  const auto calibrated = Calibrate(jobs, results);
  const auto observed = Calibrate(jobs, results, /*covariance=*/false);
  ASSERT_EQ(observed.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(observed[i].status.ok()) << observed[i].status;
    EXPECT_EQ(observed[i].rotation_scale_m, calibrated[i].rotation_scale_m);
    EXPECT_EQ(observed[i].information, calibrated[i].information) << i;
  }
}

TEST_P(CalibratedCovarianceTest, IsWideAlongACorridorAndNarrowAcrossIt) {
  const auto corridor = MakePlace(Corridor(), 200'000);
  const Pose truth = LevelPoseAt(0.7, 0.2, 1.5);
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    SCOPED_TRACE(profile.name);
    const std::vector<AlignJob> jobs = {
        MakeJob(corridor, CorridorScan(Corridor(), truth), truth, profile)};
    const std::vector<AlignResult> results = engine().Align(jobs);
    const auto calibrated = Calibrate(jobs, results);
    ASSERT_TRUE(calibrated[0].status.ok()) << calibrated[0].status;
    const Matrix6& covariance = calibrated[0].covariance;
    ExpectPositiveDefinite(covariance);
    EXPECT_GE(std::sqrt(covariance(0, 0)), 0.99 * kUnobservedSigmaM);
    EXPECT_LT(std::sqrt(covariance(1, 1)), 0.05);
    EXPECT_LT(std::sqrt(covariance(2, 2)), 0.05);
    const Degeneracy degeneracy = DegeneracyOf(calibrated[0]);
    EXPECT_EQ(degeneracy.axes[0], AxisObservation::kUnobserved);
    EXPECT_EQ(degeneracy.axes[1], AxisObservation::kObserved);
    EXPECT_EQ(degeneracy.axes[2], AxisObservation::kObserved);
  }
}

// Plates across a corridor tell where along it the scan was taken, but so little that a search that
// went a metre to meet them is not believed.
TEST_P(CalibratedCovarianceTest, DoubtsALongTravelAlongLittleInformation) {
  std::vector<Rectangle> scene = Corridor();
  scene.push_back({{6.0, -1.5, 0.2}, {0.0, 2.6, 0.0}, {0.0, 0.0, 2.6}});
  scene.push_back({{-5.0, -1.5, 0.2}, {0.0, 2.0, 0.0}, {0.0, 0.0, 2.0}});
  const auto place = MakePlace(scene, 200'000);
  const Pose truth = LevelPoseAt(0.7, 0.2, 1.5);
  std::vector<AlignJob> jobs = {
      MakeJob(place, CorridorScan(scene, truth), truth, AutowareProfile())};
  const std::vector<AlignResult> results = engine().Align(jobs);
  const auto near = Calibrate(jobs, results);
  const Degeneracy believed = DegeneracyOf(near[0]);
  EXPECT_NE(believed.axes[0], AxisObservation::kUnobserved) << believed.eigenvalues;
  // Two small walls tell about x: their few clusters make it a wide, but bounded, estimate.
  EXPECT_LT(std::sqrt(near[0].covariance(0, 0)), 0.3);

  jobs[0].map_T_base_guess.translation.x() -= 1.0;
  const auto far = Calibrate(jobs, results);
  const Degeneracy doubted = DegeneracyOf(far[0]);
  EXPECT_EQ(doubted.axes[0], AxisObservation::kUnobserved) << doubted.eigenvalues;
  EXPECT_GT(std::sqrt(far[0].covariance(0, 0)), kUnobservedSigmaM);
  EXPECT_LT(std::sqrt(far[0].covariance(1, 1)), 0.05);
}

// What the scan does not tell, the guess does.
TEST_P(CalibratedCovarianceTest, TakesTheGuesssCovarianceAlongWhatIsNotObserved) {
  const auto corridor = MakePlace(Corridor(), 200'000);
  const Pose truth = LevelPoseAt(0.7, 0.2, 1.5);
  std::vector<AlignJob> jobs = {
      MakeJob(corridor, CorridorScan(Corridor(), truth), truth, PreciseProfile())};
  jobs[0].guess_covariance = 0.25 * Matrix6::Identity();
  const std::vector<AlignResult> results = engine().Align(jobs);
  const auto calibrated = Calibrate(jobs, results);
  const double travel_m = results[0].map_T_base.translation.x() - truth.translation.x();
  EXPECT_NEAR(std::sqrt(calibrated[0].covariance(0, 0)), std::hypot(0.5, travel_m), 0.05);
}

TEST_P(CalibratedCovarianceTest, IsPositiveDefiniteWhateverTheScan) {
  const auto room = MakePlace(Room(), 60'000);
  PointCloud plane, one_matched, none_matched, single, same_place;
  RandomNumbers random(9);
  for (int i = 0; i < 500; ++i) {
    const Eigen::Vector3f place = random.InBox(1.0).cast<float>();
    plane.PushBack(place.x(), place.y(), -1.4F);
  }
  for (int i = 0; i < 30; ++i) none_matched.PushBack(500.0F, static_cast<float>(i), 0.0F);
  one_matched = none_matched;
  for (PointCloud* cloud : {&one_matched, &single}) cloud->PushBack(0.1F, 0.2F, -1.4F);
  for (int i = 0; i < 50; ++i) same_place.PushBack(0.1F, 0.2F, -1.4F);
  const Pose guess = LevelPoseAt(0.3, -0.2, 1.4);
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    SCOPED_TRACE(profile.name);
    std::vector<AlignJob> jobs;
    for (const PointCloud& scan : {plane, one_matched, none_matched, single, same_place}) {
      jobs.push_back(MakeJob(room, scan, guess, profile));
    }
    const auto calibrated = Calibrate(jobs, engine().Align(jobs));
    for (size_t i = 0; i < jobs.size(); ++i) {
      SCOPED_TRACE(i);
      ASSERT_TRUE(calibrated[i].status.ok()) << calibrated[i].status;
      ExpectPositiveDefinite(calibrated[i].covariance);
    }
    // A floor alone leaves x, y and the heading open; without a matched point all is.
    EXPECT_GE(calibrated[0].covariance(0, 0), 3.9);
    EXPECT_GE(calibrated[0].covariance(1, 1), 3.9);
    EXPECT_GE(calibrated[2].covariance.diagonal().head<3>().minCoeff(), 3.9);
  }
}

TEST_P(CalibratedCovarianceTest, SaysThatItWasStopped) {
  const auto room = MakePlace(Room(), 20'000);
  const Pose truth = LevelPoseAt(0.3, -0.2, 1.4);
  std::vector<AlignJob> jobs = {
      MakeJob(room, ScanOf(Room(), truth, 300, 0.02, 3), truth, PreciseProfile())};
  const std::vector<AlignResult> results = engine().Align(jobs);
  jobs[0].stop.deadline = absl::InfinitePast();
  EXPECT_EQ(Calibrate(jobs, results)[0].status.code(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace voxloc
