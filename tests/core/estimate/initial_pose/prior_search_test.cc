// SPDX-License-Identifier: Apache-2.0
//
// The search around a prior: how it drives an engine, and what it makes of its answers.

#include "core/estimate/initial_pose/prior_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/core/estimate/initial_pose/fake_engine.h"

namespace voxloc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PriorSearchOptions Options(size_t particles, size_t startup_trials, size_t guided_batch) {
  PriorSearchOptions options;
  options.covariance = Matrix6::Identity();
  options.covariance.diagonal().head<2>().setConstant(9.0);
  options.particles = particles;
  options.startup_trials = startup_trials;
  options.guided_batch = guided_batch;
  return options;
}

PoseSearchJob Job() {
  PoseSearchJob job;
  job.profile = AutowareProfile();
  return job;
}

// Stays where it started, with this score in both kinds.
AlignResult Stay(const AlignJob& job, double score) {
  AlignResult result;
  result.map_T_base = job.map_T_base_guess;
  result.after.points = 10;
  result.after.matched_points = 10;
  result.after.transform_probability = score;
  result.after.nearest_voxel_likelihood = score;
  return result;
}

TEST(PriorSearchTest, RefusesBadOptionsAndNamesThem) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  constexpr size_t kMost = 1000;
  const PriorSearchOptions good = Options(200, 100, 20);
  EXPECT_TRUE(ValidatePriorSearch(good, kMost).ok());
  EXPECT_TRUE(ValidatePriorSearch(Options(kMost, kMost, 1), kMost).ok());
  const struct {
    const char* message;
    std::function<void(PriorSearchOptions&)> spoil;
  } rows[] = {
      {"particles must be from 1 to 1000 (got 0)", [](auto& o) { o.particles = 0; }},
      {"particles must be from 1 to 1000 (got 1001)", [](auto& o) { o.particles = kMost + 1; }},
      {"startup_trials must be from 1 to 200, the number of particles (got 0)",
       [](auto& o) { o.startup_trials = 0; }},
      {"startup_trials must be from 1 to 200", [](auto& o) { o.startup_trials = 201; }},
      {"guided_batch must be from 1 to 256 (got 0)", [](auto& o) { o.guided_batch = 0; }},
      {"guided_batch must be from 1 to 256 (got 257)", [](auto& o) { o.guided_batch = 257; }},
      {"covariance", [](auto& o) { o.covariance.setZero(); }},
      {"covariance", [](auto& o) { o.covariance(5, 5) = -0.1; }},
      {"covariance", [](auto& o) { o.covariance(0, 1) = o.covariance(1, 0) = 9.1; }},
      {"covariance", [](auto& o) { o.covariance(0, 1) = 0.5; }},
      {"covariance", [nan](auto& o) { o.covariance(2, 2) = nan; }},
      {"covariance", [infinity](auto& o) { o.covariance(3, 3) = infinity; }},
      {"the prior's position", [nan](auto& o) { o.map_T_base.translation.y() = nan; }},
      {"the prior's position", [infinity](auto& o) { o.map_T_base.translation.x() = -infinity; }},
      {"the prior's orientation", [nan](auto& o) { o.map_T_base.rotation.z() = nan; }},
      {"quaternion", [](auto& o) { o.map_T_base.rotation.coeffs().setZero(); }},
  };
  FakeEngine engine([](const AlignJob& job, size_t) { return Stay(job, 1.0); });
  for (const auto& row : rows) {
    PriorSearchOptions options = good;
    row.spoil(options);
    const absl::Status status = ValidatePriorSearch(options, kMost);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.message));
    if (options.particles > kMost) continue;  // a limit of the caller's
    EXPECT_EQ(SearchAroundPrior(engine, Job(), options, nullptr).status().code(),
              absl::StatusCode::kInvalidArgument)
        << row.message;
  }
  PoseSearchJob job = Job();
  job.hypotheses.max_hypotheses = 0;
  EXPECT_EQ(SearchAroundPrior(engine, job, good, nullptr).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(engine.batches, testing::IsEmpty());
}

TEST(PriorSearchTest, AlignsAllOfTheStartAtOnceAndThenInGuidedBatches) {
  FakeEngine engine(
      [](const AlignJob& job, size_t index) { return Stay(job, static_cast<double>(index % 7)); });
  const auto batches = [&engine](const PriorSearchOptions& options) {
    engine.batches.clear();
    const auto found = SearchAroundPrior(engine, Job(), options, nullptr);
    EXPECT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->candidates_aligned, options.particles);
    EXPECT_EQ(found->largest_batch,
              *std::max_element(engine.batches.begin(), engine.batches.end()));
    return engine.batches;
  };
  EXPECT_THAT(batches(Options(57, 20, 10)), ElementsAre(20, 10, 10, 10, 7));
  EXPECT_THAT(batches(Options(23, 20, 1)), ElementsAre(20, 1, 1, 1));
  EXPECT_THAT(batches(Options(30, 5, 20)), ElementsAre(5, 20, 5));
  EXPECT_THAT(batches(Options(40, 40, 10)), ElementsAre(40));
  EXPECT_THAT(batches(Options(1, 1, 1)), ElementsAre(1));
}

