// SPDX-License-Identifier: Apache-2.0

#include "server/observe/trace/span_exporter.h"

#include <grpcpp/grpcpp.h>
#include <pthread.h>

#include <algorithm>
#include <iterator>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/text/host_port.h"
#include "core/text/utf8.h"
#include "opentelemetry/proto/collector/trace/v1/trace_service.grpc.pb.h"
#include "server/observe/logging.h"
#include "server/observe/version.h"

namespace voxloc::server {
namespace {

namespace otlp = ::opentelemetry::proto::collector::trace::v1;

// The codes that OTLP calls retryable. RESOURCE_EXHAUSTED is one only with a google.rpc.RetryInfo,
// which gRPC does not read.
constexpr const char* kRetryable[] = {"CANCELLED",    "DEADLINE_EXCEEDED", "ABORTED",
                                      "OUT_OF_RANGE", "UNAVAILABLE",       "DATA_LOSS"};

// gRPC keeps a request for its retries up to this size: a batch of 512 spans has a few 100 kB.
constexpr int kMaxRetriedBytes = 64 << 20;

struct Target {
  bool tls = false;
  std::string address;  // HOST:PORT
};

absl::StatusOr<Target> ParseEndpoint(absl::string_view endpoint) {
  Target target;
  absl::string_view authority = endpoint;
  target.tls = absl::ConsumePrefix(&authority, "https://");
  const bool scheme = target.tls || absl::ConsumePrefix(&authority, "http://");
  absl::ConsumeSuffix(&authority, "/");
  if (scheme && absl::StrContains(authority, '@')) {
    return absl::InvalidArgumentError("otlp_endpoint must name no user and no password");
  }
  const bool host = std::all_of(authority.begin(), authority.end(), [](char c) {
    return c > ' ' && c < '\x7f' && !absl::StrContains("\"/?#", c);
  });
  if (!scheme || !host || authority.empty() || authority.front() == ':') {
    return absl::InvalidArgumentError(absl::StrCat(
        "otlp_endpoint must be the URL of a collector's receiver of OTLP over gRPC, such as "
        "http://127.0.0.1:4317, without a path (got '",
        endpoint, "')"));
  }
  if (const absl::Status port = CheckUrlPort(authority); !port.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("otlp_endpoint ", port.message()));
  }
  const size_t colon = authority.rfind(':');
  const bool has_port = colon != absl::string_view::npos && authority.back() != ']';
  target.address = absl::StrCat(authority, has_port ? "" : target.tls ? ":443" : ":80");
  return target;
}

std::string ServiceConfig(const SpanExporterOptions& options) {
  return absl::StrCat(
      R"({"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": )", options.max_tries,
      R"(, "initialBackoff": ")", options.first_backoff_s, R"(s", "maxBackoff": ")",
      options.max_backoff_s, R"(s", "backoffMultiplier": )", options.backoff_factor,
      R"(, "retryableStatusCodes": [")", absl::StrJoin(kRetryable, R"(", ")"), R"("]}}]})");
}

// Connects when it is first used.
std::shared_ptr<grpc::Channel> MakeChannel(const SpanExporterOptions& options) {
  const auto target = ParseEndpoint(options.endpoint);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE, kMaxRetriedBytes);
  arguments.SetServiceConfigJSON(ServiceConfig(options));
  return grpc::CreateCustomChannel(
      absl::StrCat("dns:///", target.ok() ? target->address : ""),
      target.ok() && target->tls ? grpc::SslCredentials({}) : grpc::InsecureChannelCredentials(),
      arguments);
}

// Messages have UTF-8 alone; an error's text may have a client's or a file's bytes.
std::string ToUtf8(absl::string_view text) {
  std::string valid;
  while (true) {
    const size_t length = Utf8PrefixLength(text);
    absl::StrAppend(&valid, text.substr(0, length));
    if (length == text.size()) return valid;
    absl::StrAppend(&valid, "\xef\xbf\xbd");  // U+FFFD
    text.remove_prefix(length + 1);
  }
}

template <typename Id>
std::string Bytes(const Id& id) {
  return std::string(id.begin(), id.end());
}

void SetValue(const std::string& text, otlp::AnyValue& value) {
  value.set_string_value(ToUtf8(text));
}
void SetValue(int64_t number, otlp::AnyValue& value) { value.set_int_value(number); }
void SetValue(double number, otlp::AnyValue& value) { value.set_double_value(number); }
void SetValue(bool yes, otlp::AnyValue& value) { value.set_bool_value(yes); }

void AddAttribute(const SpanAttribute& attribute,
                  google::protobuf::RepeatedPtrField<otlp::KeyValue>& attributes) {
  otlp::KeyValue& to = *attributes.Add();
  to.set_key(attribute.key);
  std::visit([&to](const auto& value) { SetValue(value, *to.mutable_value()); }, attribute.value);
}

