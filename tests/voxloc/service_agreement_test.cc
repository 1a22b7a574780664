// SPDX-License-Identifier: Apache-2.0
//
// The library gives the bits of the service, on the same kind of engine.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/convert/pose.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"
#include "tests/support/synthetic_scene.h"
#include "voxloc/localizer.h"

namespace voxloc {
namespace {

using server::PoseFromProto;

class ServiceAgreementTest : public EngineTest {
 protected:
  static std::unique_ptr<Localizer> Make(const std::string& profile) {
    LocalizerOptions options;
    options.profile = profile;
    options.device = GetParam();
    auto localizer = Localizer::Create(*Map::FromPoints(server::SmallTown()), options);
    EXPECT_TRUE(localizer.ok()) << localizer.status();
    return *std::move(localizer);
  }

  // The message's pose is that of the library, to the last bit.
  static void ExpectPose(const v1::Pose& message, const Pose& map_T_base) {
    const auto pose = PoseFromProto(message, "pose");
    ASSERT_TRUE(pose.ok()) << pose.status();
    EXPECT_EQ(pose->translation, map_T_base.translation);
    const double sign = map_T_base.rotation.w() < 0.0 ? -1.0 : 1.0;
    EXPECT_EQ(pose->rotation.coeffs(), sign * map_T_base.rotation.coeffs());
  }

  template <typename Message>
  static void ExpectSame(const Message& message, const Alignment& alignment) {
    ExpectPose(message.map_t_base().pose(), alignment.map_T_base);
    ASSERT_EQ(message.map_t_base().covariance_size(), 36);
    for (int i = 0; i < 36; ++i) {
      EXPECT_EQ(message.map_t_base().covariance(i), alignment.covariance(i / 6, i % 6)) << i;
    }
    EXPECT_EQ("ALIGNMENT_STATUS_" + std::string(ToString(alignment.status)),
              v1::AlignmentStatus_Name(message.status()));
    EXPECT_EQ(message.has_confidence(), alignment.confidence.has_value());
    EXPECT_EQ(message.confidence().value(), alignment.confidence.value_or(0.0));
    EXPECT_EQ(message.scores().nvtl(), alignment.score.nearest_voxel_likelihood);
    EXPECT_EQ(message.scores().transform_probability(), alignment.score.transform_probability);
  }
};

TEST_P(ServiceAgreementTest, AlignsToTheSameBits) {
  server::TestServer service({}, EngineHandle());
  service.LoadTown();
  for (const char* const profile : {"precise", "autoware"}) {
    const auto localizer = Make(profile);
    for (int i = 0; i < 12; ++i) {
      AlignRequest request;
      request.points_base = server::ScanFrom(server::VehiclePose(), 300 + 200 * i);
      request.map_T_base_guess = Displaced(server::VehiclePose(), {0.12 * i, -0.2, 0.05}, 0.02 * i);
      // Of a length of 1 to 1e-13, as sums and products leave it: both normalize it, or neither.
      if (i % 2 == 1) request.map_T_base_guess.rotation.coeffs() *= 1.0 + 1e-13;
      // The last are out of reach, or out of the map.
      if (i == 10) request.map_T_base_guess.translation.x() += 12.0;
      if (i == 11) request.map_T_base_guess.translation.x() += 1e4;
      v1::AlignScanRequest call;
      call.mutable_setup()->set_map("town");
      call.mutable_setup()->mutable_options()->set_profile(profile);
      *call.mutable_scan()->add_clouds()->mutable_cloud() = server::CloudOf(request.points_base);
      v1::PoseWithCovariance& guess = *call.mutable_scan()->mutable_guess_map_t_base();
      *guess.mutable_pose() = server::PoseOf(request.map_T_base_guess);
      if (i % 3 == 1) {
        request.guess_covariance = 0.01 * Matrix6::Identity();
        for (int k = 0; k < 36; ++k) {
          guess.add_covariance((*request.guess_covariance)(k / 6, k % 6));
        }
      }
      if (i % 4 == 2) {
        request.base_twist = Twist{{8.0, 0.0, 0.0}, {0.0, 0.0, 0.1}};
        call.mutable_scan()->mutable_base_twist()->mutable_linear()->set_x(8.0);
        call.mutable_scan()->mutable_base_twist()->mutable_angular()->set_z(0.1);
      }
      v1::AlignScanResponse response;
      const auto context = server::TestServer::NewContext();
      const grpc::Status status = service.localization->AlignScan(context.get(), call, &response);
      ASSERT_TRUE(status.ok()) << status.error_message();
      const auto found = localizer->Align(request);
      ASSERT_TRUE(found.ok()) << found.status();
      SCOPED_TRACE(testing::Message() << profile << ", scan " << i << ": " << found->detail);
      EXPECT_EQ(response.result().detail(), found->detail);
      EXPECT_EQ(response.result().accepted(), found->accepted);
      EXPECT_EQ(response.result().iterations(), found->iterations);
      if (found->status != AlignmentStatus::kOutOfMap) ExpectSame(response.result(), *found);
    }
  }
}

TEST_P(ServiceAgreementTest, LocatesToTheSameBits) {
  server::TestServer service({}, EngineHandle());
  service.LoadTown();
  const v1::EstimateInitialPoseRequest call = server::WholeMapRequest();
  const server::PoseSearchReply reply = server::Search(service, call);
  ASSERT_TRUE(reply.has_result) << reply.status.error_message();
  LocateRequest request;
  request.points_base = server::ScanFrom(server::VehiclePose());
  request.seed = call.search().seed();
  const auto location = Make("precise")->Locate(request);
  ASSERT_TRUE(location.ok()) << location.status();
  ASSERT_EQ(static_cast<size_t>(reply.result.hypotheses_size()), location->hypotheses.size());
  ASSERT_GT(location->hypotheses.size(), 0U);
  for (size_t i = 0; i < location->hypotheses.size(); ++i) {
    ExpectSame(reply.result.hypotheses(static_cast<int>(i)), location->hypotheses[i]);
  }
  EXPECT_EQ(reply.result.reliable(), location->reliable);
  EXPECT_EQ(reply.result.ambiguous(), location->ambiguous);
}

VOXLOC_INSTANTIATE_ON_ENGINES(ServiceAgreementTest);

}  // namespace
}  // namespace voxloc
