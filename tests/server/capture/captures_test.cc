// SPDX-License-Identifier: Apache-2.0
//
// What a server captures, through its RPCs: which scans, for whom, and what it goes through.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "tests/server/capture/capture_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/security/secured_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kWritten[] = R"(voxloc_captures_written_total{purpose="bad_scan"})";

v1::OpenSession RefusingSession(const std::string& map = "town") {
  v1::OpenSession open;
  open.mutable_setup()->set_map(map);
  open.mutable_setup()->set_vehicle("truck-7");
  RefuseEveryScore(*open.mutable_setup()->mutable_options());
  return open;
}

v1::AlignmentResult AlignOnce(TestServer& server, const v1::OpenSession& open,
                              const v1::Scan& scan = GoodScan()) {
  TestSession session(server);
  session.Open(open);
  return session.Align(scan);
}

grpc::Status ListError(TestServer& server, const v1::ListCapturesRequest& request = {}) {
  v1::ListCapturesResponse list;
  return server.admin->ListCaptures(TestServer::NewContext().get(), request, &list);
}

class Captures : public ::testing::Test {
 protected:
  // With metrics.
  std::unique_ptr<TestServer> Serve(const TestServer::Adjust& adjust = {}) {
    auto server = std::make_unique<TestServer>([&](Config& config) {
      config.metrics_listen = "127.0.0.1:0";
      CaptureInto(Folder(), config);
      if (adjust) adjust(config);
    });
    server->LoadTown();
    return server;
  }
  [[nodiscard]] std::string Folder() const { return scratch_.Path("captures"); }

  ScratchDir scratch_;
};

TEST_F(Captures, ABadScanOfASessionIsKeptWithItsAnswerAndAGoodOneIsNot) {
  const auto server = Serve();
  v1::OpenSession good = TownSession();
  ASSERT_TRUE(AlignOnce(*server, good).accepted());
  TestSession session(*server);
  session.Open(RefusingSession());
  const v1::AlignmentResult bad = session.Align(GoodScan(7));
  ASSERT_EQ(bad.status(), v1::ALIGNMENT_STATUS_LOW_SCORE);

  const auto captures = AwaitCaptures(*server, 1);
  const v1::CaptureInfo& info = captures.at(0);
  EXPECT_EQ(info.map(), "town");
  EXPECT_EQ(info.vehicle(), "truck-7");
  EXPECT_EQ(info.session(), session.opened().session());
  EXPECT_EQ(info.map_revision(), bad.map_revision());
  EXPECT_EQ(info.status(), v1::ALIGNMENT_STATUS_LOW_SCORE);
  EXPECT_GT(info.bytes(), 1500U * 12);
  EXPECT_GE(info.captured_at_ns(), bad.timings().received_at_ns());

  v1::Capture capture;
  ASSERT_TRUE(GetCapture(*server, info.id(), &capture).ok());
  EXPECT_EQ(capture.info().SerializeAsString(), info.SerializeAsString());
  EXPECT_EQ(capture.result().SerializeAsString(), bad.SerializeAsString());
  EXPECT_EQ(capture.request().scan().sequence(), 7U);
  EXPECT_EQ(capture.request().setup().vehicle(), "");
  EXPECT_NE(capture.server_version(), "");
}

