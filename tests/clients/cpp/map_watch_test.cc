// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/map_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>

#include "tests/clients/cpp/fake_server.h"

namespace voxloc::client {
namespace {

ReconnectOptions Quick() {
  ReconnectOptions options;
  options.max_attempts = 3;
  options.initial_wait_s = 0.001;
  options.max_wait_s = 0.001;
  return options;
}

// The n-th call writes events with revisions 10 n and 10 n + 1 and ends.
FakeBehaviour TwoEventsACall(std::atomic<int>* calls, grpc::StatusCode end) {
  FakeBehaviour behaviour;
  behaviour.watch_map = [calls, end](grpc::ServerContext*, const v1::WatchMapRequest& request,
                                     FakeBehaviour::WatchStream* stream) {
    const int call = ++*calls;
    for (int i = 0; i < 2; ++i) {
      v1::WatchMapResponse event;
      event.mutable_map()->set_name(request.map());
      event.mutable_map()->set_revision(static_cast<uint64_t>(10 * call + i));
      stream->Write(event);
    }
    return grpc::Status(end, "the end");
  };
  return behaviour;
}

TEST(MapWatch, BeginsAnewWhereTheConnectionBreaks) {
  std::atomic<int> calls{0};
  FakeServer server(TwoEventsACall(&calls, grpc::StatusCode::UNAVAILABLE));
  MapWatch watch(ChannelTo(server.address()), "town", Quick());
  for (const uint64_t revision : {10u, 11u, 20u, 21u, 30u}) {
    const auto event = watch.Next();
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(event->map().name(), "town");
    EXPECT_EQ(event->map().revision(), revision);
  }
}

TEST(MapWatch, BeginsAnewWhereItIsCancelledByTheServer) {
  std::atomic<int> calls{0};
  FakeServer server(TwoEventsACall(&calls, grpc::StatusCode::CANCELLED));
  MapWatch watch(ChannelTo(server.address()), "town", Quick());
  for (const uint64_t revision : {10u, 11u, 20u}) {
    const auto event = watch.Next();
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(event->map().revision(), revision);
  }
}

TEST(MapWatch, EndsWithOtherErrors) {
  std::atomic<int> calls{0};
  FakeServer server(TwoEventsACall(&calls, grpc::StatusCode::INVALID_ARGUMENT));
  MapWatch watch(ChannelTo(server.address()), "town", Quick());
  EXPECT_TRUE(watch.Next().ok());
  EXPECT_TRUE(watch.Next().ok());
  EXPECT_EQ(watch.Next().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(calls, 1);
}

TEST(MapWatch, GivesUpAfterAsManyAttemptsAsItMay) {
  std::atomic<int> calls{0};
  FakeBehaviour behaviour;
  behaviour.watch_map = [&calls](grpc::ServerContext*, const v1::WatchMapRequest&,
                                 FakeBehaviour::WatchStream*) {
    ++calls;
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
  };
  FakeServer server(behaviour);
  MapWatch watch(ChannelTo(server.address()), "town", Quick());
  EXPECT_EQ(watch.Next().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(calls, 4);
}

TEST(MapWatch, CancelEndsANextThatWaits) {
  std::promise<void> watching;
  FakeBehaviour behaviour;
  behaviour.watch_map = [&watching](grpc::ServerContext* context, const v1::WatchMapRequest&,
                                    FakeBehaviour::WatchStream* stream) {
    v1::WatchMapResponse event;
    stream->Write(event);
    watching.set_value();
    while (!context->IsCancelled() && stream->Write(event)) {
    }
    return grpc::Status::CANCELLED;
  };
  FakeServer server(behaviour);
  MapWatch watch(ChannelTo(server.address()), "", Quick());
  ASSERT_TRUE(watch.Next().ok());
  watching.get_future().wait();
  std::future<void> cancelled = std::async(std::launch::async, [&watch] { watch.Cancel(); });
  absl::Status end;
  while (end.ok()) end = watch.Next().status();
  EXPECT_EQ(end.code(), absl::StatusCode::kCancelled) << end;
  cancelled.wait();
  EXPECT_EQ(watch.Next().status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace voxloc::client
