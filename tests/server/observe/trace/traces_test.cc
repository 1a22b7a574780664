// SPDX-License-Identifier: Apache-2.0
//
// Traces through a running server: into answers, log lines and the collector.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/server/engines/fake_gpu.h"
#include "tests/server/observe/trace/collector.h"
#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/log_file.h"

namespace voxloc::server {
namespace {

using Json = nlohmann::json;

const char* const kCallTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const char* const kScanTrace = "0af7651916cd43dd8448eb211c80319c";
const char* const kClientSpan = "00f067aa0ba902b7";

std::string TraceparentOf(const std::string& trace, bool sampled) {
  return absl::StrCat("00-", trace, "-", kClientSpan, sampled ? "-01" : "-00");
}

// A session whose call has this traceparent; empty: none.
class TracedSession {
 public:
  TracedSession(TestServer& server, const std::string& traceparent) {
    if (!traceparent.empty()) context_->AddMetadata("traceparent", traceparent);
    stream_ = server.localization->AlignScans(context_.get());
    v1::AlignScansRequest open;
    *open.mutable_open() = TownSession("setup { vehicle: 'taxi-7' }");
    stream_->Write(open);
    EXPECT_TRUE(Read().has_opened());
  }

  v1::AlignmentResult Align(const std::string& traceparent, uint64_t sequence = 1) {
    v1::AlignScansRequest request;
    *request.mutable_scan() = GoodScan(sequence);
    request.mutable_scan()->set_traceparent(traceparent);
    stream_->Write(request);
    return Read().result();
  }

  void Finish() {
    stream_->WritesDone();
    EXPECT_TRUE(stream_->Finish().ok());
  }

 private:
  v1::AlignScansResponse Read() {
    v1::AlignScansResponse response;
    EXPECT_TRUE(stream_->Read(&response));
    return response;
  }