TEST(PriorSearchTest, TellsOfEachBatchItsParticlesAndTheBestSoFar) {
  FakeEngine engine([](const AlignJob& job, size_t index) {
    return Stay(job, 1.0 + 0.1 * static_cast<double>((index * 37) % 50));
  });
  double fraction = 0.0;
  double best = 0.0;
  std::vector<SearchParticle> told;
  const auto observe = [&](const PoseSearchProgress& progress) {
    EXPECT_EQ(progress.phase, PoseSearchPhase::kAligning);
    EXPECT_GT(progress.fraction, fraction);
    fraction = progress.fraction;
    for (const SearchParticle& particle : progress.particles) {
      EXPECT_EQ(particle.index, told.size());
      told.push_back(particle);
    }
    EXPECT_EQ(progress.candidates_aligned, told.size());
    EXPECT_DOUBLE_EQ(progress.fraction, static_cast<double>(told.size()) / 50.0);
    ASSERT_NE(progress.best, nullptr);
    for (const SearchParticle& particle : told) {
      best = std::max(best, particle.result.after.nearest_voxel_likelihood);
    }
    EXPECT_EQ(progress.best->after.nearest_voxel_likelihood, best);
  };
  const auto found = SearchAroundPrior(engine, Job(), Options(50, 20, 8), observe);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(fraction, 1.0);
  ASSERT_EQ(told.size(), 50u);
  for (size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].start_map_T_base.translation, engine.starts[i].translation);
  }
  ASSERT_FALSE(found->ranked.hypotheses.empty());
  EXPECT_EQ(found->ranked.hypotheses[0].result.after.nearest_voxel_likelihood, best);
}

TEST(PriorSearchTest, DrawsTheStartAroundThePriorWithAnyYaw) {
  PriorSearchOptions options = Options(1000, 1000, 1);
  options.map_T_base.translation = {4e6, -2000.0, 30.0};
  options.covariance.diagonal() << 4.0, 0.25, 0.01, 1e-4, 1e-4, 1e-6;
  FakeEngine engine([](const AlignJob& job, size_t) { return Stay(job, 1.0); });
  ASSERT_TRUE(SearchAroundPrior(engine, Job(), options, nullptr).ok());
  Eigen::Vector3d variance = Eigen::Vector3d::Zero();
  size_t backwards = 0;
  for (const Pose& start : engine.starts) {
    const Eigen::Vector3d off = start.translation - options.map_T_base.translation;
    variance += off.cwiseAbs2() / 1000.0;
    // Nearly upright; its yaw variance does not count.
    EXPECT_GT((start.rotation * Eigen::Vector3d::UnitZ()).z(), 0.995);
    backwards += (start.rotation * Eigen::Vector3d::UnitX()).x() < 0.0 ? 1 : 0;
  }
  // Of relative standard deviation sqrt(2 / n).
  EXPECT_NEAR(variance.x() / 4.0, 1.0, 0.18);
  EXPECT_NEAR(variance.y() / 0.25, 1.0, 0.18);
  EXPECT_NEAR(variance.z() / 0.01, 1.0, 0.18);
  EXPECT_NEAR(static_cast<double>(backwards), 500.0, 65.0);
}

TEST(PriorSearchTest, IsGuidedByWhereParticlesEndedAndTheirTransformProbability) {
  // Every tenth particle ends far along x with the best transform probability, and the worst NVTL.
  FakeEngine engine([](const AlignJob& job, size_t index) {
    AlignResult result = Stay(job, 1.0);
    const bool far = index % 10 == 0;
    result.map_T_base.translation = {far ? 1000.0 : 0.0, 0.0, 0.0};
    result.after.transform_probability = far ? 5.0 : 1.0;
    result.after.nearest_voxel_likelihood = far ? 1.0 : 5.0;
    return result;
  });
  const auto found = SearchAroundPrior(engine, Job(), Options(101, 100, 1), nullptr);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_GT(engine.starts.back().translation.x(), 3.0);
  // The answer is the best NVTL.
  EXPECT_EQ(found->ranked.hypotheses[0].result.map_T_base.translation.x(), 0.0);
}

TEST(PriorSearchTest, OtherSeedsStartElsewhereTheSameSeedDoesNot) {
  FakeEngine engine([](const AlignJob& job, size_t) {
    return Stay(job, -job.map_T_base_guess.translation.norm());
  });
  const auto starts = [&engine](uint64_t seed) {
    PoseSearchJob job = Job();
    job.seed = seed;
    engine.starts.clear();
    EXPECT_TRUE(SearchAroundPrior(engine, job, Options(60, 30, 10), nullptr).ok());
    std::vector<double> coordinates;
    for (const Pose& start : engine.starts) {
      coordinates.push_back(start.translation.x());
      coordinates.push_back(start.rotation.z());
    }
    return coordinates;
  };
  const std::vector<double> first = starts(1);
  EXPECT_EQ(starts(1), first);
  EXPECT_NE(starts(2), first);
}

