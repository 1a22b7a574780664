// SPDX-License-Identifier: Apache-2.0

#include "tests/server/observe/trace/collector.h"

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace voxloc::server {
namespace {

using Json = nlohmann::json;
namespace otlp = ::opentelemetry::proto::collector::trace::v1;

Json ToJson(const otlp::AnyValue& value) {
  switch (value.value_case()) {
    case otlp::AnyValue::kStringValue:
      return {{"stringValue", value.string_value()}};
    case otlp::AnyValue::kBoolValue:
      return {{"boolValue", value.bool_value()}};
    case otlp::AnyValue::kIntValue:
      return {{"intValue", absl::StrCat(value.int_value())}};
    case otlp::AnyValue::kDoubleValue:
      return {{"doubleValue", value.double_value()}};
    case otlp::AnyValue::VALUE_NOT_SET:
      ADD_FAILURE() << "an attribute without a value";
  }
  return nullptr;
}

Json ToJson(const google::protobuf::RepeatedPtrField<otlp::KeyValue>& attributes) {
  Json list = Json::array();
  for (const otlp::KeyValue& attribute : attributes) {
    EXPECT_FALSE(attribute.key().empty());
    list.push_back({{"key", attribute.key()}, {"value", ToJson(attribute.value())}});
  }
  return list;
}

Json ToJson(const otlp::Span& span) {
  EXPECT_EQ(span.trace_id().size(), 16U);
  EXPECT_EQ(span.span_id().size(), 8U);
  EXPECT_TRUE(span.parent_span_id().empty() || span.parent_span_id().size() == 8);
  EXPECT_FALSE(span.name().empty());
  EXPECT_LE(span.start_time_unix_nano(), span.end_time_unix_nano());
  Json json = {{"traceId", absl::BytesToHexString(span.trace_id())},
               {"spanId", absl::BytesToHexString(span.span_id())},
               {"name", span.name()},
               {"kind", static_cast<int>(span.kind())},
               {"startTimeUnixNano", absl::StrCat(span.start_time_unix_nano())},
               {"endTimeUnixNano", absl::StrCat(span.end_time_unix_nano())},
               {"attributes", ToJson(span.attributes())}};
  if (!span.parent_span_id().empty()) {
    json["parentSpanId"] = absl::BytesToHexString(span.parent_span_id());
  }
  if (span.has_status()) {
    json["status"] = {{"code", static_cast<int>(span.status().code())},
                      {"message", span.status().message()}};
  }
  return json;
}

}  // namespace

class Collector::Service : public otlp::TraceService::Service {
 public:
  grpc::Status Export(grpc::ServerContext* context, const Request* request,
                      otlp::ExportTraceServiceResponse* response) override {
    const absl::MutexLock lock(&mutex_);
    requests_.push_back(*request);
    Answer answer;
    if (!answers_.empty()) {
      answer = answers_.front();
      answers_.pop_front();
    }
    // Until the client gives up, or the server ends.
    const auto cancelled = [context] { return context->IsCancelled(); };
    while (answer.hangs && !cancelled()) {
      mutex_.AwaitWithTimeout(absl::Condition(&cancelled), absl::Milliseconds(20));
    }
    if (answer.rejected_spans != 0) {
      response->mutable_partial_success()->set_rejected_spans(answer.rejected_spans);
    }
    return {answer.code, answer.code == grpc::StatusCode::OK ? "" : "as the test says"};
  }

  void AnswerWith(std::deque<Answer> answers) {
    const absl::MutexLock lock(&mutex_);
    answers_ = std::move(answers);
  }
  [[nodiscard]] std::vector<Request> requests() const {
    const absl::MutexLock lock(&mutex_);
    return requests_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::deque<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  std::vector<Request> requests_ ABSL_GUARDED_BY(mutex_);
};

Collector::Collector() : service_(std::make_unique<Service>()) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  EXPECT_NE(server_, nullptr);
}

Collector::~Collector() {
  // Real time: gRPC takes a time; calls that hang are cancelled at once.
  server_->Shutdown(std::chrono::system_clock::now());
}

std::string Collector::endpoint() const { return absl::StrCat("http://127.0.0.1:", port_); }

void Collector::AnswerWith(std::deque<Answer> answers) { service_->AnswerWith(std::move(answers)); }

std::vector<Collector::Request> Collector::requests() const { return service_->requests(); }

std::vector<Json> SpansOf(const std::vector<Collector::Request>& requests) {
  std::vector<Json> spans;
  for (const Collector::Request& request : requests) {
    for (const otlp::ResourceSpans& resource : request.resource_spans()) {
      const Json of_resource = {{"attributes", ToJson(resource.resource().attributes())}};
      EXPECT_EQ(AttributeOf(of_resource, "service.name"), Json({{"stringValue", "voxlocd"}}));
      for (const otlp::ScopeSpans& scope : resource.scope_spans()) {
        EXPECT_EQ(scope.scope().name(), "voxlocd");
        for (const otlp::Span& span : scope.spans()) spans.push_back(ToJson(span));
      }
    }
  }
  return spans;
}

Json AttributeOf(const Json& span, const std::string& key) {
  for (const Json& attribute : span.at("attributes")) {
    if (attribute.at("key") == key) return attribute.at("value");
  }
  return nullptr;
}

}  // namespace voxloc::server