  std::unique_ptr<grpc::ClientContext> context_ = TestServer::NewContext();
  std::unique_ptr<grpc::ClientReaderWriter<v1::AlignScansRequest, v1::AlignScansResponse>> stream_;
};

TEST(TracesTest, AnswersNameTheTraceOfTheScanOrElseOfTheCall) {
  TownServer server;
  TracedSession traced(server, TraceparentOf(kCallTrace, false));
  EXPECT_EQ(traced.Align("").trace_id(), kCallTrace);
  EXPECT_EQ(traced.Align(TraceparentOf(kScanTrace, false)).trace_id(), kScanTrace);
  EXPECT_EQ(traced.Align("00-malformed").trace_id(), kCallTrace);
  EXPECT_EQ(traced.Align("00-00000000000000000000000000000000-00f067aa0ba902b7-01").trace_id(),
            kCallTrace);
  TracedSession plain(server, "");
  EXPECT_EQ(plain.Align("").trace_id(), "");
  EXPECT_EQ(plain.Align(TraceparentOf(kScanTrace, true)).trace_id(), kScanTrace);
  TracedSession malformed(server, "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01");
  EXPECT_EQ(malformed.Align("").trace_id(), "");
  // Without a stream too.
  const auto context = TestServer::NewContext();
  context->AddMetadata("traceparent", TraceparentOf(kCallTrace, false));
  v1::AlignScanRequest request;
  *request.mutable_setup() = TownSession().setup();
  *request.mutable_scan() = GoodScan();
  v1::AlignScanResponse response;
  ASSERT_TRUE(server.localization->AlignScan(context.get(), request, &response).ok());
  EXPECT_EQ(response.result().trace_id(), kCallTrace);
}

void ExpectAttributes(const Json& span, const std::map<std::string, Json>& expected) {
  for (const auto& [key, value] : expected) EXPECT_EQ(AttributeOf(span, key), value) << key;
}

int64_t Ns(const Json& span, const char* time) {
  return std::stoll(span.at(time).get<std::string>());
}

TEST(TracesTest, SampledScansAndCallsReachTheCollector) {
  Collector collector;
  {
    TestServer server([&](Config& config) { config.otlp_endpoint = collector.endpoint(); });
    server.LoadTown();  // belongs to no trace
    TracedSession session(server, TraceparentOf(kCallTrace, true));
    EXPECT_EQ(session.Align("").status(), v1::ALIGNMENT_STATUS_OK);
    EXPECT_EQ(session.Align(TraceparentOf(kScanTrace, true), 2).trace_id(), kScanTrace);
    EXPECT_EQ(session.Align(TraceparentOf(kScanTrace, false), 3).trace_id(), kScanTrace);
    session.Finish();
    const auto context = TestServer::NewContext();
    context->AddMetadata("traceparent", TraceparentOf(kCallTrace, true));
    v1::GetMapRequest request;
    request.set_map("nowhere");
    v1::GetMapResponse response;
    EXPECT_FALSE(server.maps->GetMap(context.get(), request, &response).ok());
  }  // the end hands over what is left
  std::map<std::string, Json> calls;
  std::map<std::string, Json> scans;                          // by sequence
  std::map<std::string, std::map<std::string, Json>> stages;  // by parent
  const std::vector<Json> spans = SpansOf(collector.requests());
  for (const Json& span : spans) {
    const std::string name = span.at("name");
    if (span.at("kind") == 2) {
      calls[name] = span;
    } else if (name == "align_scan") {
      scans[AttributeOf(span, "voxloc.sequence").at("intValue")] = span;
    } else {
      stages[span.at("parentSpanId")][name] = span;
    }
  }
  ASSERT_EQ(calls.size(), 2U) << Json(spans);
  const Json& stream = calls.at("voxloc.v1.LocalizationService/AlignScans");
  EXPECT_EQ(stream.at("traceId"), kCallTrace);
  EXPECT_EQ(stream.at("parentSpanId"), kClientSpan);
  ExpectAttributes(stream, {{"rpc.system", {{"stringValue", "grpc"}}},
                            {"rpc.method", {{"stringValue", "AlignScans"}}},
                            {"rpc.grpc.status_code", {{"intValue", "0"}}}});
  const Json& unary = calls.at("voxloc.v1.MapService/GetMap");
  ExpectAttributes(unary, {{"rpc.grpc.status_code", {{"intValue", "5"}}}});
  EXPECT_FALSE(unary.contains("status"));  // not the server's fault

  ASSERT_EQ(scans.size(), 2U) << "the third is not sampled";
  EXPECT_EQ(scans.at("1").at("traceId"), kCallTrace);
  EXPECT_EQ(scans.at("1").at("parentSpanId"), stream.at("spanId"));
  EXPECT_EQ(scans.at("2").at("traceId"), kScanTrace);
  EXPECT_EQ(scans.at("2").at("parentSpanId"), kClientSpan);
  for (const auto& [sequence, scan] : scans) {
    ExpectAttributes(scan, {{"voxloc.map", {{"stringValue", "town"}}},
                            {"voxloc.map_revision", {{"intValue", "1"}}},
                            {"voxloc.status", {{"stringValue", "ALIGNMENT_STATUS_OK"}}},
                            {"voxloc.batch_size", {{"intValue", "1"}}},
                            {"voxloc.engine", {{"stringValue", "cpu"}}},
                            {"voxloc.vehicle", {{"stringValue", "taxi-7"}}}});
    const auto& own = stages.at(scan.at("spanId"));
    int64_t last_ns = Ns(scan, "startTimeUnixNano");
    for (const char* name : {"queue", "prepare", "align", "encode"}) {
      ASSERT_EQ(own.count(name), 1U) << name;
      EXPECT_EQ(own.at(name).at("traceId"), scan.at("traceId"));
      EXPECT_GE(Ns(own.at(name), "startTimeUnixNano"), last_ns) << name;
      last_ns = Ns(own.at(name), "endTimeUnixNano");
    }
    EXPECT_LE(last_ns, Ns(scan, "endTimeUnixNano"));
  }
}

TEST(TracesTest, TheStagesOfAGpuAreSpansInThatOfTheAlignment) {
  Collector collector;
  {
    TownServer server(
        [&](Config& config) {
          config.otlp_endpoint = collector.endpoint();
          config.limits.max_map_memory_bytes = uint64_t{1} << 30;  // the made-up GPU has little
        },
        std::make_unique<FakeGpu>());
    TracedSession session(server, TraceparentOf(kCallTrace, true));
    EXPECT_EQ(session.Align("", 1).status(), v1::ALIGNMENT_STATUS_OK);
    EXPECT_EQ(session.Align("", 2).status(), v1::ALIGNMENT_STATUS_OK);
    session.Finish();
  }
  std::map<std::string, std::map<std::string, Json>> parts;  // by parent
  std::vector<Json> alignments;
  for (const Json& span : SpansOf(collector.requests())) {
    const std::string name = span.at("name");
    if (name == "align") alignments.push_back(span);
    if (name == "upload" || name == "kernel" || name == "download") {
      parts[span.at("parentSpanId")][name] = span;
    }
  }
  ASSERT_EQ(alignments.size(), 2U);
  for (const Json& align : alignments) {
    auto& own = parts[align.at("spanId")];
    ASSERT_EQ(own.size(), 3U) << align;
    const auto length_s = [&](const char* name) {
      const Json& span = own.at(name);
      return 1e-9 *
             static_cast<double>(Ns(span, "endTimeUnixNano") - Ns(span, "startTimeUnixNano"));
    };
    EXPECT_NEAR(length_s("upload"), FakeGpu::kTimes.upload_s, 2e-9);
    EXPECT_NEAR(length_s("kernel"), FakeGpu::kTimes.kernel_s, 2e-9);
    EXPECT_NEAR(length_s("download"), FakeGpu::kTimes.download_s, 2e-9);
    EXPECT_EQ(Ns(own.at("upload"), "endTimeUnixNano"), Ns(own.at("kernel"), "startTimeUnixNano"));
    EXPECT_EQ(Ns(own.at("download"), "endTimeUnixNano"), Ns(align, "endTimeUnixNano"));
  }
}

TEST(TracesTest, ACollectorThatIsAwayHarmsNothing) {
  std::string endpoint;
  {
    const Collector gone;
    endpoint = gone.endpoint();
  }
  TownServer server([&](Config& config) {
    config.otlp_endpoint = endpoint;
    config.metrics_listen = "127.0.0.1:0";
  });
  TracedSession session(server, TraceparentOf(kCallTrace, true));
  for (uint64_t i = 1; i <= 20; ++i) {
    EXPECT_EQ(session.Align("", i).status(), v1::ALIGNMENT_STATUS_OK);
  }
  session.Finish();
  EXPECT_EQ(MetricsOf(server)["voxloc_spans_total{outcome=\"exported\"}"], 0.0);
}

TEST(TracesTest, AnEndpointThatIsNoUrlEndsTheStart) {
  CommandLine command_line;
  command_line.config.otlp_endpoint = "127.0.0.1:4317";
  const auto server = Server::Start(command_line);
  ASSERT_FALSE(server.ok());
  EXPECT_TRUE(absl::StrContains(server.status().message(), "otlp_endpoint")) << server.status();
}

TEST(TracesTest, LogLinesOfACallAndAScanNameTheirTrace) {
  const LogFile log;
  TownServer server([](Config& config) { config.log_level = "debug"; });
  TracedSession session(server, TraceparentOf(kCallTrace, false));
  static_cast<void>(session.Align("", 1));
  static_cast<void>(session.Align(TraceparentOf(kScanTrace, false), 2));
  session.Finish();
  const std::string of_call = absl::StrCat("trace_id=", kCallTrace);
  const std::string of_scan = absl::StrCat("trace_id=", kScanTrace);
  EXPECT_TRUE(Eventually([&] { return log.HasLine("session_closed", of_call); }));
  EXPECT_TRUE(log.HasLine("session_opened", of_call));
  EXPECT_TRUE(log.HasLine("scan", absl::StrCat(" ", of_scan)));
  EXPECT_TRUE(log.HasLine("scan", absl::StrCat(" ", of_call)));
  EXPECT_FALSE(log.HasLine("map_committed", "trace_id="));
  const auto context = TestServer::NewContext();
  context->AddMetadata("traceparent", TraceparentOf(kScanTrace, false));
  v1::DeleteMapRequest request;
  request.set_map("town");
  v1::DeleteMapResponse response;
  EXPECT_TRUE(server.maps->DeleteMap(context.get(), request, &response).ok());
  EXPECT_TRUE(Eventually([&] { return log.HasLine("map_deleted", of_scan); }));
}

}  // namespace
}  // namespace voxloc::server