TEST(PriorSearchTest, JobsCarryTheStopToken) {
  PoseSearchJob job = Job();
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  job.stop.cancelled = cancelled;
  // Real time: a deadline that is not reached.
  job.stop.deadline = absl::Now() + absl::Hours(1);
  FakeEngine engine([&](const AlignJob& asked, size_t) {
    EXPECT_EQ(asked.stop.cancelled, cancelled);
    EXPECT_EQ(asked.stop.deadline, job.stop.deadline);
    return Stay(asked, 1.0);
  });
  EXPECT_TRUE(SearchAroundPrior(engine, job, Options(20, 10, 5), nullptr).ok());
}

TEST(PriorSearchTest, EndsWithCancelledAfterTheBatchThatItWasCancelledIn) {
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  FakeEngine engine([&](const AlignJob& job, size_t index) {
    if (index == 12) *cancelled = true;
    return Stay(job, 1.0);
  });
  PoseSearchJob job = Job();
  job.stop.cancelled = cancelled;
  const auto found = SearchAroundPrior(engine, job, Options(50, 10, 5), nullptr);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("15 of 50 particles"));
  EXPECT_THAT(engine.batches, ElementsAre(10, 5));
  // Before it began, too.
  EXPECT_EQ(SearchAroundPrior(engine, job, Options(50, 10, 5), nullptr).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(engine.batches.size(), 2u);
}

TEST(PriorSearchTest, AnswersWithWhatItHasWhenTheDeadlinePasses) {
  for (const bool before_it_began : {true, false}) {
    PoseSearchJob job = Job();
    if (before_it_began) job.stop.deadline = absl::InfinitePast();
    FakeEngine engine([&job](const AlignJob& asked, size_t) {
      job.stop.deadline = absl::InfinitePast();
      return Stay(asked, 3.0);
    });
    const auto found = SearchAroundPrior(engine, job, Options(50, 10, 5), nullptr);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(found->timed_out);
    EXPECT_EQ(engine.batches.size(), before_it_began ? 0U : 1U);
    EXPECT_EQ(found->candidates_aligned, before_it_began ? 0U : 10U);
    EXPECT_EQ(found->ranked.hypotheses.empty(), before_it_began);
    EXPECT_EQ(found->reliable, !before_it_began);
  }
}

TEST(PriorSearchTest, IsTimedOutWhenTheDeadlineCutTheLastBatchShort) {
  const auto search = [](Termination last) {
    FakeEngine engine([last](const AlignJob& job, size_t index) {
      AlignResult result = Stay(job, 3.0);
      if (index == 19) result.termination = last;
      return result;
    });
    return SearchAroundPrior(engine, Job(), Options(20, 10, 10), nullptr)->timed_out;
  };
  EXPECT_TRUE(search(Termination::kDeadline));
  EXPECT_FALSE(search(Termination::kMaxIterations));
}

TEST(PriorSearchTest, SaysWhatTheEngineSaysOfAJob) {
  FakeEngine engine([](const AlignJob& job, size_t index) {
    AlignResult result = Stay(job, 3.0);
    if (index == 13) result.status = absl::FailedPreconditionError("the map has no cells of 7 m");
    return result;
  });
  EXPECT_EQ(SearchAroundPrior(engine, Job(), Options(50, 10, 5), nullptr).status(),
            absl::FailedPreconditionError("the map has no cells of 7 m"));
  EXPECT_THAT(engine.batches, ElementsAre(10, 5));
}

TEST(PriorSearchTest, ParticlesThatEndNowhereSpoilNothing) {
  const double nan = std::nan("");
  FakeEngine engine([nan](const AlignJob& job, size_t index) {
    AlignResult result = Stay(job, 2.0);
    if (index % 3 == 0) {
      result.map_T_base.translation.setConstant(nan);
      result.after.transform_probability = nan;
      result.after.nearest_voxel_likelihood = nan;
      result.termination = Termination::kNotFinite;
    }
    return result;
  });
  const auto found = SearchAroundPrior(engine, Job(), Options(60, 30, 10), nullptr);
  ASSERT_TRUE(found.ok()) << found.status();
  for (const Pose& start : engine.starts) {
    EXPECT_TRUE(start.translation.allFinite());
    EXPECT_TRUE(start.rotation.coeffs().allFinite());
  }
  ASSERT_FALSE(found->ranked.hypotheses.empty());
  EXPECT_EQ(found->ranked.hypotheses[0].result.after.nearest_voxel_likelihood, 2.0);
}

}  // namespace
}  // namespace voxloc
