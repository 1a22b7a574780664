// SPDX-License-Identifier: Apache-2.0
//
// A channel to several servers: which one is used, and when another one is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cpp/channel.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/map_upload.h"
#include "clients/cpp/map_watch.h"
#include "clients/cpp/session.h"
#include "clients/cpp/session_impl.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/clients/cpp/fake_maps.h"
#include "tests/clients/cpp/fake_server.h"
#include "tests/support/eventually.h"

namespace voxloc::client {
namespace {

using ::testing::HasSubstr;

constexpr double kWait_s = 30.0;

// Longer than any test: who waits for it fails the test.
constexpr int64_t kNever_s = 3600;

Channel ChannelOver(const std::vector<std::string>& addresses) {
  ChannelOptions options;
  for (const std::string& address : addresses) {
    absl::StrAppend(&options.server, options.server.empty() ? "" : ", ", address);
  }
  return *Channel::Create(options);
}

// With the time to wait, unless it is 0.
grpc::Status Refusal(grpc::StatusCode code, const std::string& reason, int64_t retry_s) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(retry_s);
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  if (retry_s > 0) details.add_details()->PackFrom(retry);
  return grpc::Status(code, reason, details.SerializeAsString());
}

absl::Status ClientRefusal(absl::StatusCode code, const std::string& reason, int64_t retry_s) {
  const grpc::Status said = Refusal(grpc::StatusCode::UNKNOWN, reason, retry_s);
  google::rpc::Status details;
  details.ParseFromString(said.error_details());
  absl::Status status(code, reason);
  for (const auto& detail : details.details()) {
    status.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return status;
}

bool Opens(FakeBehaviour::AlignStream* stream, const std::string& name) {
  v1::AlignScansRequest request;
  v1::AlignScansResponse response;
  response.mutable_opened()->set_session(name);
  return stream->Read(&request) && stream->Write(response);
}

void Answers(const v1::AlignScansRequest& request, FakeBehaviour::AlignStream* stream) {
  v1::AlignScansResponse response;
  response.mutable_result()->set_sequence(request.scan().sequence());
  response.mutable_result()->set_status(v1::ALIGNMENT_STATUS_OK);
  stream->Write(response);
}

// Answers every scan; `opened().session()` is the name.
FakeBehaviour Tracks(const std::string& name) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [name](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    if (!Opens(stream, name)) return grpc::Status::OK;
    v1::AlignScansRequest request;
    while (stream->Read(&request)) Answers(request, stream);
    return grpc::Status::OK;
  };
  return behaviour;
}

FakeBehaviour Refuses(const grpc::Status& refusal, std::atomic<int>* calls) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [refusal, calls](grpc::ServerContext*, FakeBehaviour::AlignStream*) {
    ++*calls;
    return refusal;
  };
  return behaviour;
}

SessionOptions QuickSession() {
  SessionOptions options;
  options.open_timeout_s = kWait_s;
  options.reconnect.initial_wait_s = 0.02;
  options.reconnect.max_wait_s = 0.1;
  options.reconnect.max_attempts = 1000;
  return options;
}

absl::StatusOr<v1::AlignmentResult> SendOne(LocalizationSession& session) {
  PointCloud cloud;
  cloud.PushBack(1.0F, 2.0F, 3.0F);
  ScanInput scan;
  scan.cloud = &cloud;
  const absl::StatusOr<uint64_t> sequence = session.Send(scan);
  if (!sequence.ok()) return sequence.status();
  return session.ReceiveResultOf(*sequence, kWait_s);
}

FakeBehaviour HasMap(const std::string& name) {
  FakeBehaviour behaviour;
  behaviour.get_map = [name](const v1::GetMapRequest&, v1::GetMapResponse* response) {
    response->mutable_map()->set_name(name);
    return grpc::Status::OK;
  };
  return behaviour;
}

TEST(SeveralServers, UsesTheFirstThatCanBeReachedAndKeepsToIt) {
  FakeServer gone{FakeBehaviour()};
  gone.Stop();
  FakeServer first(HasMap("first"));
  const FakeServer second(HasMap("second"));
  const Channel channel = ChannelOver({gone.address(), first.address(), second.address()});
  EXPECT_EQ(channel.server(), gone.address());
  EXPECT_EQ(MapClient(channel).Get("", kWait_s)->name(), "first");
  EXPECT_EQ(channel.server(), first.address());
  gone.Start();
  EXPECT_EQ(MapClient(channel).Get("", kWait_s)->name(), "first");
  first.Stop();
  EXPECT_EQ(MapClient(channel).Get("", kWait_s)->name(), "second");
  EXPECT_EQ(channel.server(), second.address());
}

