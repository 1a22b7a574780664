// SPDX-License-Identifier: Apache-2.0

#include "server/observe/trace/span_exporter.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/observe/metrics/metrics.h"
#include "server/observe/trace/otlp_json.h"
#include "tests/server/observe/trace/collector.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

using Json = nlohmann::json;

Span NamedSpan(const std::string& name) {
  Span span;
  span.trace_id[0] = 0xab;
  span.span_id = NewSpanId();
  span.name = name;
  span.start_unix_ns = 1'700'000'000'123'456'789;
  span.end_unix_ns = span.start_unix_ns + 5;
  return span;
}

std::vector<Span> Spans(size_t count) {
  std::vector<Span> spans;
  for (size_t i = 0; i < count; ++i) spans.push_back(NamedSpan("span"));
  return spans;
}

SpanExporterOptions QuickOptions(const std::string& endpoint) {
  SpanExporterOptions options;
  options.endpoint = endpoint;
  options.delay_s = 0.01;
  options.first_backoff_s = 0.01;
  options.max_backoff_s = 0.02;
  return options;
}

TEST(OtlpJsonTest, WritesWhatTheProtocolSays) {
  Span span = NamedSpan("voxloc.v1.MapService/GetMap");
  span.span_id = {1, 2, 3, 4, 5, 6, 7, 0xff};
  span.parent_id = {0, 0, 0, 0, 0, 0, 0, 9};
  span.kind = SpanKind::kServer;
  span.attributes = {{"text", std::string("a \"quoted\" \xff byte")},
                     {"whole", int64_t{-9'007'199'254'740'993}},
                     {"number", 0.5},
                     {"yes", true}};
  span.failed = true;
  span.error = "it broke";
  const std::vector<Json> spans = SpansOf(
      {{"POST /v1/traces HTTP/1.1\r\nContent-Type: application/json", SpansToJson({&span, 1})}});
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].at("traceId"), "ab000000000000000000000000000000");
  EXPECT_EQ(spans[0].at("spanId"), "01020304050607ff");
  EXPECT_EQ(spans[0].at("parentSpanId"), "0000000000000009");
  EXPECT_EQ(spans[0].at("kind"), 2);
  EXPECT_EQ(spans[0].at("startTimeUnixNano"), "1700000000123456789");
  EXPECT_EQ(spans[0].at("endTimeUnixNano"), "1700000000123456794");
  EXPECT_EQ(AttributeOf(spans[0], "whole"), Json({{"intValue", "-9007199254740993"}}));
  EXPECT_EQ(AttributeOf(spans[0], "number"), Json({{"doubleValue", 0.5}}));
  EXPECT_EQ(AttributeOf(spans[0], "yes"), Json({{"boolValue", true}}));
  EXPECT_EQ(spans[0].at("status"), Json({{"code", 2}, {"message", "it broke"}}));
}

TEST(OtlpJsonTest, ReadsWhatACollectorRejects) {
  EXPECT_EQ(RejectedSpans("{}"), 0);
  EXPECT_EQ(RejectedSpans(""), 0);
  EXPECT_EQ(RejectedSpans("not json"), 0);
  EXPECT_EQ(RejectedSpans(R"({"partialSuccess": 3})"), 0);
  EXPECT_EQ(RejectedSpans(R"({"partialSuccess": {"rejectedSpans": "7"}})"), 7);
  EXPECT_EQ(RejectedSpans(R"({"partialSuccess": {"rejectedSpans": 8}})"), 8);
  EXPECT_EQ(RejectedSpans(R"({"partialSuccess": {"rejectedSpans": "-8"}})"), 0);
}

