// SPDX-License-Identifier: Apache-2.0
//
// docs/metrics.md is what a running server serves, and the series of a server are bounded.

#include "tests/server/observe/metrics/metrics_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/engine/cpu/cpu_engine.h"
#include "tests/server/map_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/forwarding_engine.h"

namespace voxloc::server {
namespace {

// A CPU engine whose memory is limited, as that of a GPU is: it has the metrics of both.
class LimitedEngine : public ForwardingEngine {
 public:
  LimitedEngine() : ForwardingEngine(MakeCpuEngine({2})) {}
  EngineInfo Info() const override {
    EngineInfo info = ForwardingEngine::Info();
    info.memory_bytes_total = size_t{1} << 33U;
    info.memory_bytes_free = size_t{1} << 32U;
    return info;
  }
};

void EnableMetrics(Config& config) { config.metrics_listen = "127.0.0.1:0"; }

std::string Scrape(TestServer& server) {
  return HttpGet(server.server().metrics_address(), "/metrics");
}

// Serves one scan of this vehicle.
void ServeScan(TestServer& server, const std::string& vehicle) {
  v1::OpenSession open;
  open.mutable_setup()->set_map("town");
  open.mutable_setup()->set_vehicle(vehicle);
  TestSession session(server);
  session.Open(open);
  session.Send(GoodScan());
  EXPECT_EQ(session.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  session.HalfClose();
  EXPECT_TRUE(session.Finish().ok());
}

TEST(MetricsPage, ListsWhatARunningServerServes) {
  TestServer server(EnableMetrics, std::make_unique<LimitedEngine>());
  server.LoadTown();
  ServeScan(server, "v");
  const auto metrics = ParseExposition(Scrape(server));
  EXPECT_GT(metrics.size(), 60U);
  for (const auto& [name, metric] : metrics) {
    EXPECT_FALSE(metric.help.empty()) << name;
    EXPECT_EQ(metric.help.find('|'), std::string::npos) << name;
    const bool counts = name.size() > 6 && name.compare(name.size() - 6, 6, "_total") == 0;
    EXPECT_EQ(counts, metric.type == "counter") << name << " is a " << metric.type;
    EXPECT_EQ(metric.borders.empty(), metric.type != "histogram") << name;
  }
  const std::string page = MetricsPage(metrics);
  if (const char* record = std::getenv("VOXLOC_RECORD_METRICS"); record != nullptr && *record) {
    std::ofstream(VOXLOC_METRICS_PAGE) << page;
  }
  std::ifstream file(VOXLOC_METRICS_PAGE);
  std::ostringstream recorded;
  recorded << file.rdbuf();
  EXPECT_EQ(recorded.str(), page)
      << "docs/metrics.md is old (run this test with VOXLOC_RECORD_METRICS=1)";
}

// The objectives of the service are borders, so that their shares can be read off.
TEST(MetricsPage, HistogramsOfScansHaveTheObjectivesAsBorders) {
  TestServer server(EnableMetrics);
  const auto metrics = ParseExposition(Scrape(server));
  for (const char* name : {"voxloc_scan_duration_seconds", "voxloc_stage_duration_seconds",
                           "voxloc_queue_wait_seconds"}) {
    const auto found = metrics.find(name);
    ASSERT_NE(found, metrics.end()) << name;
    const auto& borders = found->second.borders;
    for (const char* border : {"0.0001", "0.05", "0.1", "1"}) {
      EXPECT_EQ(std::count(borders.begin(), borders.end(), border), 1) << name << " " << border;
    }
  }
}

size_t CountSeries(TestServer& server) { return ParseMetrics(Scrape(server)).size(); }

TEST(MetricsSeries, DoNotGrowWithSessionsVehiclesAndUnknownNames) {
  TestServer server(EnableMetrics);
  server.LoadTown();
  ServeScan(server, "first");
  const size_t series = CountSeries(server);
  EXPECT_GT(series, 500U);
  for (int i = 0; i < 20; ++i) {
    ServeScan(server, absl::StrCat("vehicle-", i));
    std::string response;
    const std::string method = absl::StrCat("/voxloc.v1.MapService/Unknown", i);
    EXPECT_EQ(CallRaw(server, method, "", &response).error_code(), grpc::StatusCode::UNIMPLEMENTED);
    v1::GetMapRequest request;
    request.set_map(absl::StrCat("nowhere-", i));
    v1::GetMapResponse map;
    EXPECT_EQ(server.maps->GetMap(TestServer::NewContext().get(), request, &map).error_code(),
              grpc::StatusCode::NOT_FOUND);
  }
  TestSession open(server);
  open.Open();
  EXPECT_EQ(CountSeries(server), series);
}

TEST(MetricsSeries, OfAMapEndWithIt) {
  TestServer server(EnableMetrics);
  server.LoadTown();
  const size_t series = CountSeries(server);
  server.LoadTown("second");
  EXPECT_EQ(CountSeries(server), series + 8);  // revision, age, outcomes by revision
  v1::DeleteMapRequest request;
  request.set_map("second");
  v1::DeleteMapResponse response;
  const grpc::Status status =
      server.maps->DeleteMap(TestServer::NewContext().get(), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(CountSeries(server), series);
}

double ResultsOf(TestServer& server, const char* map, const char* outcome,
                 const char* revision = "active") {
  return MetricsOf(server)[absl::StrCat("voxloc_map_results_total{map=\"", map, "\",revision=\"",
                                        revision, "\",outcome=\"", outcome, "\"}")];
}

TEST(MetricsOfMaps, CountWhatIsAcceptedOnEachMap) {
  TestServer server(EnableMetrics);
  server.LoadTown();
  server.LoadTown("second");
  TestSession session(server, "town");
  EXPECT_TRUE(session.Align(GoodScan(1)).accepted());
  EXPECT_TRUE(session.Align(GoodScan(2)).accepted());
  v1::Scan empty = GoodScan(3);
  empty.mutable_clouds(0)->mutable_cloud()->clear_data();
  EXPECT_FALSE(session.Align(empty).accepted());
  EXPECT_TRUE(session.Close().ok());
  EXPECT_EQ(ResultsOf(server, "town", "accepted"), 2.0);
  EXPECT_EQ(ResultsOf(server, "town", "rejected"), 0.0);
  EXPECT_EQ(ResultsOf(server, "town", "not_aligned"), 1.0);
  EXPECT_EQ(ResultsOf(server, "second", "accepted"), 0.0);
}

TEST(MetricsOfMaps, TellAStagedRevisionFromTheActiveOne) {
  TestServer server(EnableMetrics);
  server.LoadTown();
  ASSERT_TRUE(RunUpdate(server, {BeginRequest("town", false), StageRequest({"van"})}).status.ok());
  ServeScan(server, "van");
  ServeScan(server, "bus");
  ServeScan(server, "bus");
  EXPECT_EQ(ResultsOf(server, "town", "accepted", "staged"), 1.0);
  EXPECT_EQ(ResultsOf(server, "town", "accepted"), 2.0);
}

TEST(MetricsOfSessions, CountThoseWhoseLastPoseIsAccepted) {
  TestServer server(EnableMetrics);
  server.LoadTown();
  const auto localized = [&server] { return MetricsOf(server)["voxloc_sessions_localized"]; };
  TestSession first(server, "town");
  TestSession second(server, "town");
  EXPECT_EQ(localized(), 0.0);
  EXPECT_TRUE(first.Align(GoodScan(1)).accepted());
  EXPECT_TRUE(second.Align(GoodScan(1)).accepted());
  EXPECT_TRUE(second.Align(GoodScan(2)).accepted());
  EXPECT_TRUE(Eventually([&] { return localized() == 2.0; }));
  v1::Scan empty = GoodScan(3);
  empty.mutable_clouds(0)->mutable_cloud()->clear_data();
  EXPECT_FALSE(second.Align(empty).accepted());
  EXPECT_TRUE(Eventually([&] { return localized() == 1.0; }));
  EXPECT_TRUE(first.Close().ok());
  EXPECT_TRUE(Eventually([&] { return localized() == 0.0; }));
  EXPECT_TRUE(second.Close().ok());
}

TEST(MetricsOfRpcs, CountTheBytesAndMessagesOfStreams) {
  TestServer server(EnableMetrics);
  server.LoadTown();
  const auto before = MetricsOf(server);
  v1::AlignScansRequest open;
  open.mutable_open()->mutable_setup()->set_map("town");
  v1::AlignScansRequest scan;
  *scan.mutable_scan() = GoodScan();
  size_t received_bytes = 0;  // of the server's messages
  {
    TestSession session(server);
    session.Send(open);
    received_bytes += session.Read().ByteSizeLong();
    session.Send(scan);
    received_bytes += session.Read().ByteSizeLong();
    session.HalfClose();
    EXPECT_TRUE(session.Finish().ok());
  }
  auto after = MetricsOf(server);
  const auto grown = [&](const std::string& name) {
    const std::string series = absl::StrCat(name, "{method=\"AlignScans\"}");
    return after[series] - before.at(series);
  };
  EXPECT_EQ(grown("voxloc_stream_messages_received_total"), 2.0);
  EXPECT_EQ(grown("voxloc_stream_messages_sent_total"), 2.0);
  EXPECT_EQ(grown("voxloc_rpc_received_bytes_total"),
            static_cast<double>(open.ByteSizeLong() + scan.ByteSizeLong()));
  EXPECT_EQ(grown("voxloc_rpc_sent_bytes_total"), static_cast<double>(received_bytes));
}

TEST(MetricsOfScans, KnowTheAgeOfPosesWhereClocksAgree) {
  TestServer server(EnableMetrics);
  server.LoadTown();
  TestSession session(server);
  session.Open();
  v1::Scan scan = GoodScan();  // its stamp is not of this time
  session.Send(scan);
  EXPECT_TRUE(session.ReadResult().accepted());
  auto metrics = MetricsOf(server);
  EXPECT_EQ(metrics["voxloc_pose_age_unknown_total"], 1.0);
  EXPECT_EQ(metrics["voxloc_pose_age_seconds_count"], 0.0);
  // Real time: the age is of the server's clock; the bounds are what this thread saw of it.
  const int64_t stamp_ns = absl::GetCurrentTimeNanos() - 100'000'000;
  scan.set_stamp_ns(stamp_ns);
  session.Send(scan);
  EXPECT_TRUE(session.ReadResult().accepted());
  // Real time: as above.
  const double most_s = 1e-9 * static_cast<double>(absl::GetCurrentTimeNanos() - stamp_ns);
  metrics = MetricsOf(server);
  EXPECT_EQ(metrics["voxloc_pose_age_unknown_total"], 1.0);
  EXPECT_EQ(metrics["voxloc_pose_age_seconds_count"], 1.0);
  EXPECT_GE(metrics["voxloc_pose_age_seconds_sum"], 0.1);
  EXPECT_LE(metrics["voxloc_pose_age_seconds_sum"], most_s);
}

}  // namespace
}  // namespace voxloc::server