TEST(SeveralServers, ReportsWhatEachSaidWhereNoneServes) {
  FakeServer gone{FakeBehaviour()};
  gone.Stop();
  std::atomic<int> calls{0};
  const FakeServer full(
      Refuses(Refusal(grpc::StatusCode::RESOURCE_EXHAUSTED, "TOO_MANY_SESSIONS", 0), &calls));
  for (const auto& addresses : {std::vector<std::string>{gone.address(), full.address()},
                                std::vector<std::string>{full.address(), gone.address()}}) {
    const auto session = LocalizationSession::Open(ChannelOver(addresses), QuickSession());
    // That of the one that answered.
    EXPECT_EQ(session.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(session.status().message()), HasSubstr(gone.address()));
    EXPECT_THAT(std::string(session.status().message()), HasSubstr(full.address()));
  }
  EXPECT_EQ(calls, 2);
  const absl::Status unreached =
      MapClient(ChannelOver({gone.address(), gone.address()})).Get("", kWait_s).status();
  EXPECT_EQ(unreached.code(), absl::StatusCode::kUnavailable);
}

TEST(SeveralServers, RefusesAListWithAnEntryThatIsNoAddress) {
  ChannelOptions options;
  for (const char* bad : {"a:1,", ",a:1", "a:1,,b:2", "a:1,b"}) {
    options.server = bad;
    EXPECT_EQ(Channel::Create(options).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(SeveralServers, CallsThatChangeSomethingAreSentOnce) {
  std::atomic<int> first_calls{0};
  std::atomic<int> second_calls{0};
  const auto counted = [](std::atomic<int>* calls, grpc::Status status) {
    FakeBehaviour behaviour;
    behaviour.delete_map = [calls, status](const v1::DeleteMapRequest&, v1::DeleteMapResponse*) {
      ++*calls;
      return status;
    };
    return behaviour;
  };
  // It may have done it before it broke off.
  FakeServer first(counted(&first_calls, grpc::Status(grpc::StatusCode::UNAVAILABLE, "broke off")));
  const FakeServer second(counted(&second_calls, grpc::Status::OK));
  const MapClient maps(ChannelOver({first.address(), second.address()}));
  EXPECT_EQ(maps.Drop("town", 0, kWait_s).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(first_calls, 1);
  EXPECT_EQ(second_calls, 0);
  EXPECT_TRUE(maps.Drop("town", 0, kWait_s).ok());
  EXPECT_EQ(second_calls, 1);
  // To one that cannot be reached it was never sent.
  first.Stop();
  EXPECT_TRUE(
      MapClient(ChannelOver({first.address(), second.address()})).Drop("town", 0, kWait_s).ok());
  EXPECT_EQ(second_calls, 2);
}

TEST(SeveralServers, ASessionFollowsTheServersAsTheyGoAndCome) {
  FakeServer first(Tracks("first"));
  FakeServer second(Tracks("second"));
  const Channel channel = ChannelOver({first.address(), second.address()});
  auto session = LocalizationSession::Open(channel, QuickSession());
  ASSERT_TRUE(session.ok()) << session.status();
  for (int round = 0; round < 3; ++round) {
    for (FakeServer* stopped : {&first, &second}) {
      const std::string here = stopped == &first ? "first" : "second";
      EXPECT_EQ((*session)->opened().session(), here);
      ASSERT_TRUE(SendOne(**session).ok());
      stopped->Stop();
      const auto result = SendOne(**session);
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->status(), v1::ALIGNMENT_STATUS_OK);
      EXPECT_NE((*session)->opened().session(), here);
      stopped->Start();
    }
  }
  EXPECT_EQ((*session)->reconnects(), 6);
  EXPECT_EQ((*session)->given_up(), 0u);
  EXPECT_EQ((*session)->unexpected_results(), 0u);
  EXPECT_TRUE((*session)->Close(kWait_s).ok());
}

TEST(SeveralServers, ARefusedSessionGoesToTheNextAtOnce) {
  for (const auto& refusal :
       {Refusal(grpc::StatusCode::UNAVAILABLE, "DRAINING", kNever_s),
        Refusal(grpc::StatusCode::RESOURCE_EXHAUSTED, "TOO_MANY_SESSIONS", kNever_s),
        Refusal(grpc::StatusCode::RESOURCE_EXHAUSTED, "A_NEWER_LIMIT", kNever_s),
        Refusal(grpc::StatusCode::NOT_FOUND, "MAP_NOT_FOUND", 0)}) {
    std::atomic<int> refused{0};
    const FakeServer first(Refuses(refusal, &refused));
    const FakeServer second(Tracks("second"));
    auto session =
        LocalizationSession::Open(ChannelOver({first.address(), second.address()}), QuickSession());
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_EQ((*session)->opened().session(), "second");
    EXPECT_EQ(refused, 1);
    EXPECT_TRUE((*session)->Close(kWait_s).ok());
  }
}

TEST(SeveralServers, ASessionLeavesAServerThatIsSilent) {
  FakeBehaviour silent;
  silent.align_scans = [](grpc::ServerContext* context, FakeBehaviour::AlignStream*) {
    EXPECT_TRUE(Eventually([context] { return context->IsCancelled(); }));
    return grpc::Status::OK;
  };
  const FakeServer first(silent);
  const FakeServer second(Tracks("second"));
  SessionOptions options = QuickSession();
  options.open_timeout_s = 0.3;
  // The second one may need several attempts on a loaded machine.
  auto session = absl::StatusOr<std::unique_ptr<LocalizationSession>>();
  ASSERT_TRUE(Eventually([&] {
    session = LocalizationSession::Open(ChannelOver({first.address(), second.address()}), options);
    return session.ok();
  })) << session.status();
  EXPECT_EQ((*session)->opened().session(), "second");
}

// The old server answers what it has; the next scans go to the other.
TEST(SeveralServers, ASessionMovesToTheNextWhenItsServerDrains) {
  FakeBehaviour drains;
  drains.align_scans = [](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    if (!Opens(stream, "first")) return grpc::Status::OK;
    v1::AlignScansRequest last;
    stream->Read(&last);
    v1::AlignScansResponse notice;
    notice.mutable_draining()->set_reconnect_after_s(kNever_s);
    stream->Write(notice);
    v1::AlignScansRequest more;
    while (stream->Read(&more)) last = more;
    Answers(last, stream);
    return grpc::Status::OK;
  };
  const FakeServer first(drains);
  const FakeServer second(Tracks("second"));
  const Channel channel = ChannelOver({first.address(), second.address()});
  auto session = LocalizationSession::Open(channel, QuickSession());
  ASSERT_TRUE(session.ok()) << session.status();
  for (int i = 0; i < 3; ++i) {
    const auto result = SendOne(**session);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->status(), v1::ALIGNMENT_STATUS_OK);
  }
  EXPECT_EQ((*session)->opened().session(), "second");
  EXPECT_EQ((*session)->given_up(), 0u);
  EXPECT_EQ(channel.server(), second.address());
  EXPECT_TRUE((*session)->Close(kWait_s).ok());
}

TEST(SeveralServers, AWatchBeginsAnewAtTheNext) {
  const auto responds = [](uint64_t revision, grpc::Status end) {
    FakeBehaviour behaviour;
    behaviour.watch_map = [revision, end](grpc::ServerContext* context, const v1::WatchMapRequest&,
                                          FakeBehaviour::WatchStream* stream) {
      v1::WatchMapResponse event;
      event.mutable_map()->set_revision(revision);
      stream->Write(event);
      if (end.ok()) {
        EXPECT_TRUE(Eventually([context] { return context->IsCancelled(); }));
      }
      return end;
    };
    return behaviour;
  };
  const FakeServer first(responds(1, Refusal(grpc::StatusCode::UNAVAILABLE, "DRAINING", kNever_s)));
  const FakeServer second(responds(2, grpc::Status::OK));
  MapWatch watch(ChannelOver({first.address(), second.address()}), "town");
  EXPECT_EQ(watch.Next()->map().revision(), 1u);
  EXPECT_EQ(watch.Next()->map().revision(), 2u);
  watch.Cancel();
}

// Both have the same store.
TEST(SeveralServers, AnUploadGoesOnAtTheNext) {
  FakeMaps maps;
  std::atomic<int> first_began{0};
  std::atomic<int> second_began{0};
  const auto counted = [&maps](std::atomic<int>* began) {
    FakeBehaviour behaviour = maps.Behaviour();
    const auto update = behaviour.update_map_tiles;
    behaviour.update_map_tiles = [update, began](FakeBehaviour::UpdateStream* stream) {
      ++*began;
      return update(stream);
    };
    return behaviour;
  };
  const FakeServer first(counted(&first_began));
  const FakeServer second(counted(&second_began));
  std::vector<UploadTile> tiles;
  for (int i = 0; i < 6; ++i) {
    tiles.push_back({absl::StrCat("tile_", i),
                     [i]() -> absl::StatusOr<PointCloud> {
                       PointCloud cloud;
                       cloud.PushBack(static_cast<float>(i), 0.0F, 0.0F);
                       return cloud;
                     },
                     std::nullopt});
  }
  UploadOptions options;
  options.transaction.begin.set_map("town");
  options.transaction.begin.set_create(true);
  options.reconnect.initial_wait_s = 0.01;
  maps.BreakAfterTiles(3);
  const absl::StatusOr<UploadResult> result =
      UploadTiles(ChannelOver({first.address(), second.address()}), tiles, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(first_began, 1);
  EXPECT_EQ(second_began, 1);
  EXPECT_EQ(maps.tiles().size(), 6u);
}

// The rules alone, without servers.
class SessionRoutes : public ::testing::Test {
 protected:
  static StreamEnd Refused(const absl::Status& status) { return {status, false, std::nullopt}; }
  static StreamEnd Lost(const absl::Status& status) { return {status, true, std::nullopt}; }
  static StreamEnd Drained(double reconnect_after_s) {
    return {absl::OkStatus(), true, reconnect_after_s};
  }
  static absl::Status Gone() { return absl::UnavailableError("gone"); }

  const ReconnectOptions reconnect_{};  // of 10 attempts, from 0.1 to 5 s
};

TEST_F(SessionRoutes, WithOneAddressAServerThatDrainedGetsTheTimeThatItAskedFor) {
  SessionReconnectPolicy route(ChannelOver({"a:1"}), reconnect_);
  // Another one may be behind the same name.
  EXPECT_EQ(route.NextAttempt(Drained(40.0)), 0.0);
  const std::optional<double> wait_s = route.NextAttempt(Refused(Gone()));
  ASSERT_TRUE(wait_s.has_value());
  EXPECT_GE(*wait_s, 40.0);
  EXPECT_LE(*wait_s, 40.0 * (1.0 + 2.0 * reconnect_.jitter));
  // It has been waited for: from now on the client's own times hold.
  EXPECT_LT(*route.NextAttempt(Refused(Gone())), 1.0);
}

TEST_F(SessionRoutes, TriesEachAddressAtOnceAndThenWaits) {
  SessionReconnectPolicy route(ChannelOver({"a:1", "b:1", "c:1"}), reconnect_);
  EXPECT_EQ(route.endpoint().address, "a:1");
  EXPECT_EQ(route.NextAttempt(Lost(Gone())), 0.0);
  std::vector<std::string> tried = {route.endpoint().address};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(route.NextAttempt(Refused(Gone())), 0.0);
    tried.push_back(route.endpoint().address);
  }
  EXPECT_EQ(tried, (std::vector<std::string>{"b:1", "c:1", "a:1"}));
  EXPECT_GT(*route.NextAttempt(Refused(Gone())), 0.0);
}

// The one that asked for the shortest time may be there then.
TEST_F(SessionRoutes, WaitsAsLongAsTheServersAskFor) {
  SessionReconnectPolicy route(ChannelOver({"a:1", "b:1"}), reconnect_);
  EXPECT_EQ(route.NextAttempt(Drained(0.0)), 0.0);
  const auto busy = [](int64_t retry_s) {
    return ClientRefusal(absl::StatusCode::kResourceExhausted, "TOO_MANY_SESSIONS", retry_s);
  };
  EXPECT_EQ(route.NextAttempt(Refused(busy(60))), 0.0);
  const std::optional<double> wait_s = route.NextAttempt(Refused(busy(20)));
  ASSERT_TRUE(wait_s.has_value());
  EXPECT_GE(*wait_s, 20.0);
  EXPECT_LE(*wait_s, 20.0 * (1.0 + 2.0 * reconnect_.jitter));
}

TEST_F(SessionRoutes, GivesUpAfterItsAttemptsAndAtWhatNoServerWouldDo) {
  ReconnectOptions two = reconnect_;
  two.max_attempts = 2;
  SessionReconnectPolicy route(ChannelOver({"a:1"}), two);
  EXPECT_TRUE(route.NextAttempt(Lost(Gone())).has_value());
  EXPECT_TRUE(route.NextAttempt(Refused(Gone())).has_value());
  EXPECT_FALSE(route.NextAttempt(Refused(Gone())).has_value());
  EXPECT_THAT(std::string(route.error().message()), HasSubstr("2 attempts"));

  ReconnectOptions none = reconnect_;
  none.max_attempts = 0;
  SessionReconnectPolicy never(ChannelOver({"a:1", "b:1"}), none);
  EXPECT_FALSE(never.NextAttempt(Lost(Gone())).has_value());

  SessionReconnectPolicy invalid(ChannelOver({"a:1", "b:1"}), reconnect_);
  EXPECT_FALSE(invalid.NextAttempt(Refused(absl::InvalidArgumentError("bad"))).has_value());
  EXPECT_EQ(invalid.error(), absl::InvalidArgumentError("bad"));
}

}  // namespace
}  // namespace voxloc::client
