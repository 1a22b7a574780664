// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/server_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>

#include "tests/clients/cpp/fake_server.h"
#include "tests/support/eventually.h"

namespace voxloc::ros {
namespace {

using client::FakeBehaviour;
using client::FakeServer;
using ::testing::HasSubstr;

// What became of scans, by their numbers.
struct Outcomes {
  std::mutex mutex;
  std::map<uint64_t, std::vector<v1::AlignmentStatus>> by_number;

  void Add(uint64_t number, v1::AlignmentStatus status) {
    const std::lock_guard<std::mutex> lock(mutex);
    by_number[number].push_back(status);
  }
  size_t size() {
    const std::lock_guard<std::mutex> lock(mutex);
    return by_number.size();
  }
};

client::Channel ChannelTo(const std::string& address) {
  client::ChannelOptions options;
  options.server = address;
  return *client::Channel::Create(options);
}

ServerLinkOptions OptionsFor(Outcomes& outcomes) {
  ServerLinkOptions options;
  options.open.mutable_setup()->set_map("town");
  options.on_result = [&outcomes](uint64_t number, const v1::AlignmentResult& result) {
    outcomes.Add(number, result.status());
  };
  return options;
}

bool AnswerOpenOf(FakeBehaviour::AlignStream* stream) {
  v1::AlignScansRequest request;
  if (!stream->Read(&request)) return false;
  v1::AlignScansResponse response;
  response.mutable_opened()->set_session("s");
  return stream->Write(response);
}

TEST(ServerLink, ScansOfASessionThatEndsHaveAnOutcomeAndTheNextSessionOpens) {
  std::atomic<int> sessions{0};
  std::atomic<int> scans{0};
  FakeBehaviour behaviour;
  behaviour.align_scans = [&](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    const bool first = ++sessions == 1;
    AnswerOpenOf(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      ++scans;
      // An error that clients/cpp does not come back from.
      if (first) return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "token has expired");
      v1::AlignScansResponse response;
      response.mutable_result()->set_sequence(request.scan().sequence());
      response.mutable_result()->set_status(v1::ALIGNMENT_STATUS_OK);
      stream->Write(response);
    }
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  Outcomes outcomes;
  ServerLink link(ChannelTo(server.address()), OptionsFor(outcomes));
  ASSERT_TRUE(Eventually([&] { return link.state().connection.ok(); }));
  ASSERT_TRUE(link.Send(7, v1::Scan()).ok());
  ASSERT_TRUE(Eventually([&] { return outcomes.size() == 1; }));
  ASSERT_TRUE(Eventually([&] { return sessions == 2 && link.state().connection.ok(); }));
  ASSERT_TRUE(link.Send(8, v1::Scan()).ok());
  ASSERT_TRUE(Eventually([&] { return outcomes.size() == 2; }));
  {
    const std::lock_guard<std::mutex> lock(outcomes.mutex);
    EXPECT_THAT(outcomes.by_number[7], testing::ElementsAre(v1::ALIGNMENT_STATUS_STALE));
    EXPECT_THAT(outcomes.by_number[8], testing::ElementsAre(v1::ALIGNMENT_STATUS_OK));
  }
  const ServerState state = link.state();
  EXPECT_EQ(state.sessions, 2u);
  EXPECT_EQ(state.sent, 2u);
  EXPECT_EQ(state.answered, 1u);
  EXPECT_EQ(state.given_up, 1u);
}

// No newer scan takes its place, and the server answers it after all when it is back.
TEST(ServerLink, AScanThatWaitsTooLongForAConnectionHasItsOneOutcome) {
  std::atomic<bool> is_gone{false};
  std::atomic<int> scans{0};
  FakeBehaviour behaviour;
  behaviour.align_scans = [&](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    if (is_gone) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone");
    AnswerOpenOf(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      v1::AlignScansResponse response;
      response.mutable_result()->set_sequence(request.scan().sequence());
      response.mutable_result()->set_status(v1::ALIGNMENT_STATUS_OK);
      stream->Write(response);
      if (++scans > 1) continue;
      is_gone = true;
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "going");
    }
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  Outcomes outcomes;
  ServerLinkOptions options = OptionsFor(outcomes);
  options.max_wait_s = 0.05;
  ServerLink link(ChannelTo(server.address()), options);
  ASSERT_TRUE(Eventually([&] { return link.state().connection.ok(); }));
  ASSERT_TRUE(link.Send(6, v1::Scan()).ok());
  ASSERT_TRUE(Eventually([&] { return outcomes.size() == 1 && !link.state().connection.ok(); }));
  ASSERT_TRUE(link.Send(7, v1::Scan()).ok());
  ASSERT_TRUE(Eventually([&] { return outcomes.size() == 2; }));
  EXPECT_EQ(link.state().answered, 1u);
  EXPECT_EQ(link.state().given_up, 1u);

  is_gone = false;
  ASSERT_TRUE(Eventually([&] { return link.state().answered == 2; }));
  ASSERT_TRUE(link.Send(8, v1::Scan()).ok());
  ASSERT_TRUE(Eventually([&] { return outcomes.size() == 3; }));
  {
    const std::lock_guard<std::mutex> lock(outcomes.mutex);
    EXPECT_THAT(outcomes.by_number[6], testing::ElementsAre(v1::ALIGNMENT_STATUS_OK));
    EXPECT_THAT(outcomes.by_number[7], testing::ElementsAre(v1::ALIGNMENT_STATUS_STALE));
    EXPECT_THAT(outcomes.by_number[8], testing::ElementsAre(v1::ALIGNMENT_STATUS_OK));
  }
  EXPECT_EQ(link.state().sent, 3u);
  EXPECT_EQ(link.state().given_up, 0u) << "the server has answered all of them";
}

TEST(ServerLink, SaysWhyItIsNotConnected) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [](grpc::ServerContext*, FakeBehaviour::AlignStream*) {
    return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "no token");
  };
  FakeServer server(behaviour);
  Outcomes outcomes;
  std::mutex mutex;
  std::vector<std::string> changes;
  ServerLinkOptions options = OptionsFor(outcomes);
  options.on_change = [&](const absl::Status& connection) {
    const std::lock_guard<std::mutex> lock(mutex);
    changes.emplace_back(connection.message());
  };
  ServerLink link(ChannelTo(server.address()), options);
  ASSERT_TRUE(Eventually([&] {
    const absl::Status status = link.Send(1, v1::Scan());
    return status.code() == absl::StatusCode::kUnauthenticated;
  }));
  ASSERT_TRUE(Eventually([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return !changes.empty() && changes.back().find("no token") != std::string::npos;
  }));
  EXPECT_FALSE(link.state().connection.ok());
  EXPECT_EQ(link.state().sessions, 0u);
}

TEST(ServerLink, EndsAtOnceAlthoughTheServerDoesNotAnswer) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [](grpc::ServerContext* context, FakeBehaviour::AlignStream*) {
    static_cast<void>(Eventually([context] { return context->IsCancelled(); }));
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  Outcomes outcomes;
  {
    ServerLink link(ChannelTo(server.address()), OptionsFor(outcomes));
    EXPECT_THAT(std::string(link.state().connection.message()), HasSubstr("being opened"));
    // It waits for the session, as the newest would.
    ASSERT_TRUE(Eventually([&] { return link.Send(1, v1::Scan()).ok(); }));
  }
  EXPECT_EQ(outcomes.size(), 1u);
}

}  // namespace
}  // namespace voxloc::ros
