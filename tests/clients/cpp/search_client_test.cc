// SPDX-License-Identifier: Apache-2.0
//
// The client's side of a search for an initial pose.

#include "clients/cpp/search_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/clients/cpp/fake_server.h"

namespace voxloc::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Behaviour = std::function<grpc::Status(
    grpc::ServerContext*, const v1::EstimateInitialPoseRequest&, FakeBehaviour::SearchStream*)>;

FakeBehaviour Searching(const Behaviour& behaviour) {
  FakeBehaviour all;
  all.estimate_initial_pose = behaviour;
  return all;
}

void SendProgress(double fraction, FakeBehaviour::SearchStream* stream) {
  v1::EstimateInitialPoseResponse response;
  response.mutable_progress()->set_fraction(fraction);
  stream->Write(response);
}

// Goes on until the client has given up.
grpc::Status SearchOn(grpc::ServerContext* context, const v1::EstimateInitialPoseRequest&,
                      FakeBehaviour::SearchStream* stream) {
  SendProgress(0.1, stream);
  // Real time: a call that hangs until it is cancelled.
  while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return grpc::Status::CANCELLED;
}

TEST(SearchClient, ReportsProgressAndReturnsTheResult) {
  FakeServer server(
      Searching([](grpc::ServerContext*, const v1::EstimateInitialPoseRequest& request,
                   FakeBehaviour::SearchStream* stream) {
        SendProgress(0.25, stream);
        SendProgress(0.75, stream);
        v1::EstimateInitialPoseResponse response;
        response.mutable_result()->set_map(request.setup().map());
        response.mutable_result()->set_ambiguity_gap(0.5);
        stream->Write(response);
        return grpc::Status::OK;
      }));
  v1::EstimateInitialPoseRequest request;
  request.mutable_setup()->set_map("town");
  std::vector<double> fractions;
  const auto result = EstimateInitialPose(
      ChannelTo(server.address()), request,
      [&fractions](const v1::SearchProgress& progress) {
        fractions.push_back(progress.fraction());
        return true;
      },
      60.0);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->map(), "town");
  EXPECT_EQ(result->ambiguity_gap(), 0.5);
  EXPECT_THAT(fractions, ElementsAre(0.25, 0.75));
  EXPECT_TRUE(EstimateInitialPose(ChannelTo(server.address()), request, nullptr, 60.0).ok());
}

TEST(SearchClient, GivesUpWhenTheObserverSaysSo) {
  FakeServer server(Searching(SearchOn));
  const auto result = EstimateInitialPose(
      ChannelTo(server.address()), v1::EstimateInitialPoseRequest(),
      [](const v1::SearchProgress&) { return false; }, 60.0);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
}

TEST(SearchClient, EndsAtItsDeadline) {
  FakeServer server(Searching(SearchOn));
  const auto result = EstimateInitialPose(
      ChannelTo(server.address()), v1::EstimateInitialPoseRequest(),
      [](const v1::SearchProgress&) { return true; }, 0.2);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("EstimateInitialPose"));
}

TEST(SearchClient, PassesTheServersErrorsOnAndNamesAMissingResult) {
  FakeServer refusing(Searching([](grpc::ServerContext*, const v1::EstimateInitialPoseRequest&,
                                   FakeBehaviour::SearchStream*) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "the request has no scope");
  }));
  const auto refused = EstimateInitialPose(ChannelTo(refusing.address()),
                                           v1::EstimateInitialPoseRequest(), nullptr, 60.0);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.status().message(),
            refusing.address() + " EstimateInitialPose: the request has no scope");
  FakeServer silent(Searching([](grpc::ServerContext*, const v1::EstimateInitialPoseRequest&,
                                 FakeBehaviour::SearchStream*) { return grpc::Status::OK; }));
  EXPECT_EQ(EstimateInitialPose(ChannelTo(silent.address()), v1::EstimateInitialPoseRequest(),
                                nullptr, 60.0)
                .status()
                .code(),
            absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace voxloc::client
