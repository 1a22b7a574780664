// SPDX-License-Identifier: Apache-2.0

#include "server/observe/trace/span_exporter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/observe/metrics/metrics.h"
#include "server/observe/version.h"
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

// Fields of the wire format of protobuf (https://protobuf.dev/programming-guides/encoding/).
std::string Varint(size_t value) {
  std::string bytes;
  for (; value > 0x7f; value >>= 7U) bytes += static_cast<char>((value & 0x7fU) | 0x80U);
  return bytes + static_cast<char>(value);
}
std::string NumberField(size_t field, uint64_t value) {
  return Varint(field << 3U) + Varint(value);
}
std::string BytesField(size_t field, const std::string& bytes) {
  return Varint(field << 3U | 2U) + Varint(bytes.size()) + bytes;
}
std::string Fixed64Field(size_t field, uint64_t value) {
  std::string bytes = Varint(field << 3U | 1U);
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}
std::string Attribute(const std::string& key, const std::string& value) {
  return BytesField(1, key) + BytesField(2, value);
}

Span EverythingSpan() {
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
  return span;
}

Collector::Request Exported(const Span& span) {
  Metrics metrics;
  Collector collector;
  SpanExporter(QuickOptions(collector.endpoint()), metrics).Record({span});
  const std::vector<Collector::Request> requests = collector.requests();
  EXPECT_EQ(requests.size(), 1U);
  return requests.empty() ? Collector::Request() : requests[0];
}

TEST(SpanExporterTest, SendsAllThatASpanHas) {
  const std::vector<Json> spans = SpansOf({Exported(EverythingSpan())});
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].at("traceId"), "ab000000000000000000000000000000");
  EXPECT_EQ(spans[0].at("spanId"), "01020304050607ff");
  EXPECT_EQ(spans[0].at("parentSpanId"), "0000000000000009");
  EXPECT_EQ(spans[0].at("kind"), 2);
  EXPECT_EQ(spans[0].at("startTimeUnixNano"), "1700000000123456789");
  EXPECT_EQ(spans[0].at("endTimeUnixNano"), "1700000000123456794");
  EXPECT_EQ(AttributeOf(spans[0], "text"),
            Json({{"stringValue", "a \"quoted\" \xef\xbf\xbd byte"}}));
  EXPECT_EQ(AttributeOf(spans[0], "whole"), Json({{"intValue", "-9007199254740993"}}));
  EXPECT_EQ(AttributeOf(spans[0], "number"), Json({{"doubleValue", 0.5}}));
  EXPECT_EQ(AttributeOf(spans[0], "yes"), Json({{"boolValue", true}}));
  EXPECT_EQ(spans[0].at("status"), Json({{"code", 2}, {"message", "it broke"}}));
}

// By the numbers and types of OTLP 1.0 (https://github.com/open-telemetry/opentelemetry-proto).
TEST(SpanExporterTest, SendsTheBytesOfTheProtocol) {
  const Span span = EverythingSpan();
  const std::string half = Fixed64Field(4, 0x3fe0000000000000);  // 0.5 as a double
  const std::string expected_span =
      BytesField(1, std::string(1, '\xab') + std::string(15, '\0')) +
      BytesField(2, "\1\2\3\4\5\6\7\xff") + BytesField(4, std::string(7, '\0') + "\t") +
      BytesField(5, span.name) + NumberField(6, 2) + Fixed64Field(7, 1'700'000'000'123'456'789) +
      Fixed64Field(8, 1'700'000'000'123'456'794) +
      BytesField(9, Attribute("text", BytesField(1, "a \"quoted\" \xef\xbf\xbd byte"))) +
      BytesField(
          9, Attribute("whole",
                       NumberField(3, static_cast<uint64_t>(int64_t{-9'007'199'254'740'993})))) +
      BytesField(9, Attribute("number", half)) +
      BytesField(9, Attribute("yes", NumberField(2, 1))) +
      BytesField(15, BytesField(2, "it broke") + NumberField(3, 2));
  const std::string resource = BytesField(1, Attribute("service.name", BytesField(1, "voxlocd"))) +
                               BytesField(1, Attribute("service.version", BytesField(1, kVersion)));
  const std::string scope = BytesField(1, "voxlocd") + BytesField(2, kVersion);
  EXPECT_EQ(Exported(span).SerializeAsString(),
            BytesField(1, BytesField(1, resource) +
                              BytesField(2, BytesField(1, scope) + BytesField(2, expected_span))));
}

TEST(SpanExporterTest, ChecksTheEndpoint) {
  for (const char* good : {"http://127.0.0.1:4317", "http://127.0.0.1:4317/", "http://collector",
                           "https://collector.example", "http://[::1]", "https://[::1]:4317"}) {
    EXPECT_TRUE(CheckOtlpEndpoint(good).ok()) << good;
  }
  for (const char* bad : {"127.0.0.1:4317", "ftp://a", "http://", "http:///v1", "http://:4317",
                          "http://a b", "http://a\n", "file:///etc/passwd",
                          "https://collector.example/otlp/", "http://[::1]/otlp:x", "http://a?b"}) {
    const absl::Status status = CheckOtlpEndpoint(bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_NE(status.message().find(bad), std::string::npos) << status;
  }
  EXPECT_EQ(CheckOtlpEndpoint("http://collector:69854").message(),
            "otlp_endpoint must have a port from 1 to 65535 (got '69854')");
  EXPECT_EQ(CheckOtlpEndpoint("https://user:secret@collector").message(),
            "otlp_endpoint must name no user and no password");
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
  collector.AnswerWith({{grpc::StatusCode::UNAVAILABLE}, {grpc::StatusCode::ABORTED}, {}});
  SpanExporter exporter(QuickOptions(collector.endpoint()), metrics);
  exporter.Record(Spans(3));
  EXPECT_TRUE(Eventually([&] { return metrics.spans_exported.Value() == 3.0; }));
  const auto requests = collector.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].SerializeAsString(), requests[2].SerializeAsString());
  EXPECT_EQ(metrics.spans_failed.Value(), 0.0);
}

TEST(SpanExporterTest, GivesUpAfterTheLastTryAndGoesOn) {
  Metrics metrics;
  Collector collector;
  collector.AnswerWith({{grpc::StatusCode::UNAVAILABLE},
                        {grpc::StatusCode::DEADLINE_EXCEEDED},
                        {grpc::StatusCode::DATA_LOSS}});
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
      {{grpc::StatusCode::INVALID_ARGUMENT}, {grpc::StatusCode::OK, /*rejected_spans=*/2}});
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
  collector.AnswerWith({{grpc::StatusCode::OK, 0, /*hangs=*/true}});
  SpanExporterOptions options = QuickOptions(collector.endpoint());
  options.max_queued = 10;
  options.shutdown_timeout_s = 0.05;
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