void ToOtlp(const Span& span, otlp::Span& to) {
  to.set_trace_id(Bytes(span.trace_id));
  to.set_span_id(Bytes(span.span_id));
  if (span.parent_id != SpanId{}) to.set_parent_span_id(Bytes(span.parent_id));
  to.set_name(ToUtf8(span.name));
  to.set_kind(static_cast<otlp::Span::SpanKind>(span.kind));
  to.set_start_time_unix_nano(static_cast<uint64_t>(span.start_unix_ns));
  to.set_end_time_unix_nano(static_cast<uint64_t>(span.end_unix_ns));
  for (const SpanAttribute& attribute : span.attributes) {
    AddAttribute(attribute, *to.mutable_attributes());
  }
  if (!span.failed) return;
  to.mutable_status()->set_code(otlp::Status::STATUS_CODE_ERROR);
  to.mutable_status()->set_message(ToUtf8(span.error));
}

// One resource, this server, with these spans.
otlp::ExportTraceServiceRequest RequestOf(const std::vector<Span>& spans) {
  otlp::ExportTraceServiceRequest request;
  otlp::ResourceSpans& resource = *request.add_resource_spans();
  auto& attributes = *resource.mutable_resource()->mutable_attributes();
  AddAttribute({"service.name", std::string("voxlocd")}, attributes);
  AddAttribute({"service.version", std::string(kVersion)}, attributes);
  otlp::ScopeSpans& scope = *resource.add_scope_spans();
  scope.mutable_scope()->set_name("voxlocd");
  scope.mutable_scope()->set_version(kVersion);
  for (const Span& span : spans) ToOtlp(span, *scope.add_spans());
  return request;
}

}  // namespace

absl::Status CheckOtlpEndpoint(absl::string_view endpoint) {
  return ParseEndpoint(endpoint).status();
}

SpanExporter::SpanExporter(SpanExporterOptions options, const Metrics& metrics)
    : options_(std::move(options)),
      metrics_(metrics),
      channel_(MakeChannel(options_)),
      thread_([this] { Run(); }) {}

SpanExporter::~SpanExporter() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    stop_deadline_ = absl::Now() + absl::Seconds(options_.shutdown_timeout_s);
    const bool stopped = mutex_.AwaitWithTimeout(absl::Condition(&stopped_),
                                                 absl::Seconds(options_.shutdown_timeout_s));
    if (!stopped && call_ != nullptr) call_->TryCancel();
  }
  thread_.join();
  const absl::MutexLock lock(&mutex_);
  metrics_.spans_dropped.Increment(static_cast<double>(queue_.size()));
}

void SpanExporter::Record(std::vector<Span> spans) {
  const auto count = static_cast<double>(spans.size());
  const absl::MutexLock lock(&mutex_);
  if (stopping_ || queue_.size() + spans.size() > options_.max_queued) {
    metrics_.spans_dropped.Increment(count);
    return;
  }
  std::move(spans.begin(), spans.end(), std::back_inserter(queue_));
}

void SpanExporter::Run() {
  pthread_setname_np(pthread_self(), "spans");
  const auto has_batch = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || queue_.size() >= options_.max_batch;
  };
  while (true) {
    std::vector<Span> batch;
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&has_batch), absl::Seconds(options_.delay_s));
      const size_t size = std::min(queue_.size(), options_.max_batch);
      const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(size);
      batch.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
      queue_.erase(queue_.begin(), end);
      if (stopping_ && (batch.empty() || absl::Now() >= stop_deadline_)) {
        metrics_.spans_dropped.Increment(static_cast<double>(batch.size()));
        stopped_ = true;
        return;
      }
    }
    if (!batch.empty()) Export(batch);
  }
}

void SpanExporter::Export(const std::vector<Span>& batch) {
  const auto spans = static_cast<double>(batch.size());
  grpc::ClientContext context;
  {
    const absl::MutexLock lock(&mutex_);
    const absl::Time deadline = absl::Now() + absl::Seconds(options_.timeout_s);
    context.set_deadline(absl::ToChronoTime(std::min(deadline, stop_deadline_)));
    call_ = &context;
  }
  otlp::ExportTraceServiceResponse response;
  const grpc::Status status =
      otlp::TraceService::NewStub(channel_)->Export(&context, RequestOf(batch), &response);
  {
    const absl::MutexLock lock(&mutex_);
    call_ = nullptr;
  }
  if (status.ok()) {
    const double refused =
        std::clamp(static_cast<double>(response.partial_success().rejected_spans()), 0.0, spans);
    metrics_.spans_refused.Increment(refused);
    metrics_.spans_exported.Increment(spans - refused);
    return;
  }
  const std::string code = NameOfCode(status.error_code());
  LogRateLimited(LogLevel::kWarn, "spans_not_exported",
                 {{"url", options_.endpoint},
                  {"spans", batch.size()},
                  {"error", absl::StrCat(code, ": ", status.error_message())}});
  const bool retryable =
      std::find(std::begin(kRetryable), std::end(kRetryable), code) != std::end(kRetryable);
  (retryable ? metrics_.spans_failed : metrics_.spans_refused).Increment(spans);
}

}  // namespace voxloc::server
