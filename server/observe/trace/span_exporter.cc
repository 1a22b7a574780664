// SPDX-License-Identifier: Apache-2.0

#include "server/observe/trace/span_exporter.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/text/host_port.h"
#include "server/observe/logging.h"
#include "server/observe/trace/http_post.h"
#include "server/observe/trace/otlp_json.h"

namespace voxloc::server {
namespace {

constexpr int kHttpOk = 200;
constexpr int kHttpRedirect = 300;
// That OTLP calls retryable.
constexpr std::array<int, 4> kRetryable = {429, 502, 503, 504};

std::string UrlOf(absl::string_view endpoint) {
  while (absl::ConsumeSuffix(&endpoint, "/")) {
  }
  return absl::StrCat(endpoint, "/v1/traces");
}

// Half to all of it, so that servers do not come together.
double WithJitter(double seconds) {
  thread_local std::mt19937 random(std::random_device{}());
  return seconds * std::uniform_real_distribution<double>(0.5, 1.0)(random);
}

}  // namespace

absl::Status CheckOtlpEndpoint(absl::string_view endpoint) {
  absl::string_view host = endpoint;
  const bool scheme =
      absl::ConsumePrefix(&host, "http://") || absl::ConsumePrefix(&host, "https://");
  const bool printable = std::all_of(host.begin(), host.end(),
                                     [](char c) { return c > ' ' && c < '\x7f' && c != '"'; });
  if (scheme && printable && !host.empty() && host.front() != '/' && host.front() != ':') {
    const absl::Status port = CheckUrlPort(host.substr(0, host.find_first_of("/?#")));
    if (port.ok()) return port;
    return absl::InvalidArgumentError(absl::StrCat("otlp_endpoint ", port.message()));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "otlp_endpoint must be the URL of a collector, such as http://127.0.0.1:4318 (got '",
      endpoint, "')"));
}

SpanExporter::SpanExporter(SpanExporterOptions options, const Metrics& metrics)
    : options_(std::move(options)),
      url_(UrlOf(options_.endpoint)),
      metrics_(metrics),
      thread_([this] { Run(); }) {}

SpanExporter::~SpanExporter() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    stop_by_ = absl::Now() + absl::Seconds(options_.stop_s);
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

bool SpanExporter::HasBatch() const { return stopping_ || queue_.size() >= options_.max_batch; }

void SpanExporter::Run() {
  pthread_setname_np(pthread_self(), "spans");
  while (true) {
    std::vector<Span> batch;
    {
      const absl::MutexLock lock(&mutex_);
      static_cast<void>(mutex_.AwaitWithTimeout(absl::Condition(this, &SpanExporter::HasBatch),
                                                absl::Seconds(options_.delay_s)));
      const size_t size = std::min(queue_.size(), options_.max_batch);
      const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(size);
      batch.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
      queue_.erase(queue_.begin(), end);
      if (stopping_ && (batch.empty() || absl::Now() >= stop_by_)) {
        metrics_.spans_dropped.Increment(static_cast<double>(batch.size()));
        return;
      }
    }
    if (!batch.empty()) Export(batch);
  }
}

void SpanExporter::Export(const std::vector<Span>& batch) {
  const std::string body = SpansToJson(batch);
  double backoff_s = options_.first_backoff_s;
  for (int tries = 1;; ++tries) {
    double retry_after_s = 0.0;
    if (Try(body, batch.size(), retry_after_s)) return;
    const double wait_s =
        std::min(std::max(retry_after_s, WithJitter(backoff_s)), options_.max_backoff_s);
    backoff_s = std::min(backoff_s * options_.backoff_factor, options_.max_backoff_s);
    if (tries >= options_.max_tries || !Sleep(wait_s)) break;
  }
  metrics_.spans_failed.Increment(static_cast<double>(batch.size()));
}

bool SpanExporter::Try(const std::string& body, size_t spans, double& retry_after_s) {
  const auto reply = PostJson(url_, body, options_.timeout_s, [this] { return OutOfTime(); });
  if (reply.ok() && reply->code >= kHttpOk && reply->code < kHttpRedirect) {
    const double refused =
        std::min(static_cast<double>(RejectedSpans(reply->body)), static_cast<double>(spans));
    metrics_.spans_refused.Increment(refused);
    metrics_.spans_exported.Increment(static_cast<double>(spans) - refused);
    return true;
  }
  const std::string error = reply.ok() ? absl::StrCat("HTTP status ", reply->code)
                                       : std::string(reply.status().message());
  LogLimited(LogLevel::kWarn, "spans_not_exported",
             {{"url", url_}, {"spans", spans}, {"error", error}});
  if (!reply.ok()) return false;
  retry_after_s = reply->retry_after_s;
  if (std::find(kRetryable.begin(), kRetryable.end(), reply->code) != kRetryable.end()) {
    return false;
  }
  metrics_.spans_refused.Increment(static_cast<double>(spans));
  return true;
}

bool SpanExporter::Sleep(double seconds) {
  const absl::MutexLock lock(&mutex_);
  return !mutex_.AwaitWithTimeout(absl::Condition(&stopping_), absl::Seconds(seconds));
}

bool SpanExporter::OutOfTime() const {
  const absl::MutexLock lock(&mutex_);
  return absl::Now() >= stop_by_;
}

}  // namespace voxloc::server
