// SPDX-License-Identifier: Apache-2.0
//
// SpanExporter: sends spans to an OpenTelemetry collector, by OTLP over gRPC, in batches from its
// own thread. Callers never wait: when the queue is full, spans are dropped and counted. gRPC
// retries a failed batch a few times; then it is dropped. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_TRACE_SPAN_EXPORTER_H_
#define VOXLOC_SERVER_OBSERVE_TRACE_SPAN_EXPORTER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/trace/trace_context.h"

namespace grpc {
class Channel;
class ClientContext;
}  // namespace grpc

namespace voxloc::server {

// The numbers are those of the protocol.
enum class SpanKind { kInternal = 1, kServer = 2 };

struct SpanAttribute {
  const char* key;
  std::variant<std::string, int64_t, double, bool> value;
};

// A piece of work in a trace, with its beginning and end, as OpenTelemetry defines it.
struct Span {
  TraceId trace_id{};
  SpanId span_id{};
  SpanId parent_id{};  // all zero: none
  std::string name;
  SpanKind kind = SpanKind::kInternal;
  int64_t start_unix_ns = 0;
  int64_t end_unix_ns = 0;
  std::vector<SpanAttribute> attributes;
  bool failed = false;
  std::string error;  // of a failed one
};

struct SpanExporterOptions {
  std::string endpoint;  // such as http://127.0.0.1:4317

  // OpenTelemetry's defaults of a batch processor.
  size_t max_queued = 2048;
  size_t max_batch = 512;
  double delay_s = 5.0;     // longest wait of a span for a full batch
  double timeout_s = 10.0;  // of a batch, with its retries: the OTLP exporter's default

  // OpenTelemetry's SDKs for Java and C++ retry like this; gRPC tries at most 5 times.
  int max_tries = 5;
  double first_backoff_s = 1.0;
  double backoff_factor = 1.5;
  double max_backoff_s = 5.0;

  double shutdown_timeout_s = 1.0;  // longest wait of the destructor for the remaining spans
};

// InvalidArgument: not http:// or https:// with a host and at most a port.
[[nodiscard]] absl::Status CheckOtlpEndpoint(absl::string_view endpoint);

class SpanExporter {
 public:
  // The endpoint must have passed CheckOtlpEndpoint; the metrics must outlive the exporter.
  SpanExporter(SpanExporterOptions options, const Metrics& metrics);
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;
  // Hands over what is left, for at most shutdown_timeout_s.
  ~SpanExporter();

  // The spans of one scan or call, all or none.
  void Record(std::vector<Span> spans);

 private:
  void Run();
  void Export(const std::vector<Span>& batch);

  const SpanExporterOptions options_;
  const Metrics& metrics_;
  const std::shared_ptr<grpc::Channel> channel_;
  absl::Mutex mutex_;
  std::deque<Span> queue_ ABSL_GUARDED_BY(mutex_);
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mutex_) = nullptr;  // the running export
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time stop_deadline_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_TRACE_SPAN_EXPORTER_H_