TEST_F(Captures, OnlyTheChosenStatusesAreKept) {
  const auto server = Serve([](Config& config) { config.capture.statuses = {"INVALID_INPUT"}; });
  EXPECT_EQ(AlignOnce(*server, RefusingSession()).status(), v1::ALIGNMENT_STATUS_LOW_SCORE);
  v1::Scan malformed = GoodScan();
  malformed.mutable_clouds(0)->mutable_cloud()->mutable_data()->pop_back();
  EXPECT_EQ(AlignOnce(*server, RefusingSession(), malformed).status(),
            v1::ALIGNMENT_STATUS_INVALID_INPUT);
  const auto captures = AwaitCaptures(*server, 1);
  v1::Capture capture;
  ASSERT_TRUE(GetCapture(*server, captures.at(0).id(), &capture).ok());
  EXPECT_EQ(capture.request().scan().SerializeAsString(), malformed.SerializeAsString());
  v1::AlignScanResponse response;
  const grpc::Status again =
      server->localization->AlignScan(TestServer::NewContext().get(), capture.request(), &response);
  EXPECT_EQ(again.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(again.error_message(), capture.result().detail());
}

TEST_F(Captures, AreOffByDefault) {
  TestServer server([this](Config& config) {
    config.data_dir = scratch_.Path("data");
    config.capture.directory = Folder();
  });
  server.LoadTown();
  EXPECT_EQ(AlignOnce(server, RefusingSession()).status(), v1::ALIGNMENT_STATUS_LOW_SCORE);
  const grpc::Status status = ListError(server);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("capture.max_bytes"));
  v1::Capture capture;
  EXPECT_EQ(GetCapture(server, "c1-1", &capture).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_FALSE(fs::exists(Folder()));
}

TEST_F(Captures, ScansForMapUpdatesAreListedForThatPurpose) {
  const auto server = Serve([&](Config& config) {
    config.map_update.max_bytes = uint64_t{64} << 20U;
    config.map_update.directory = scratch_.Path("map_update");
    config.map_update.min_change = 0.0;
    config.map_update.max_cpu_share = 1.0;
  });
  v1::ListCapturesRequest request;
  request.set_purpose(v1::CAPTURE_PURPOSE_MAP_UPDATE);
  TestSession session(*server);
  session.Open(TownSession());
  const v1::AlignmentResult good = session.Align(GoodScan());
  ASSERT_EQ(good.status(), v1::ALIGNMENT_STATUS_OK);
  ASSERT_GT(good.confidence().value(), 0.5);
  EXPECT_FALSE(AlignOnce(*server, RefusingSession()).accepted());
  // Of no session, and so of no drive.
  v1::AlignmentResult of_call;
  ASSERT_TRUE(AlignInTown(*server, GoodScan(), of_call).ok());
  ASSERT_TRUE(of_call.accepted());

  v1::ListCapturesResponse list;
  ASSERT_TRUE(Eventually([&] {
    return server->admin->ListCaptures(TestServer::NewContext().get(), request, &list).ok() &&
           list.captures_size() > 0;
  }));
  ASSERT_EQ(list.captures_size(), 1);
  EXPECT_EQ(list.captures(0).purpose(), v1::CAPTURE_PURPOSE_MAP_UPDATE);
  EXPECT_EQ(list.captures(0).session(), session.opened().session());
  v1::Capture capture;
  ASSERT_TRUE(GetCapture(*server, list.captures(0).id(), &capture).ok());
  EXPECT_EQ(capture.result().map_t_base().pose().SerializeAsString(),
            good.map_t_base().pose().SerializeAsString());
  // The same scan from its own pose.
  v1::AlignScanResponse again;
  ASSERT_TRUE(
      server->localization->AlignScan(TestServer::NewContext().get(), capture.request(), &again)
          .ok());
  EXPECT_TRUE(again.result().accepted());
  EXPECT_NEAR(again.result().map_t_base().pose().position().x(),
              good.map_t_base().pose().position().x(), 0.02);

  const auto bad = AwaitCaptures(*server, 1);
  EXPECT_EQ(bad.at(0).purpose(), v1::CAPTURE_PURPOSE_BAD_SCAN);
  EXPECT_TRUE(GetCapture(*server, bad.at(0).id(), &capture).ok());
}

TEST_F(Captures, AServerThatKeepsNoScansForMapUpdatesNamesTheSetting) {
  const auto server = Serve();
  v1::ListCapturesRequest request;
  request.set_purpose(v1::CAPTURE_PURPOSE_MAP_UPDATE);
  const grpc::Status status = ListError(*server, request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("map_update.max_bytes"));
}

TEST_F(Captures, AReloadSwitchesThemOnAndOff) {
  TestServer server;
  server.LoadTown();
  CommandLine next;
  next.config.listen = "127.0.0.1:0";
  next.config.metrics_listen = "off";
  next.config.log_level = "error";
  // The folder is not one of the values that a reload takes over.
  CaptureInto(Folder(), next.config);
  server.server().Reload(next);
  EXPECT_EQ(ListError(server).error_code(), grpc::StatusCode::FAILED_PRECONDITION);

  TestServer with_folder([this](Config& config) { config.capture.directory = Folder(); });
  with_folder.LoadTown();
  with_folder.server().Reload(next);
  EXPECT_FALSE(AlignOnce(with_folder, RefusingSession()).accepted());
  EXPECT_EQ(AwaitCaptures(with_folder, 1).size(), 1U);
  next.config.capture.max_bytes = 0;
  with_folder.server().Reload(next);
  EXPECT_FALSE(AlignOnce(with_folder, RefusingSession()).accepted());
  next.config.capture.max_bytes = 1 << 20;
  with_folder.server().Reload(next);
  EXPECT_FALSE(AlignOnce(with_folder, RefusingSession()).accepted());
  EXPECT_EQ(AwaitCaptures(with_folder, 2).size(), 2U);
}

TEST_F(Captures, AFloodOfBadScansIsLetThroughAtItsRate) {
  const auto server = Serve([](Config& config) { config.capture.max_per_second = 0.001; });
  TestSession session(*server);
  session.Open(RefusingSession());
  for (uint64_t i = 1; i <= 20; ++i) {
    EXPECT_EQ(session.Align(GoodScan(i)).status(), v1::ALIGNMENT_STATUS_LOW_SCORE);
  }
  EXPECT_EQ(AwaitCaptures(*server, 1).size(), 1U);
  const std::map<std::string, double> metrics = MetricsOf(*server);
  EXPECT_EQ(metrics.at(kWritten), 1.0);
  EXPECT_EQ(metrics.at(R"(voxloc_captures_dropped_total{purpose="bad_scan",reason="rate"})"), 19.0);
  EXPECT_EQ(metrics.at(R"(voxloc_captures_kept{purpose="bad_scan"})"), 1.0);
  EXPECT_EQ(metrics.at(R"(voxloc_capture_bytes{purpose="bad_scan"})"),
            static_cast<double>(CapturesOf(*server).at(0).bytes()));
}

TEST_F(Captures, AFolderThatCannotBeUsedLeavesTheServerServing) {
  const std::string file = scratch_.Write("file", "");
  const auto server = Serve([&](Config& config) { config.capture.directory = file + "/captures"; });
  EXPECT_EQ(AlignOnce(*server, RefusingSession()).status(), v1::ALIGNMENT_STATUS_LOW_SCORE);
  const grpc::Status status = ListError(*server);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("log"), Not(HasSubstr(file))));
}

