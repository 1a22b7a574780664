// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/scan_estimate.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <memory>
#include <utility>

#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "core/estimate/quality/sweep_check.h"
#include "tests/support/class_recorder.h"
#include "tests/support/engine_test.h"
#include "tests/support/real_data.h"
#include "tests/support/room_scene.h"

namespace voxloc {
namespace {

EstimateRequest RequestOf(const AlignJob& job, const AlignResult& result,
                          const EstimateOptions& options,
                          std::shared_ptr<const ScanFeatures> features = nullptr) {
  EXPECT_TRUE(result.status.ok()) << result.status;
  EstimateRequest request;
  request.scan = {&job, &result};
  request.options = &options;
  request.features = std::move(features);
  return request;
}

// So that the alignment brings along what these options need.
std::shared_ptr<const ScanFeatures> AddPasses(const EstimateOptions& options, AlignJob& job) {
  auto features = ComputeScanFeatures(*job.scan, ScanRays(), job.map_T_base_guess, options);
  RequestPasses(*features, job);
  return features;
}

std::vector<ScanEstimate> EstimateJobs(Engine& engine, const std::vector<AlignJob>& jobs,
                                       const EstimateOptions& options, ThreadPool* pool = nullptr) {
  const std::vector<AlignResult> results = engine.Align(jobs);
  std::vector<EstimateRequest> requests;
  for (size_t i = 0; i < jobs.size(); ++i) {
    requests.push_back(RequestOf(jobs[i], results[i], options));
  }
  return EstimateScans(engine, requests, pool);
}

class RoomEstimateTest : public EngineTest {
 protected:
  RoomEstimateTest() {
    map_ = LoadMap(engine(), {PointsOn(Room(), 60'000, 0.01, 11)}, AllStatistics());
    truth_.translation = {0.3, -0.2, 1.4};
  }

  AlignJob Job(const Pose& guess, const Profile& profile) const {
    AlignJob job;
    job.map = map_;
    job.scan = std::make_shared<const PointCloud>(ScanOf(Room(), truth_, 1000, 0.02, 3));
    job.map_T_base_guess = guess;
    job.profile = profile;
    job.with_point_scores = true;
    return job;
  }

  std::shared_ptr<const ResidentMap> map_;
  Pose truth_;
};
VOXLOC_INSTANTIATE_ON_ENGINES(RoomEstimateTest);

TEST_P(RoomEstimateTest, EstimatesAreWorkOfTheirScansClass) {
  for (const CovarianceMethod method : {CovarianceMethod::kCalibrated, CovarianceMethod::kMultiNdt,
                                        CovarianceMethod::kMultiNdtScore}) {
    for (const WorkClass work_class : {WorkClass::kTracking, WorkClass::kSearching}) {
      EstimateOptions options;
      options.covariance.method = method;
      options.no_ground_z_margin_m = -1.0;
      AlignJob job = Job(truth_, PreciseProfile());
      job.work_class = work_class;
      ClassRecorder recorder(engine());
      (void)EstimateJobs(recorder, {job}, options);
      const RecordedClasses classes = recorder.Take();
      EXPECT_EQ(classes.align, std::set<WorkClass>{work_class});
      EXPECT_EQ(classes.score, std::set<WorkClass>{work_class});
    }
  }
}

TEST_P(RoomEstimateTest, ReportsWhatWasAskedFor) {
  EstimateOptions options;
  options.no_ground_z_margin_m = -1.0;
  const auto all = EstimateJobs(engine(), {Job(truth_, PreciseProfile())}, options);
  EXPECT_EQ(all[0].covariance.method, CovarianceMethod::kCalibrated);
  EXPECT_TRUE(all[0].covariance.status.ok());
  EXPECT_EQ(Eigen::LLT<Matrix6>(all[0].covariance.covariance).info(), Eigen::Success);
  EXPECT_FALSE(all[0].degeneracy->degenerate());
  ASSERT_TRUE(all[0].confidence.has_value());
  EXPECT_GT(all[0].confidence->value, 0.5);
  EXPECT_EQ(all[0].confidence->signals.innovation, 0.0);
  ASSERT_TRUE(all[0].no_ground.has_value());
  EXPECT_GT(all[0].no_ground->score.points, 0U);

  options.confidence = false;
  options.no_ground_z_margin_m.reset();
  options.covariance.method = CovarianceMethod::kFixed;
  const auto little = EstimateJobs(engine(), {Job(truth_, PreciseProfile())}, options);
  EXPECT_EQ(little[0].covariance.method, CovarianceMethod::kFixed);
  EXPECT_FALSE(little[0].confidence.has_value());
  EXPECT_FALSE(little[0].no_ground.has_value());
  EXPECT_TRUE(little[0].degeneracy->eigenvalues.isApprox(all[0].degeneracy->eigenvalues, 1e-5));
}

// What was not measured is not called degenerate.
TEST_P(RoomEstimateTest, SaysNothingOfDirectionsAfterTheDeadline) {
  EstimateOptions options;
  for (const CovarianceMethod method : {CovarianceMethod::kCalibrated, CovarianceMethod::kFixed}) {
    options.covariance.method = method;
    AlignJob job = Job(truth_, PreciseProfile());
    const AlignResult result = engine().Align(absl::MakeConstSpan(&job, 1))[0];
    job.stop.deadline = absl::InfinitePast();
    EstimateRequest request = RequestOf(job, result, options);
    const auto late = EstimateScans(engine(), absl::MakeConstSpan(&request, 1));
    EXPECT_FALSE(late[0].degeneracy.has_value());
    EXPECT_EQ(Eigen::LLT<Matrix6>(late[0].covariance.covariance).info(), Eigen::Success);
  }
}

TEST_P(RoomEstimateTest, HasTheSameBitsAloneAndInABatchOnAnyNumberOfThreads) {
  EstimateOptions options;
  std::vector<AlignJob> jobs = {Job(Displaced(truth_, {0.1, 0.0, 0.0}, 0.02), AutowareProfile()),
                                Job(Displaced(truth_, {2.0, 1.0, 0.0}, 1.0), PreciseProfile())};
  for (int i = 0; i < 8; ++i) {
    jobs.push_back(Job(Displaced(truth_, {0.05 * i, -0.1, 0.0}, 0.005 * i), PreciseProfile()));
  }
  ThreadPool pool(4);
  const auto batch = EstimateJobs(engine(), jobs, options);
  const auto shared = EstimateJobs(engine(), jobs, options, &pool);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const ScanEstimate alone = EstimateJobs(engine(), {jobs[i]}, options)[0];
    for (const ScanEstimate& together : {batch[i], shared[i]}) {
      EXPECT_EQ(alone.covariance.covariance, together.covariance.covariance);
      EXPECT_EQ(alone.degeneracy->eigenvalues, together.degeneracy->eigenvalues);
      EXPECT_EQ(alone.confidence->value, together.confidence->value);
    }
  }
}

TEST_P(RoomEstimateTest, DoubtsAPoseThatTheScanDoesNotFit) {
  EstimateOptions options;
  AlignJob wrong = Job(Displaced(truth_, {1.5, 1.5, 0.0}, 0.7), PreciseProfile());
  for (Stage& stage : wrong.profile.stages) {
    stage.max_iterations = 1;
    stage.max_step = 1e-9;
  }
  const auto estimates = EstimateJobs(engine(), {Job(truth_, PreciseProfile()), wrong}, options);
  EXPECT_LT(estimates[1].confidence->value, 0.5 * estimates[0].confidence->value);
  EXPECT_LT(estimates[1].confidence->signals.raised_ratio,
            estimates[0].confidence->signals.raised_ratio);
}

TEST_P(RoomEstimateTest, MeasuresTheInnovationInStandardDeviationsOfTheGuess) {
  EstimateOptions options;
  const AlignJob job = Job(Displaced(truth_, {0.2, 0.0, 0.0}, 0.0), PreciseProfile());
  const AlignResult result = AlignOne(engine(), job);
  EstimateRequest request = RequestOf(job, result, options);
  request.guess_covariance = 0.01 * Matrix6::Identity();
  const auto estimates = EstimateScans(engine(), {&request, 1});
  // 0.2 m; of a guess with a standard deviation of 0.1 m, and of a result with its own.
  const double result_variance = estimates[0].covariance.covariance(0, 0);
  EXPECT_GT(result_variance, 1e-3);
  EXPECT_NEAR(estimates[0].confidence->signals.innovation, 0.2 / std::sqrt(0.01 + result_variance),
              0.05);
}

// With the passes in the alignment, and with those that are made up for afterwards.
TEST_P(RoomEstimateTest, TakesWhatTheAlignmentBringsAlong) {
  EstimateOptions options;
  for (const Profile& profile : {PreciseProfile(), AutowareProfile()}) {
    SCOPED_TRACE(profile.name);
    const AlignJob plain = Job(Displaced(truth_, {0.1, -0.1, 0.0}, 0.02), profile);
    const ScanEstimate later = EstimateJobs(engine(), {plain}, options)[0];

    AlignJob job = plain;
    const auto features = AddPasses(options, job);
    const AlignResult result = AlignOne(engine(), job);
    EstimateRequest request = RequestOf(job, result, options, features);
    ClassRecorder recorder(engine());
    const ScanEstimate brought = EstimateScans(recorder, {&request, 1})[0];
    EXPECT_TRUE(recorder.Take().align.empty());
    EXPECT_TRUE(brought.covariance.covariance.isApprox(later.covariance.covariance, 1e-3));
    EXPECT_TRUE(brought.degeneracy->eigenvalues.isApprox(later.degeneracy->eigenvalues, 1e-4));
    ASSERT_TRUE(brought.confidence.has_value());
    EXPECT_NEAR(brought.confidence->value, later.confidence->value, 1e-3);
    EXPECT_NEAR(brought.confidence->signals.sharp_ratio, later.confidence->signals.sharp_ratio,
                2e-3);
    EXPECT_EQ(brought.confidence->signals.rays, later.confidence->signals.rays);
  }
}

// The check of a sweep adds a pass behind those of the estimates.
TEST_P(RoomEstimateTest, FurtherPassesChangeNothing) {
  EstimateOptions options;
  for (const Profile& profile : {PreciseProfile(), AutowareProfile()}) {
    SCOPED_TRACE(profile.name);
    std::vector<float> time_s(1000);
    for (size_t i = 0; i < time_s.size(); ++i) time_s[i] = 1e-4F * static_cast<float>(i);
    const auto slices = SliceSweep(time_s);
    ASSERT_TRUE(slices.has_value());
    std::vector<Confidence> confidences;
    for (const bool sliced : {false, true}) {
      AlignJob job = Job(Displaced(truth_, {0.1, -0.1, 0.0}, 0.02), profile);
      const auto features = AddPasses(options, job);
      if (sliced) static_cast<void>(RequestSweepPass(*slices, nullptr, job));
      const AlignResult result = AlignOne(engine(), job);
      EstimateRequest request = RequestOf(job, result, options, features);
      confidences.push_back(*EstimateScans(engine(), {&request, 1})[0].confidence);
    }
    EXPECT_EQ(confidences[0].value, confidences[1].value);
    EXPECT_EQ(confidences[0].signals.pull.spread_m, confidences[1].signals.pull.spread_m);
    EXPECT_GT(confidences[0].signals.pull.spread_m, 0.0);
  }
}

// All alignments from around come back in this room: there is no rival.
TEST_P(RoomEstimateTest, NeedsNoEngineWhereTheAlignmentBroughtEverything) {
  for (const CovarianceMethod method :
       {CovarianceMethod::kCalibrated, CovarianceMethod::kFixed, CovarianceMethod::kLaplace}) {
    EstimateOptions options;
    options.covariance.method = method;
    options.covariance.scale_factor = 1.0;
    AlignJob job = Job(Displaced(truth_, {0.1, -0.1, 0.0}, 0.02), PreciseProfile());
    const auto features = AddPasses(options, job);
    const AlignResult result = AlignOne(engine(), job);
    EstimateRequest request = RequestOf(job, result, options, features);
    const std::optional<ScanEstimate> alone = EstimateFromPasses(request);
    const ScanEstimate with_engine = EstimateScans(engine(), {&request, 1})[0];
    ASSERT_TRUE(alone.has_value());
    EXPECT_EQ(alone->covariance.method, method);
    EXPECT_EQ(alone->covariance.covariance, with_engine.covariance.covariance);
    EXPECT_EQ(alone->degeneracy->eigenvalues, with_engine.degeneracy->eigenvalues);
    EXPECT_EQ(alone->confidence->value, with_engine.confidence->value);

    // What takes more than the alignment brought.
    options.covariance.method = CovarianceMethod::kMultiNdt;
    EXPECT_FALSE(EstimateFromPasses(request).has_value());
    options.covariance.method = method;
    options.no_ground_z_margin_m = 0.0;
    EXPECT_FALSE(EstimateFromPasses(request).has_value());
    options.no_ground_z_margin_m.reset();
    options.rival_confidence = 1.0;
    EXPECT_FALSE(EstimateFromPasses(request).has_value());
    options.rival_confidence = 0.0;
    request.features.reset();
    EXPECT_FALSE(EstimateFromPasses(request).has_value());
  }
}

TEST_P(RoomEstimateTest, LooksForRivalsWhereTheConfidenceIsBelowWhatIsAskedFor) {
  EstimateOptions options;
  options.covariance.method = CovarianceMethod::kFixed;
  AlignJob job = Job(Displaced(truth_, {0.1, -0.1, 0.0}, 0.02), PreciseProfile());
  const auto features = AddPasses(options, job);
  AlignResult result = AlignOne(engine(), job);
  EstimateRequest request = RequestOf(job, result, options, features);
  ClassRecorder recorder(engine());
  for (const double limit : {0.0, 1.0}) {
    options.rival_confidence = limit;
    const ScanEstimate estimate = EstimateScans(recorder, {&request, 1})[0];
    EXPECT_LT(estimate.confidence->value, 1.0);
    EXPECT_FALSE(estimate.rival.has_value());
    EXPECT_EQ(recorder.Take().align.empty(), limit == 0.0) << limit;
  }
  // What is not accepted needs no rival.
  result.termination = Termination::kNoImprovement;
  (void)EstimateScans(recorder, {&request, 1});
  EXPECT_TRUE(recorder.Take().align.empty());
}

class ScanEstimateTest : public EngineTest {};
VOXLOC_INSTANTIATE_ON_ENGINES(ScanEstimateTest);

// The scan sees the outer walls; in the map a wall stands before one of them.
TEST_P(ScanEstimateTest, CountsTheRaysThatPassThroughWallsOfTheMap) {
  const Eigen::Vector3d x = 40.0 * Eigen::Vector3d::UnitX();
  const Eigen::Vector3d y = 40.0 * Eigen::Vector3d::UnitY();
  const Eigen::Vector3d up = 4.0 * Eigen::Vector3d::UnitZ();
  const Eigen::Vector3d corner(-20.0, -20.0, 0.0);
  const std::vector<Rectangle> seen = {
      {corner, x, up}, {corner, y, up}, {corner + x, y, up}, {corner + y, x, up}};
  std::vector<Rectangle> hidden = seen;
  hidden.push_back({{10.0, -20.0, 0.0}, y, up});
  Pose truth;
  truth.translation = {0.0, 0.0, 2.0};
  AlignJob job;
  job.scan = std::make_shared<const PointCloud>(ScanOf(seen, truth, 1500, 0.02, 3));
  job.map_T_base_guess = truth;
  job.with_point_scores = true;
  EstimateOptions options;
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    SCOPED_TRACE(profile.name);
    job.profile = profile;
    job.map = LoadMap(engine(), {PointsOn(seen, 60'000, 0.01, 11)}, AllStatistics());
    const auto free = EstimateJobs(engine(), {job}, options);
    job.map = LoadMap(engine(), {PointsOn(hidden, 75'000, 0.01, 11)}, AllStatistics());
    const auto walled = EstimateJobs(engine(), {job}, options);
    EXPECT_EQ(free[0].confidence->signals.seen_through_ratio, 0.0);
    // About a quarter of the walls lies behind it, and parts of two more.
    EXPECT_GT(walled[0].confidence->signals.seen_through_ratio, 0.25);
    EXPECT_LT(walled[0].confidence->signals.seen_through_ratio, 0.6);
  }
}

TEST_P(ScanEstimateTest, IsConfidentAtTheTruthOfRealScansAndNotElsewhere) {
  VOXLOC_REAL_DATA_OR_SKIP(data);
  const auto cloud = ReadCloud(data + "/ouster_os1/map.ply");
  const auto scan = ReadCloud(data + "/ouster_os1/task/scans/000000.pcd");
  if (!cloud.ok() || !scan.ok()) GTEST_SKIP() << "ouster_os1 is not in " << data;
  const auto map = LoadMap(engine(), {*cloud}, AllStatistics());
  EstimateOptions options;
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    SCOPED_TRACE(profile.name);
    AlignJob right;
    right.map = map;
    right.scan = std::make_shared<const PointCloud>(*scan);
    // The truth of this scan, see the data's poses.
    right.map_T_base_guess.translation = {0.24, 0.0, 0.0};
    right.profile = profile;
    right.with_point_scores = true;
    AlignJob wrong = right;
    wrong.map_T_base_guess = Displaced(right.map_T_base_guess, {12.0, 9.0, 0.0}, 2.0);
    const auto estimates = EstimateJobs(engine(), {right, wrong}, options);
    EXPECT_GT(estimates[0].confidence->value, 0.5);
    EXPECT_LT(estimates[1].confidence->value, 0.1);
    EXPECT_EQ(Eigen::LLT<Matrix6>(estimates[0].covariance.covariance).info(), Eigen::Success);
    EXPECT_EQ(Eigen::LLT<Matrix6>(estimates[1].covariance.covariance).info(), Eigen::Success);
  }
}

}  // namespace
}  // namespace voxloc
