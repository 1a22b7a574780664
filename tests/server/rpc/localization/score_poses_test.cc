// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/geometry/euler.h"
#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

class ScorePoses : public EngineTest {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::ScorePosesRequest, v1::ScorePosesResponse>;

  void SetUp() override { server_.LoadTown(); }

  // A stream whose set-up has been taken, and the reply to it.
  std::unique_ptr<Stream> Ready(const v1::ScorePosesRequest& setup, v1::ScorePosesResponse& ready) {
    auto stream = server_.localization->ScorePoses(context_.get());
    EXPECT_TRUE(stream->Write(setup) && stream->Read(&ready));
    return stream;
  }

  static v1::ScorePosesRequest TownSetup() {
    v1::ScorePosesRequest request;
    request.mutable_setup()->mutable_setup()->set_map("town");
    *request.mutable_setup()->mutable_scan() = GoodScan();
    return request;
  }

  static void AddPose(const Pose& pose, v1::PoseSet* set) {
    for (const double value :
         {pose.translation.x(), pose.translation.y(), pose.translation.z(), pose.rotation.x(),
          pose.rotation.y(), pose.rotation.z(), pose.rotation.w()}) {
      set->add_map_t_base(value);
    }
  }

  TestServer server_{[](Config& config) {
                       config.limits.max_scoring_streams = 1;
                       config.limits.max_poses_per_set = 500;
                     },
                     EngineHandle()};
  std::unique_ptr<grpc::ClientContext> context_ = TestServer::NewContext();
};
VOXLOC_INSTANTIATE_ON_ENGINES(ScorePoses);

TEST_P(ScorePoses, ScoresTheTruePoseBest) {
  v1::ScorePosesResponse response;
  const auto stream = Ready(TownSetup(), response);
  ASSERT_TRUE(response.has_ready());
  EXPECT_EQ(response.ready().map_revision(), 1);
  EXPECT_EQ(response.ready().points().used(), 1500);
  v1::ScorePosesRequest request;
  request.mutable_poses()->set_sequence(3);
  for (int i = -200; i <= 200; ++i) {
    Pose pose = VehiclePose();
    pose.translation.x() += 0.02 * i;
    AddPose(pose, request.mutable_poses());
  }
  ASSERT_TRUE(stream->Write(request));
  std::vector<double> nvtl;
  bool last = false;
  while (!last && stream->Read(&response)) {
    EXPECT_EQ(response.scores().sequence(), 3);
    EXPECT_EQ(response.scores().first_pose(), nvtl.size());
    nvtl.insert(nvtl.end(), response.scores().nvtl().begin(), response.scores().nvtl().end());
    last = response.scores().last();
  }
  ASSERT_EQ(nvtl.size(), 401);
  const auto best = std::max_element(nvtl.begin(), nvtl.end()) - nvtl.begin();
  EXPECT_NEAR(static_cast<double>(best), 200.0, 8.0);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_P(ScorePoses, GivesPointScoresAndZerosOutsideTheMap) {
  v1::ScorePosesRequest setup = TownSetup();
  setup.mutable_setup()->mutable_setup()->mutable_output()->set_point_scores(true);
  setup.mutable_setup()->mutable_stage()->set_value(0);
  v1::ScorePosesResponse response;
  const auto stream = Ready(setup, response);
  v1::ScorePosesRequest request;
  AddPose(VehiclePose(), request.mutable_poses());
  AddPose({{1e9, 0.0, 0.0}, Eigen::Quaterniond::Identity()}, request.mutable_poses());
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  EXPECT_EQ(response.scores().nvtl_size(), 2);
  EXPECT_GT(response.scores().nvtl(0), 2.0);
  EXPECT_EQ(response.scores().nvtl(1), 0.0);
  EXPECT_EQ(response.scores().point_scores_size(), 3000);
  EXPECT_EQ(response.scores().point_scores(2999), 0.0F);
}

TEST_P(ScorePoses, AnswersAMalformedSetAndGoesOn) {
  v1::ScorePosesResponse response;
  const auto stream = Ready(TownSetup(), response);
  std::vector<v1::PoseSet> sets(4);
  sets[1].add_map_t_base(1.0);
  for (int i = 0; i < 7; ++i) sets[2].add_map_t_base(std::numeric_limits<double>::quiet_NaN());
  for (int i = 0; i < 501; ++i) AddPose(VehiclePose(), &sets[3]);
  for (const v1::PoseSet& set : sets) {
    v1::ScorePosesRequest request;
    *request.mutable_poses() = set;
    ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
    EXPECT_NE(response.scores().detail(), "");
    EXPECT_TRUE(response.scores().last());
    EXPECT_EQ(response.scores().nvtl_size(), 0);
  }
  v1::ScorePosesRequest request;
  AddPose(VehiclePose(), request.mutable_poses());
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  EXPECT_EQ(response.scores().detail(), "");
  EXPECT_EQ(response.scores().nvtl_size(), 1);
}

TEST_P(ScorePoses, EndsOnWhatItCannotServe) {
  const auto end_of = [this](const v1::ScorePosesRequest& request) {
    const auto context = TestServer::NewContext();
    const auto stream = server_.localization->ScorePoses(context.get());
    static_cast<void>(stream->Write(request));
    v1::ScorePosesResponse response;
    EXPECT_FALSE(stream->Read(&response)) << response.ShortDebugString();
    return stream->Finish();
  };
  v1::ScorePosesRequest request;
  EXPECT_EQ(end_of(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  AddPose(VehiclePose(), request.mutable_poses());
  EXPECT_EQ(end_of(request).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  const std::vector<std::pair<grpc::StatusCode, std::function<void(v1::ScoreSetup&)>>> cases = {
      {grpc::StatusCode::NOT_FOUND, [](auto& setup) { setup.mutable_setup()->set_map("nowhere"); }},
      {grpc::StatusCode::INVALID_ARGUMENT,
       [](auto& setup) { setup.mutable_stage()->set_value(9); }},
      {grpc::StatusCode::INVALID_ARGUMENT,
       [](auto& setup) { setup.mutable_scan()->mutable_clouds(0)->mutable_cloud()->clear_data(); }},
      {grpc::StatusCode::FAILED_PRECONDITION,
       [](auto& setup) { setup.mutable_setup()->set_min_map_revision(5); }}};
  for (const auto& [code, change] : cases) {
    request = TownSetup();
    change(*request.mutable_setup());
    EXPECT_EQ(end_of(request).error_code(), code);
  }
  v1::ScorePosesResponse response;
  const auto stream = Ready(TownSetup(), response);
  const grpc::Status second = end_of(TownSetup());
  EXPECT_EQ(second.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(second), "TOO_MANY_SCORING_STREAMS");
  EXPECT_EQ(ErrorInfoOf(second).metadata().at("limit"), "1");
}

}  // namespace
}  // namespace voxloc::server
