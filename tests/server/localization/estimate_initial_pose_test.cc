// SPDX-License-Identifier: Apache-2.0
//
// Searches for an initial pose, over a real connection: what they find, what they tell on the way,
// and what is wrong with requests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/map_calls.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class EstimateInitialPose : public EngineTest {
 protected:
  TownServer server_{[](Config& config) {
                       config.limits.max_searches = 2;
                       config.limits.max_particles = 2000;
                       config.limits.max_points_per_scan = 100'000;
                     },
                     EngineHandle()};
};
VOXLOC_INSTANTIATE_ON_ENGINES(EstimateInitialPose);

TEST_P(EstimateInitialPose, FindsTheVehicleAroundAPrior) {
  const PoseSearchReply reply = Search(server_, PriorRequest());
  ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
  ASSERT_TRUE(reply.has_result);
  EXPECT_GE(reply.progress.size(), 2u);
  // They were not asked for.
  for (const v1::SearchProgress& step : reply.progress) EXPECT_EQ(step.particles_size(), 0);
  const v1::SearchResult& result = reply.result;
  ASSERT_GE(result.hypotheses_size(), 1);
  const v1::PoseHypothesis& best = result.hypotheses(0);
  EXPECT_LT(DistanceFromVehicle(best.map_t_base().pose()), 0.1);
  EXPECT_LT(AngleFromVehicle(best.map_t_base().pose()), 0.01);
  EXPECT_EQ(best.status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_GE(best.support(), 1);
  EXPECT_TRUE(result.reliable());
  EXPECT_FALSE(result.timed_out());
  EXPECT_EQ(result.candidates_aligned(), 100);
  EXPECT_EQ(result.points().used(), 1500);
  EXPECT_EQ(result.map(), "town");
  EXPECT_EQ(result.map_revision(), 1);
  EXPECT_EQ(result.engine(), GetParam());
  EXPECT_EQ(result.stamp_ns(), 77);
  EXPECT_GE(result.timings().batch_size(), 1);
  EXPECT_GT(result.timings().align_s(), 0.0);
  EXPECT_GE(result.timings().server_s(), result.timings().align_s());
  EXPECT_GT(result.timings().received_at_ns(), 0);
}

TEST_P(EstimateInitialPose, AlignsCandidatesOneAtATimeWhereAskedTo) {
  v1::EstimateInitialPoseRequest request = PriorRequest();
  request.mutable_search()->set_startup_trials(12);
  EXPECT_EQ(Search(server_, request).result.timings().batch_size(), 20) << "by default";
  request.mutable_search()->set_guided_batch(1);
  const PoseSearchReply reply = Search(server_, request);
  ASSERT_TRUE(reply.has_result) << reply.status.error_message();
  EXPECT_EQ(reply.result.timings().batch_size(), 12) << "that of the startup trials";
  EXPECT_EQ(reply.result.candidates_aligned(), 100);
  ASSERT_GE(reply.result.hypotheses_size(), 1);
  EXPECT_LT(DistanceFromVehicle(reply.result.hypotheses(0).map_t_base().pose()), 0.1);
}

TEST_P(EstimateInitialPose, RanksDistinctHypothesesWithCovarianceAndConfidence) {
  v1::EstimateInitialPoseRequest request = PriorRequest();
  request.mutable_search()->set_max_hypotheses(3);
  const v1::SearchResult result = Search(server_, request).result;
  ASSERT_GE(result.hypotheses_size(), 1);
  EXPECT_LE(result.hypotheses_size(), 3);
  double last_confidence = 1.0;
  std::vector<double> nvtl;
  for (const v1::PoseHypothesis& hypothesis : result.hypotheses()) {
    nvtl.push_back(hypothesis.scores().nvtl());
    ASSERT_EQ(hypothesis.map_t_base().covariance_size(), 36);
    for (int axis = 0; axis < 6; ++axis)
      EXPECT_GT(hypothesis.map_t_base().covariance(7 * axis), 0.0);
    ASSERT_TRUE(hypothesis.has_confidence());
    EXPECT_GE(hypothesis.confidence().value(), 0.0);
    EXPECT_LE(hypothesis.confidence().value(), last_confidence);
    last_confidence = hypothesis.confidence().value();
    EXPECT_GT(hypothesis.confidence().cell_size_m(), 0.0);
  }
  const double first = nvtl.front();
  std::sort(nvtl.rbegin(), nvtl.rend());
  if (nvtl.size() > 1) {
    EXPECT_NEAR(result.ambiguity_gap(), (nvtl[0] - nvtl[1]) / nvtl[0], 1e-12);
  }
  EXPECT_TRUE(first == nvtl[0] || result.ambiguous());
}

TEST_P(EstimateInitialPose, TellsHowFarItHasComeAndEveryParticleOnce) {
  v1::EstimateInitialPoseRequest request = PriorRequest(150);
  request.set_report_particles(true);
  const PoseSearchReply reply = Search(server_, request);
  ASSERT_TRUE(reply.status.ok());
  ASSERT_GE(reply.progress.size(), 2u);
  EXPECT_EQ(reply.progress.front().phase(), v1::SEARCH_PHASE_PREPARING);
  double fraction = 0.0;
  uint32_t aligned = 0;
  uint32_t next_particle = 0;
  for (const v1::SearchProgress& progress : reply.progress) {
    EXPECT_NE(progress.phase(), v1::SEARCH_PHASE_UNSPECIFIED);
    EXPECT_GE(progress.fraction(), fraction);
    EXPECT_LE(progress.fraction(), 1.0);
    EXPECT_GE(progress.candidates_aligned(), aligned);
    fraction = progress.fraction();
    aligned = progress.candidates_aligned();
    for (const v1::SearchParticle& particle : progress.particles()) {
      EXPECT_EQ(particle.index(), next_particle++);
      EXPECT_TRUE(particle.has_start_map_t_base());
      EXPECT_TRUE(particle.has_map_t_base());
    }
  }
  EXPECT_EQ(next_particle, 150);
  EXPECT_EQ(aligned, 150);
  ASSERT_TRUE(reply.progress.back().has_best());
  EXPECT_EQ(reply.progress.back().best().scores().nvtl(),
            reply.result.hypotheses(0).scores().nvtl());
}

TEST_P(EstimateInitialPose, GivesTheSameAnswerToTheSameSeed) {
  const auto poses_of = [this](uint64_t seed) {
    v1::EstimateInitialPoseRequest request = PriorRequest(30);
    request.mutable_search()->set_seed(seed);
    const v1::SearchResult result = Search(server_, request).result;
    std::string poses;
    for (const v1::PoseHypothesis& hypothesis : result.hypotheses()) {
      poses += hypothesis.SerializeAsString();
    }
    return poses;
  };
  const std::string first = poses_of(5);
  EXPECT_EQ(poses_of(5), first);
  EXPECT_NE(poses_of(6), first);
}

TEST_P(EstimateInitialPose, FindsNothingFarOutsideTheMap) {
  for (const double x : {1e3, 1e9, -1e9}) {
    v1::EstimateInitialPoseRequest request = PriorRequest();
    request.mutable_prior()->mutable_pose()->mutable_position()->set_x(x);
    const PoseSearchReply reply = Search(server_, request);
    ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
    EXPECT_EQ(reply.result.hypotheses_size(), 0);
    EXPECT_EQ(reply.result.ambiguity_gap(), 0.0);
    EXPECT_FALSE(reply.result.reliable());
  }
}

TEST_P(EstimateInitialPose, FindsTheVehicleAroundAPriorWithoutItsHeight) {
  for (const double z : {-40.0, 100.0}) {
    v1::EstimateInitialPoseRequest request = PriorRequest();
    request.mutable_prior()->mutable_pose()->mutable_position()->set_z(z);
    const v1::SearchResult result = Search(server_, request).result;
    ASSERT_GE(result.hypotheses_size(), 1) << z;
    EXPECT_LT(DistanceFromVehicle(result.hypotheses(0).map_t_base().pose()), 0.1);
    EXPECT_TRUE(result.reliable());
    EXPECT_NEAR(result.prior_height_shift_m(), VehiclePose().translation.z() - z, 1.0);
  }
  EXPECT_EQ(Search(server_, PriorRequest()).result.prior_height_shift_m(), 0.0);
}

TEST_P(EstimateInitialPose, FindsTheVehicleInARegionAndInTheWholeMap) {
  for (const v1::EstimateInitialPoseRequest& request : {RegionRequest(), WholeMapRequest()}) {
    const PoseSearchReply reply = Search(server_, request);
    ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
    const v1::SearchResult& result = reply.result;
    ASSERT_GE(result.hypotheses_size(), 1);
    EXPECT_LT(DistanceFromVehicle(result.hypotheses(0).map_t_base().pose()), 0.1);
    EXPECT_LT(AngleFromVehicle(result.hypotheses(0).map_t_base().pose()), 0.01);
    EXPECT_EQ(result.hypotheses(0).map_t_base().covariance_size(), 36);
    EXPECT_TRUE(result.reliable());
    EXPECT_GT(result.candidates_scored(), 0);
    EXPECT_GT(result.candidates_aligned(), 0);
    double fraction = 0.0;
    for (const v1::SearchProgress& progress : reply.progress) {
      EXPECT_GE(progress.fraction(), fraction);
      fraction = progress.fraction();
    }
    EXPECT_EQ(fraction, 1.0);
  }
}

TEST_P(EstimateInitialPose, LooksOnlyAtTheHeadingsOfTheRegion) {
  v1::EstimateInitialPoseRequest request = RegionRequest();
  request.mutable_region()->set_yaw_rad(0.4);  // the vehicle's
  request.mutable_region()->set_yaw_half_range_rad(0.3);
  const v1::SearchResult right = Search(server_, request).result;
  ASSERT_GE(right.hypotheses_size(), 1);
  EXPECT_LT(DistanceFromVehicle(right.hypotheses(0).map_t_base().pose()), 0.1);
  request.mutable_region()->set_yaw_rad(0.4 + M_PI);
  const v1::SearchResult turned = Search(server_, request).result;
  for (const v1::PoseHypothesis& wrong : turned.hypotheses()) {
    EXPECT_GT(AngleFromVehicle(wrong.map_t_base().pose()), 2.0);
  }
}

TEST_P(EstimateInitialPose, SaysWhatIsWrongWithARequest) {
  using Change = std::function<void(v1::EstimateInitialPoseRequest&)>;
  const auto expect_error = [this](v1::EstimateInitialPoseRequest request, const Change& change,
                                   grpc::StatusCode code, const std::string& says) {
    change(request);
    const PoseSearchReply reply = Search(server_, request);
    EXPECT_EQ(reply.status.error_code(), code) << says;
    EXPECT_THAT(reply.status.error_message(), HasSubstr(says));
    EXPECT_FALSE(reply.has_result);
  };
  const auto invalid = grpc::StatusCode::INVALID_ARGUMENT;
  expect_error(
      PriorRequest(), [](auto& r) { r.mutable_setup()->set_map("nowhere"); },
      grpc::StatusCode::NOT_FOUND, "nowhere");
  const std::pair<Change, std::string> of_a_prior[] = {
      {[](auto& r) { r.mutable_setup()->set_map("not a name"); }, "map name"},
      {[](auto& r) { r.clear_scope(); }, "no scope"},
      {[](auto& r) { r.mutable_scan()->clear_clouds(); }, "the scan has no points"},
      {[](auto& r) {
         r.mutable_scan()->mutable_clouds(0)->mutable_cloud()->mutable_data()->pop_back();
       },
       "stride"},
      {[](auto& r) {
         *r.mutable_scan()->mutable_clouds(0)->mutable_cloud() = CloudOf({NAN, 0.0F, 0.0F});
       },
       "no point is left of 1: 1 not finite"},
      {[](auto& r) { r.mutable_setup()->mutable_filter()->set_min_range_m(1e4); },
       "no point is left"},
      {[](auto& r) { r.mutable_setup()->mutable_filter()->set_voxel_leaf_m(-1.0); },
       "voxel_leaf_m"},
      {[](auto& r) { r.mutable_setup()->mutable_options()->set_profile("fastest"); }, "fastest"},
      {[](auto& r) { r.mutable_setup()->set_vehicle(std::string(129, 'v')); }, "vehicle"},
      {[](auto& r) { r.mutable_setup()->mutable_base_t_sensor(); }, "base_t_sensor"},
      {[](auto& r) { r.set_timeout_s(-1.0); }, "over 0 (got -1)"},
      {[](auto& r) { r.set_timeout_s(kNan); }, "over 0 (got nan)"},
      {[](auto& r) { r.set_timeout_s(kInfinity); }, "over 0 (got inf)"},
      {[](auto& r) { r.mutable_prior()->clear_pose(); }, "prior.pose"},
      {[](auto& r) { r.mutable_prior()->mutable_pose()->mutable_position()->set_y(kNan); },
       "prior.pose.position"},
      {[](auto& r) { r.mutable_prior()->clear_covariance(); }, "prior.covariance is empty"},
      {[](auto& r) { r.mutable_prior()->add_covariance(1.0); }, "got 37"},
      {[](auto& r) { r.mutable_prior()->set_covariance(0, kNan); }, "prior.covariance"},
      {[](auto& r) { r.mutable_prior()->set_covariance(0, 0.0); }, "prior.covariance"},
      {[](auto& r) { r.mutable_prior()->set_covariance(35, -1.0); }, "prior.covariance"},
      {[](auto& r) { r.mutable_prior()->set_covariance(1, 0.5); }, "prior.covariance"},
      {[](auto& r) { r.mutable_prior()->set_covariance(0, 1e11); }, "(got 316228 m)"},
      {[](auto& r) { r.mutable_prior()->set_covariance(0, 1e30); }, "(got 1e+30)"},
      {[](auto& r) { r.mutable_search()->set_particles(2001); }, "(got 2001)"},
      {[](auto& r) { r.mutable_search()->set_startup_trials(101); }, "(got 101)"},
      {[](auto& r) { r.mutable_search()->set_guided_batch(257); },
       "guided_batch must be from 1 to 256 (got 257)"},
      {[](auto& r) { r.mutable_search()->set_max_hypotheses(101); }, "101"},
      {[](auto& r) { r.mutable_search()->set_min_separation_m(-1.0); }, "min_separation_m"},
      {[](auto& r) { r.mutable_search()->set_min_separation_rad(kNan); }, "min_separation_rad"},
      {[](auto& r) { r.mutable_search()->set_ambiguity_gap(2.0); }, "ambiguity_gap"},
  };
  for (const auto& [change, says] : of_a_prior) expect_error(PriorRequest(), change, invalid, says);
  const std::pair<Change, std::string> of_a_region[] = {
      {[](auto& r) { r.mutable_region()->clear_box(); },
       "region must have a box or a wgs84_circle (got neither)"},
      {[](auto& r) { r.mutable_region()->mutable_wgs84_circle(); },
       "region must have a box or a wgs84_circle (got both)"},
      {[](auto& r) { r.mutable_region()->mutable_box()->clear_max(); }, "region.box needs both"},
      {[](auto& r) { r.mutable_region()->mutable_box()->mutable_max()->set_z(-1.0); },
       "lies below region.box.min ("},
      {[](auto& r) { *r.mutable_region()->mutable_box()->mutable_max() = r.region().box().min(); },
       "region.box must have an area (got 0 m by 0 m)"},
      {[](auto& r) { r.mutable_region()->mutable_box()->mutable_min()->set_x(kNan); },
       "region.box.min"},
      {[](auto& r) {
         r.mutable_region()->mutable_box()->mutable_min()->set_x(1e4);
         r.mutable_region()->mutable_box()->mutable_max()->set_x(2e4);
       },
       "does not touch the map"},
      {[](auto& r) { r.mutable_region()->set_yaw_rad(kInfinity); },
       "region.yaw_rad must be from -1000 to 1000 (got inf)"},
      {[](auto& r) { r.mutable_region()->set_yaw_half_range_rad(3.2); },
       "yaw_half_range_rad must be over 0 and at most pi (got 3.2)"},
      {[](auto& r) { r.mutable_region()->set_yaw_half_range_rad(-0.1); },
       "yaw_half_range_rad must be over 0 and at most pi (got -0.1)"},
      {[](auto& r) { r.mutable_search()->set_max_tilt_rad(0.6); }, "(got 0.6)"},
      {[](auto& r) { r.mutable_search()->set_max_tilt_rad(kNan); }, "(got nan)"},
  };
  for (const auto& [change, says] : of_a_region) {
    expect_error(RegionRequest(), change, invalid, says);
  }
  EXPECT_TRUE(Search(server_, PriorRequest(20)).status.ok()) << "the server lives on";
}

TEST_P(EstimateInitialPose, NeedsAMapThatServesTheProfile) {
  v1::UpdateMapTilesRequest begin = BeginRequest("plain");
  begin.mutable_begin()->mutable_options()->add_profiles("autoware");
  ASSERT_TRUE(
      RunUpdate(server_, {begin, TileRequest("town", SmallTown()), CommitRequest()}).status.ok());
  v1::EstimateInitialPoseRequest request = PriorRequest(20);
  request.mutable_setup()->set_map("plain");
  request.mutable_setup()->mutable_options()->set_profile("precise");
  EXPECT_EQ(Search(server_, request).status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  request.mutable_setup()->mutable_options()->set_profile("autoware");
  EXPECT_TRUE(Search(server_, request).status.ok());
}

}  // namespace
}  // namespace voxloc::server