TEST_F(Captures, AFolderThatIsLostMeanwhileIsCountedAndScansAreAnswered) {
  const auto server = Serve();
  fs::remove_all(Folder());
  EXPECT_EQ(AlignOnce(*server, RefusingSession()).status(), v1::ALIGNMENT_STATUS_LOW_SCORE);
  EXPECT_TRUE(Eventually([&] {
    return MetricsOf(*server).at(
               R"(voxloc_captures_dropped_total{purpose="bad_scan",reason="failed"})") == 1.0;
  }));
  EXPECT_TRUE(CapturesOf(*server).empty());
}

TEST_F(Captures, PagesHaveEachCaptureOnceAndTheTokenIsChecked) {
  const auto server = Serve();
  for (int i = 0; i < 5; ++i) static_cast<void>(AlignOnce(*server, RefusingSession()));
  const auto all = AwaitCaptures(*server, 5);
  std::vector<std::string> ids;
  v1::ListCapturesRequest request;
  request.set_page_size(2);
  do {
    v1::ListCapturesResponse page;
    ASSERT_TRUE(server->admin->ListCaptures(TestServer::NewContext().get(), request, &page).ok());
    EXPECT_LE(page.captures_size(), 2);
    for (const v1::CaptureInfo& info : page.captures()) ids.push_back(info.id());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  ASSERT_EQ(ids.size(), 5U);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(ids[i], all[i].id());

  for (const char* token : {"x", "1", "/", "99999999999999999999/c1-1"}) {
    request.set_page_token(token);
    EXPECT_EQ(ListError(*server, request).error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << token;
  }
  request.clear_page_token();
  request.set_page_size(1001);
  EXPECT_EQ(ListError(*server, request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(Captures, AnIdThatIsNotOneIsNotFoundAndNamed) {
  const auto server = Serve();
  for (const char* id : {"c1-1", "../../etc/passwd", ""}) {
    v1::Capture capture;
    const grpc::Status status = GetCapture(*server, id, &capture);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND) << id;
    EXPECT_THAT(status.error_message(), HasSubstr(id));
    EXPECT_EQ(ReasonOf(status), "CAPTURE_NOT_FOUND");
  }
}

// More than the town's tile takes.
constexpr uint64_t kSmallMessage = uint64_t{4} << 20U;

// A scan of so many bytes, of which few points are aligned.
v1::Scan LargeScan(size_t bytes) {
  v1::Scan scan = GoodScan();
  std::string& data = *scan.mutable_clouds(0)->mutable_cloud()->mutable_data();
  const std::string point = data.substr(0, 12);
  const size_t points = (bytes - scan.ByteSizeLong()) / point.size();
  for (size_t i = 0; i < points; ++i) data += point;
  return scan;
}

v1::OpenSession ThinningSession() {
  v1::OpenSession open = RefusingSession();
  open.mutable_setup()->mutable_filter()->set_max_points(1000);
  return open;
}

TEST_F(Captures, WhatAReplyCannotCarryIsNotKept) {
  const auto server =
      Serve([](Config& config) { config.limits.max_message_bytes = kSmallMessage; });
  // With its answer it is larger than a message may be.
  const v1::Scan scan = LargeScan(kSmallMessage - 100);
  // Nearly all of the thousand points are one: whether the search converges is a matter of
  // rounding.
  EXPECT_THAT(AlignOnce(*server, ThinningSession(), scan).status(),
              AnyOf(v1::ALIGNMENT_STATUS_LOW_SCORE, v1::ALIGNMENT_STATUS_NOT_CONVERGED));
  EXPECT_TRUE(Eventually([&] {
    return MetricsOf(*server).at(
               R"(voxloc_captures_dropped_total{purpose="bad_scan",reason="too_large"})") == 1.0;
  }));
}

TEST_F(Captures, ASmallerLimitOfRepliesIsSaidClearly) {
  {
    const auto server = Serve();
    const v1::Scan scan = LargeScan(kSmallMessage);
    EXPECT_FALSE(AlignOnce(*server, ThinningSession(), scan).accepted());
    ASSERT_EQ(AwaitCaptures(*server, 1).size(), 1U);
  }
  const auto server =
      Serve([](Config& config) { config.limits.max_message_bytes = kSmallMessage; });
  const auto captures = CapturesOf(*server);
  ASSERT_EQ(captures.size(), 1U);
  v1::Capture capture;
  const grpc::Status status = GetCapture(*server, captures.at(0).id(), &capture);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("limits.max_message_bytes"));
}

constexpr char kAccess[] = R"(identities:
  chief:
    token_sha256: [CHIEF]
    roles: [map-write, track, admin]
  town-admin:
    token_sha256: [TOWN]
    roles: [admin]
    maps: [town*]
)";

TEST_F(Captures, AnAdminSeesTheCapturesOfItsMapsAloneAndNoSecretIsInThem) {
  const TestFolder folder;
  std::string access = kAccess;
  access.replace(access.find("CHIEF"), 5, HashOf("chief token"));
  access.replace(access.find("TOWN"), 4, HashOf("town token"));
  TestServer server([&](Config& config) {
    CaptureInto(Folder(), config);
    config.access_file = folder.Write("access.yaml", "anonymous:\n  roles: [map-write]\n");
    config.audit_log = folder.Path("audit.log");
  });
  server.LoadTown("secret");
  server.LoadTown("town");
  folder.Write("access.yaml", access);
  ASSERT_TRUE(server.server().ReloadSecurity().ok());
  const auto channel = ChannelTo(server.server());
  for (const char* map : {"secret", "town"}) {
    v1::AlignScanRequest request;
    *request.mutable_setup() = RefusingSession(map).setup();
    *request.mutable_scan() = GoodScan();
    const Answer answer = CallByName(channel, "voxloc.v1.LocalizationService/AlignScan", request,
                                     Bearer("chief token"));
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  }
  const auto list = [&](const std::string& token) {
    const Answer answer = CallByName(channel, "voxloc.v1.AdminService/ListCaptures",
                                     v1::ListCapturesRequest(), Bearer(token));
    v1::ListCapturesResponse response;
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    if (answer.status.ok()) {
      EXPECT_TRUE(response.ParseFromString(answer.messages.at(0)));
    }
    return response;
  };
  ASSERT_TRUE(Eventually([&] { return list("chief token").captures_size() == 2; }));
  const v1::ListCapturesResponse seen = list("town token");
  ASSERT_EQ(seen.captures_size(), 1);
  EXPECT_EQ(seen.captures(0).map(), "town");

  const v1::ListCapturesResponse all = list("chief token");
  for (const v1::CaptureInfo& info : all.captures()) {
    v1::GetCaptureRequest request;
    request.set_id(info.id());
    const Answer answer =
        CallByName(channel, "voxloc.v1.AdminService/GetCapture", request, Bearer("town token"));
    if (info.map() == "town") {
      EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
      const auto told = testing::Matches(testing::Contains(
          AllOf(HasSubstr("caller=town-admin"), HasSubstr("method=GetCapture"),
                HasSubstr("map=town"), HasSubstr(info.id()), HasSubstr("code=OK"))));
      EXPECT_TRUE(Eventually([&] { return told(folder.Lines("audit.log")); }))
          << folder.Read("audit.log");
    } else {
      EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::NOT_FOUND);
      EXPECT_THAT(answer.status.error_message(), Not(HasSubstr("secret")));
    }
  }
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(Folder())) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    for (const char* secret : {"chief token", "Bearer", "authorization", "ipv4:"}) {
      EXPECT_THAT(bytes, Not(HasSubstr(secret))) << entry.path();
    }
    EXPECT_THAT(bytes, Not(HasSubstr(HashOf("chief token"))));
    files += entry.path().extension() == ".capture" ? 1 : 0;
  }
  EXPECT_EQ(files, 2U);
}

TEST_F(Captures, WhatWaitsIsWrittenBeforeTheServerEndsAndListedByTheNext) {
  {
    const auto server = Serve();
    EXPECT_FALSE(AlignOnce(*server, RefusingSession()).accepted());
  }
  const auto server = Serve();
  const auto captures = CapturesOf(*server);
  ASSERT_EQ(captures.size(), 1U);
  EXPECT_FALSE(AlignOnce(*server, RefusingSession()).accepted());
  EXPECT_NE(AwaitCaptures(*server, 2)[0].id(), captures.at(0).id());
}

}  // namespace
}  // namespace voxloc::server
