// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/covariance_estimator.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/status/try.h"
#include "tests/support/engine_test.h"
#include "tests/support/forwarding_engine.h"

namespace voxloc {
namespace {

constexpr CovarianceMethod kMethods[] = {
    CovarianceMethod::kFixed, CovarianceMethod::kLaplace, CovarianceMethod::kMultiNdt,
    CovarianceMethod::kMultiNdtScore, CovarianceMethod::kCalibrated};

// The engine of the test, which notes what it is asked and fails on request.
class NotingEngine : public ForwardingEngine {
 public:
  explicit NotingEngine(Engine& engine) : ForwardingEngine(engine) {}

  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    batches.emplace_back(jobs.begin(), jobs.end());
    VOXLOC_TRY(ForwardingEngine::DoAlign(jobs, results));
    if (failing_job < results.size()) {
      results[failing_job].status = absl::ResourceExhaustedError("no memory for this job");
    }
    return absl::OkStatus();
  }
  absl::StatusOr<ScoreResult> DoScore(const ScoreRequest& request) override {
    requests.push_back(request);
    if (fail_scoring) return absl::UnavailableError("the device is gone");
    return ForwardingEngine::DoScore(request);
  }

  std::vector<std::vector<AlignJob>> batches;
  std::vector<ScoreRequest> requests;
  size_t failing_job = SIZE_MAX;  // of a batch
  bool fail_scoring = false;
};

// A scan of the scene, aligned from a little beside its pose.
struct Aligned {
  AlignJob job;
  AlignResult result;
  CovarianceOptions options;
  CovarianceRequest Request() const { return {{&job, &result}, &options, std::nullopt}; }
};

std::vector<CovarianceReport> EstimateAll(Engine& engine, const std::vector<Aligned>& scans) {
  std::vector<CovarianceRequest> requests;
  for (const Aligned& scan : scans) requests.push_back(scan.Request());
  return EstimateCovariances(engine, requests);
}

CovarianceReport EstimateOne(Engine& engine, const Aligned& aligned) {
  return std::move(EstimateAll(engine, {aligned})[0]);
}

void ExpectFixed(const CovarianceReport& report, const Aligned& aligned) {
  const Eigen::Matrix3d rotation = aligned.result.map_T_base.rotation.toRotationMatrix();
  Matrix6 expected = aligned.options.fixed;
  expected.topLeftCorner<3, 3>() =
      rotation * aligned.options.fixed.topLeftCorner<3, 3>() * rotation.transpose();
  EXPECT_EQ(report.method, CovarianceMethod::kFixed);
  EXPECT_LE((report.covariance - expected).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_TRUE(report.offset_map_T_base.empty());
  EXPECT_TRUE(report.aligned_map_T_base.empty());
  EXPECT_TRUE(report.nvtl.empty());
}

class CovarianceEstimatorTest : public EngineTest {
 protected:
  static Aligned Align(CovarianceMethod method, double off_m = 0.2) {
    Aligned aligned;
    aligned.job = SceneJob(AutowareProfile());
    aligned.job.map_T_base_guess = Displaced(ScenePose(), {off_m, -0.1, 0.05}, 0.01);
    aligned.result = AlignOne(engine(), aligned.job);
    aligned.options.method = method;
    EXPECT_TRUE(aligned.result.status.ok()) << aligned.result.status;
    return aligned;
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(CovarianceEstimatorTest);

TEST_P(CovarianceEstimatorTest, FixedTurnsItsMatrixAndAsksTheEngineNothing) {
  Aligned aligned = Align(CovarianceMethod::kFixed);
  aligned.options.fixed.diagonal() << 1.0, 0.25, 4.0, 0.01, 0.02, 0.03;
  NotingEngine noting(engine());
  const CovarianceReport report = EstimateOne(noting, aligned);
  EXPECT_TRUE(report.status.ok()) << report.status;
  ExpectFixed(report, aligned);
  EXPECT_TRUE(noting.batches.empty());
  EXPECT_TRUE(noting.requests.empty());
}

TEST_P(CovarianceEstimatorTest, AllOffsetPosesOfAllScansAreOneBatch) {
  std::vector<Aligned> scans;
  for (const double off_m : {0.1, 0.2, 0.3}) {
    scans.push_back(Align(CovarianceMethod::kMultiNdt, off_m));
    scans.back().job.with_trace = true;
    scans.back().job.with_point_scores = true;
    scans.back().job.regularization_position_map = Eigen::Vector3d(off_m, 1.0, 2.0);
    scans.back().job.stop.cancelled = std::make_shared<std::atomic<bool>>(false);
  }
  scans[1].options.offsets_base = {{0.3, 0.0}, {0.0, 0.3}};
  NotingEngine noting(engine());
  const auto reports = EstimateAll(noting, scans);
  ASSERT_EQ(noting.batches.size(), 1u);
  ASSERT_EQ(noting.batches[0].size(), 6u + 2u + 6u);
  EXPECT_TRUE(noting.requests.empty());
  size_t next = 0;
  for (size_t i = 0; i < scans.size(); ++i) {
    EXPECT_TRUE(reports[i].status.ok()) << reports[i].status;
    ASSERT_EQ(reports[i].offset_map_T_base.size(), scans[i].options.offsets_base.size());
    for (const Pose& start : reports[i].offset_map_T_base) {
      const AlignJob& job = noting.batches[0][next++];
      EXPECT_EQ(job.map_T_base_guess.translation, start.translation);
      EXPECT_EQ(job.map, scans[i].job.map);
      EXPECT_EQ(job.scan, scans[i].job.scan);
      EXPECT_EQ(job.profile.stages, scans[i].job.profile.stages);
      EXPECT_EQ(job.regularization_position_map, scans[i].job.regularization_position_map);
      EXPECT_EQ(job.stop.cancelled, scans[i].job.stop.cancelled);
      EXPECT_FALSE(job.with_trace);
      EXPECT_FALSE(job.with_point_scores);
    }
  }
}

// The spread by its definition: n = 7 samples, the sum of squares times 6 / 49.
TEST_P(CovarianceEstimatorTest, MultiNdtIsTheSpreadOfWhatItReports) {
  Aligned aligned = Align(CovarianceMethod::kMultiNdt);
  aligned.options.fixed = 1e-12 * Matrix6::Identity();
  aligned.options.scale_factor = 3.0;
  const CovarianceReport report = EstimateOne(engine(), aligned);
  ASSERT_EQ(report.aligned_map_T_base.size(), 6u);
  std::vector<Eigen::Vector2d> xy = {aligned.result.map_T_base.translation.head<2>()};
  for (const Pose& pose : report.aligned_map_T_base) xy.emplace_back(pose.translation.head<2>());
  Eigen::Vector2d mean = Eigen::Vector2d::Zero();
  for (const Eigen::Vector2d& p : xy) mean += p / 7.0;
  Eigen::Matrix2d squares = Eigen::Matrix2d::Zero();
  for (const Eigen::Vector2d& p : xy) squares += (p - mean) * (p - mean).transpose();
  const Eigen::Matrix2d expected = 3.0 * squares * 6.0 / 49.0;
  // The scene's pose is tilted by two degrees.
  EXPECT_LE((report.covariance.topLeftCorner<2, 2>() - expected).cwiseAbs().maxCoeff(),
            5e-3 * expected.cwiseAbs().maxCoeff());
  for (const Pose& pose : report.aligned_map_T_base) {
    EXPECT_LE(TranslationDistance(pose, ScenePose()), 0.05);
  }
}

TEST_P(CovarianceEstimatorTest, OneScoringRequestAScanUnderTheScoreStage) {
  Aligned aligned = Align(CovarianceMethod::kMultiNdtScore);
  aligned.job.profile = PreciseProfile();
  aligned.result = AlignOne(engine(), aligned.job);
  NotingEngine noting(engine());
  const CovarianceReport report = EstimateOne(noting, aligned);
  EXPECT_TRUE(report.status.ok()) << report.status;
  EXPECT_TRUE(noting.batches.empty());
  ASSERT_EQ(noting.requests.size(), 1u);
  EXPECT_EQ(noting.requests[0].map_T_base.size(), 6u);
  EXPECT_TRUE(noting.requests[0].stage == PreciseProfile().stages[PreciseProfile().score_stage]);
  ASSERT_EQ(report.nvtl.size(), 6u);
  EXPECT_TRUE(report.aligned_map_T_base.empty());
  // Half a metre and a metre off fit worse than the result.
  for (const double nvtl : report.nvtl) {
    EXPECT_GT(nvtl, 0.0);
    EXPECT_LT(nvtl, aligned.result.after.nearest_voxel_likelihood);
  }
}

TEST_P(CovarianceEstimatorTest, ABatchEqualsItsScansAloneBitForBit) {
  std::vector<Aligned> scans;
  for (int i = 0; i < 10; ++i) scans.push_back(Align(kMethods[i % 5], 0.05 * (i + 1)));
  const auto together = EstimateAll(engine(), scans);
  ASSERT_EQ(together.size(), scans.size());
  for (size_t i = 0; i < scans.size(); ++i) {
    SCOPED_TRACE(i);
    const CovarianceReport alone = EstimateOne(engine(), scans[i]);
    EXPECT_EQ(together[i].method, scans[i].options.method);
    EXPECT_EQ(
        std::memcmp(alone.covariance.data(), together[i].covariance.data(), 36 * sizeof(double)),
        0);
    EXPECT_EQ(alone.nvtl, together[i].nvtl);
    ASSERT_EQ(alone.aligned_map_T_base.size(), together[i].aligned_map_T_base.size());
    for (size_t k = 0; k < alone.aligned_map_T_base.size(); ++k) {
      EXPECT_EQ(alone.aligned_map_T_base[k].translation,
                together[i].aligned_map_T_base[k].translation);
    }
  }
  EXPECT_TRUE(EstimateCovariances(engine(), {}).empty());
}

TEST_P(CovarianceEstimatorTest, EveryMethodIsSymmetricAndDefiniteInAnOrdinaryScene) {
  for (const CovarianceMethod method : kMethods) {
    const CovarianceReport report = EstimateOne(engine(), Align(method));
    EXPECT_TRUE(report.status.ok()) << report.status;
    EXPECT_EQ(report.covariance, Matrix6(report.covariance.transpose()));
    EXPECT_TRUE(CheckPositiveDefinite(report.covariance, "covariance").ok())
        << CheckPositiveDefinite(report.covariance, "covariance");
  }
}

TEST_P(CovarianceEstimatorTest, CalibratedIsTheScaledScanPartAndTheSystematicOne) {
  Aligned aligned = Align(CovarianceMethod::kCalibrated);
  aligned.options.scale_factor = 4.0;
  const CalibrationRequest calibration = {{&aligned.job, &aligned.result}};
  const auto calibrated = CalibrateCovariances(engine(), {&calibration, 1});
  const CovarianceReport report = EstimateOne(engine(), aligned);
  const Matrix6 expected =
      4.0 * calibrated[0].covariance +
      SystematicCovariance(aligned.options.systematic, aligned.result.map_T_base, std::nullopt)
          .Sum();
  EXPECT_TRUE(report.covariance.isApprox(expected, 1e-12));
}

TEST_P(CovarianceEstimatorTest, TheSharesAreInTheBasesAxesAndAddUp) {
  Aligned aligned = Align(CovarianceMethod::kCalibrated);
  // Turned far from the map's axes, so that one frame is not taken for the other.
  aligned.options.systematic.position_sigma_m = {0.3, 0.02, 0.05};
  aligned.options.systematic.rotation_sigma_rad = {0.004, 0.001, 0.002};
  aligned.options.systematic.time_sigma_s = 0.02;
  aligned.options.systematic.skew_sigma_s = 0.01;
  aligned.result.map_T_base.rotation =
      Eigen::AngleAxisd(1.1, Eigen::Vector3d(0.1, -0.2, 0.9).normalized());
  CovarianceRequest request = {{&aligned.job, &aligned.result}, &aligned.options, Twist()};
  request.base_twist->linear_m_s.x() = 10.0;
  const CovarianceReport report = EstimateCovariances(engine(), {&request, 1}).front();
  ASSERT_TRUE(report.shares.has_value()) << report.status;

  const VarianceShares& shares = *report.shares;
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(shares.map_and_mounting[i],
                std::pow(aligned.options.systematic.position_sigma_m[i], 2), 1e-12);
    EXPECT_NEAR(shares.map_and_mounting[3 + i],
                std::pow(aligned.options.systematic.rotation_sigma_rad[i], 2), 1e-12);
    // 10 m/s forwards for 20 ms; for 10 ms in all directions.
    EXPECT_NEAR(shares.time[i], i == 0 ? 0.04 : 0.0, 1e-12);
    EXPECT_NEAR(shares.sweep[i], 0.01, 1e-12);
  }
  EXPECT_GT(shares.scan.minCoeff(), 0.0);
  const Eigen::Matrix3d map_R_base = aligned.result.map_T_base.rotation.toRotationMatrix();
  const auto in_base = [&map_R_base](const Eigen::Matrix3d& block) -> Eigen::Vector3d {
    return (map_R_base.transpose() * block * map_R_base).diagonal();
  };
  Eigen::Matrix<double, 6, 1> whole;
  whole << in_base(report.covariance.topLeftCorner<3, 3>()),
      in_base(report.covariance.bottomRightCorner<3, 3>());
  EXPECT_TRUE(
      (shares.scan + shares.map_and_mounting + shares.time + shares.sweep).isApprox(whole, 1e-9));
  EXPECT_FALSE(EstimateOne(engine(), Align(CovarianceMethod::kFixed)).shares.has_value());
}

TEST_P(CovarianceEstimatorTest, WhatTheEngineCannotDoFallsBackToTheFixedMatrix) {
  NotingEngine noting(engine());
  noting.fail_scoring = true;
  noting.failing_job = 7;  // the second scan's second
  const std::vector<Aligned> scans = {
      Align(CovarianceMethod::kMultiNdt), Align(CovarianceMethod::kMultiNdt),
      Align(CovarianceMethod::kMultiNdt), Align(CovarianceMethod::kMultiNdtScore)};
  const auto reports = EstimateAll(noting, scans);
  EXPECT_TRUE(reports[0].status.ok()) << reports[0].status;
  EXPECT_TRUE(reports[2].status.ok()) << reports[2].status;
  EXPECT_EQ(reports[1].status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(reports[3].status.code(), absl::StatusCode::kUnavailable);
  for (const size_t failed : {1, 3}) ExpectFixed(reports[failed], scans[failed]);

  // Nor can a Hessian be used that has no inverse.
  Aligned flat = Align(CovarianceMethod::kLaplace);
  flat.result.hessian.setZero();
  const CovarianceReport report = EstimateOne(engine(), flat);
  EXPECT_EQ(report.status.code(), absl::StatusCode::kFailedPrecondition);
  ExpectFixed(report, flat);
}

TEST_P(CovarianceEstimatorTest, AlignmentsCutShortSayNothingAboutTheSpread) {
  for (const auto method : {CovarianceMethod::kMultiNdt, CovarianceMethod::kMultiNdtScore}) {
    for (const bool cancelled : {true, false}) {
      Aligned scan = Align(method);
      scan.job.stop.cancelled = std::make_shared<std::atomic<bool>>(cancelled);
      if (!cancelled) scan.job.stop.deadline = absl::InfinitePast();
      const CovarianceReport report = EstimateOne(engine(), scan);
      EXPECT_EQ(report.status.code(),
                cancelled ? absl::StatusCode::kCancelled : absl::StatusCode::kDeadlineExceeded);
      ExpectFixed(report, scan);
    }
  }
}

}  // namespace
}  // namespace voxloc