TEST(SpanExporterTest, ChecksTheEndpoint) {
  EXPECT_TRUE(CheckOtlpEndpoint("http://127.0.0.1:4318").ok());
  EXPECT_TRUE(CheckOtlpEndpoint("https://collector.example/otlp/").ok());
  for (const char* bad : {"127.0.0.1:4318", "ftp://a", "http://", "http:///v1", "http://:4318",
                          "http://a b", "http://a\n", "file:///etc/passwd"}) {
    const absl::Status status = CheckOtlpEndpoint(bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_NE(status.message().find(bad), std::string::npos) << status;
  }
  EXPECT_TRUE(CheckOtlpEndpoint("http://[::1]/otlp:x").ok());
  EXPECT_EQ(CheckOtlpEndpoint("http://collector:69854/otlp").message(),
            "otlp_endpoint must have a port from 1 to 65535 (got '69854')");
}

TEST(SpanExporterTest, HandsSpansOverInBatches) {
  Metrics metrics;
  Collector collector;
  SpanExporterOptions options = QuickOptions(collector.endpoint() + "/");
  options.delay_s = 60.0;  // full batches go at once
  options.max_batch = 10;
  {
    SpanExporter exporter(options, metrics);
    exporter.Record(Spans(6));
    exporter.Record(Spans(6));
    EXPECT_TRUE(Eventually([&] { return metrics.spans_exported.Value() == 10.0; }));
  }
  EXPECT_EQ(metrics.spans_exported.Value(), 12.0);  // the rest at the end
  EXPECT_EQ(collector.requests().size(), 2U);
  EXPECT_EQ(SpansOf(collector.requests()).size(), 12U);
}

TEST(SpanExporterTest, TriesAgainWhileTheCollectorIsNotAble) {
  Metrics metrics;
  Collector collector;
  collector.AnswerWith({{503, "", false}, {429, "", false}, {200, "{}", false}});
  SpanExporter exporter(QuickOptions(collector.endpoint()), metrics);
  exporter.Record(Spans(3));
  EXPECT_TRUE(Eventually([&] { return metrics.spans_exported.Value() == 3.0; }));
  const auto requests = collector.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].body, requests[2].body);
  EXPECT_EQ(metrics.spans_failed.Value(), 0.0);
}

TEST(SpanExporterTest, GivesUpAfterTheLastTryAndGoesOn) {
  Metrics metrics;
  Collector collector;
  collector.AnswerWith({{503, "", false}, {502, "", false}, {504, "", false}});
  SpanExporterOptions options = QuickOptions(collector.endpoint());
  options.max_tries = 3;
  SpanExporter exporter(options, metrics);
  exporter.Record(Spans(4));
  EXPECT_TRUE(Eventually([&] { return metrics.spans_failed.Value() == 4.0; }));
  exporter.Record(Spans(1));
  EXPECT_TRUE(Eventually([&] { return metrics.spans_exported.Value() == 1.0; }));
}

TEST(SpanExporterTest, DoesNotRepeatWhatTheCollectorRefuses) {
  Metrics metrics;
  Collector collector;
  collector.AnswerWith(
      {{400, "", false}, {200, R"({"partialSuccess":{"rejectedSpans":"2"}})", false}});
  SpanExporter exporter(QuickOptions(collector.endpoint()), metrics);
  exporter.Record(Spans(5));
  EXPECT_TRUE(Eventually([&] { return metrics.spans_refused.Value() == 5.0; }));
  exporter.Record(Spans(3));
  EXPECT_TRUE(Eventually([&] { return metrics.spans_refused.Value() == 7.0; }));
  EXPECT_EQ(metrics.spans_exported.Value(), 1.0);
  EXPECT_EQ(collector.requests().size(), 2U);
}

TEST(SpanExporterTest, DropsAndCountsWhatDoesNotFit) {
  Metrics metrics;
  Collector collector;
  collector.AnswerWith({{200, "{}", /*hangs=*/true}});
  SpanExporterOptions options = QuickOptions(collector.endpoint());
  options.max_queued = 10;
  options.stop_s = 0.05;
  {
    SpanExporter exporter(options, metrics);
    exporter.Record(Spans(1));
    EXPECT_TRUE(Eventually([&] { return collector.requests().size() == 1; }));
    exporter.Record(Spans(8));
    exporter.Record(Spans(3));  // all or none
    EXPECT_EQ(metrics.spans_dropped.Value(), 3.0);
    exporter.Record(Spans(2));
    EXPECT_EQ(metrics.spans_dropped.Value(), 3.0);
  }  // a collector that says nothing does not hold the end up
  EXPECT_EQ(
      metrics.spans_dropped.Value() + metrics.spans_failed.Value() + metrics.spans_exported.Value(),
      14.0);
}

TEST(SpanExporterTest, EndsWhereNobodyListens) {
  Metrics metrics;
  std::string endpoint;
  {
    const Collector gone;
    endpoint = gone.endpoint();
  }
  {
    SpanExporter exporter(QuickOptions(endpoint), metrics);
    exporter.Record(Spans(2));
    EXPECT_TRUE(Eventually([&] { return metrics.spans_failed.Value() == 2.0; }));
    exporter.Record(Spans(2));
  }
  EXPECT_EQ(metrics.spans_failed.Value() + metrics.spans_dropped.Value(), 4.0);
}

}  // namespace
}  // namespace voxloc::server
