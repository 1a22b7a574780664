// SPDX-License-Identifier: Apache-2.0

#include "server/localization/scan_reply.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "server/convert/result.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// The last bucket boundary of the histogram. Older stamps are of recordings or wrong clocks.
constexpr double kMaxPoseAgeS = 10.0;

}  // namespace

ScanTrace::ScanTrace(SpanExporter* exporter, absl::string_view traceparent,
                     const TraceContext& call, Clock::time_point received, int64_t received_unix_ns)
    : exporter_(exporter),
      context_(ParseTraceparent(traceparent).value_or(call)),
      received_(received),
      received_unix_ns_(received_unix_ns) {
  if (exporter_ == nullptr || !context_.valid() || !context_.sampled) return;
  Span& scan = spans_.emplace_back();
  scan.trace_id = context_.trace_id;
  scan.parent_id = std::exchange(context_.span_id, NewSpanId());
  scan.span_id = last_stage_ = context_.span_id;
  scan.name = "align_scan";
  scan.start_unix_ns = received_unix_ns;
}

void ScanTrace::AddStage(const char* name, Clock::time_point start, Clock::time_point end) {
  AddSpan(name, context_.span_id, start, end);
  if (recorded()) last_stage_ = spans_.back().span_id;
}

void ScanTrace::End(const v1::AlignmentResult& result, const ScanSource& source) {
  if (!recorded()) return;
  Span& scan = spans_.front();
  scan.end_unix_ns = UnixNs(Clock::now());
  scan.attributes = {
      {"voxloc.map", source.map},
      {"voxloc.map_revision", static_cast<int64_t>(result.map_revision())},
      {"voxloc.status", v1::AlignmentStatus_Name(result.status())},
      {"voxloc.accepted", result.accepted()},
      {"voxloc.engine", result.engine()},
      {"voxloc.batch_size", int64_t{result.timings().batch_size()}},
      {"voxloc.sequence", static_cast<int64_t>(result.sequence())},
      {"voxloc.vehicle", source.vehicle},
  };
  if (!source.session.empty()) scan.attributes.push_back({"voxloc.session", source.session});
  scan.failed = result.status() == v1::ALIGNMENT_STATUS_ENGINE_FAULT;
  if (scan.failed) scan.error = result.detail();
  exporter_->Record(std::exchange(spans_, {}));
}

void ScanTrace::AddSpan(const char* name, const SpanId& parent, Clock::time_point start,
                        Clock::time_point end) {
  if (!recorded()) return;
  Span& span = spans_.emplace_back();
  span.trace_id = context_.trace_id;
  span.span_id = NewSpanId();
  span.parent_id = parent;
  span.name = name;
  span.start_unix_ns = UnixNs(start);
  span.end_unix_ns = UnixNs(end);
}

int64_t ScanTrace::UnixNs(Clock::time_point time) const {
  return received_unix_ns_ +
         std::chrono::duration_cast<std::chrono::nanoseconds>(time - received_).count();
}

ScanReply::ScanReply(const ScanParts& parts, std::shared_ptr<const ScanSource> source,
                     std::shared_ptr<ScanClient> client, ScanMessage message,
                     const TraceContext& call_trace)
    : parts_(parts),
      source_(std::move(source)),
      client_(std::move(client)),
      may_be_captured_(parts.captures.enabled() && source_->setup != nullptr),
      received_(Clock::now()),
      trace_(parts.spans, message.scan().traceparent(), call_trace, received_,
             absl::GetCurrentTimeNanos()),
      message_(std::move(message)),
      result_(std::make_unique<v1::AlignmentResult>()) {
  result_->set_sequence(scan().sequence());
  result_->set_stamp_ns(scan().stamp_ns());
  result_->mutable_timings()->set_received_at_ns(absl::GetCurrentTimeNanos());
  if (trace_.context().valid()) result_->set_trace_id(TraceIdHex(trace_.context().trace_id));
  parts_.metrics.scans_received.Increment();
}

void ScanReply::Send() {
  v1::Timings& timings = *result_->mutable_timings();
  timings.set_server_s(age_s());
  timings.set_reply_s(std::max(0.0, timings.server_s() - timings.queue_wait_s() -
                                        timings.prepare_s() - timings.batch_wait_s() -
                                        timings.align_s() - timings.estimate_wait_s() -
                                        timings.estimate_s()));
  Count();
  if (std::exchange(may_be_captured_, false)) Capture();
  message_.reset();
  trace_.End(*result_, *source_);
  TrimToMessageSize(parts_.live_config.limits()->max_message_bytes, *result_);
  client_->Answer(std::move(result_));
}

void ScanReply::Cancel() {
  parts_.metrics.dropped_closed.Increment();
  result_.reset();
  client_->AnswerCancelled();
}

void ScanReply::Capture() {
  if (!parts_.captures.ShouldCapture(result_->status())) return;
  CapturedScan captured;
  captured.source = source_;
  // It outlives the call.
  captured.scan = message_->own != nullptr ? std::move(message_->own)
                                           : std::make_unique<v1::Scan>(message_->scan());
  captured.inputs = std::move(inputs_);
  captured.result = ResultToCapture(*result_);
  parts_.captures.Record(std::move(captured));
}

void ScanReply::Count() const {
  const Metrics& metrics = parts_.metrics;
  const v1::Timings& timings = result_->timings();
  if (result_->status() == v1::ALIGNMENT_STATUS_INVALID_INPUT) metrics.dropped_invalid.Increment();
  if (result_->status() == v1::ALIGNMENT_STATUS_STALE) metrics.dropped_stale.Increment();
  if (result_->status() == v1::ALIGNMENT_STATUS_DEADLINE && timings.batch_size() == 0) {
    metrics.dropped_deadline.Increment();
  }
  metrics.results[static_cast<size_t>(result_->status())].Increment();
  metrics.map_results().Count(source_->map, revision_,
                              timings.batch_size() == 0 ? MapResults::Outcome::kNotAligned
                              : result_->accepted()     ? MapResults::Outcome::kAccepted
                                                        : MapResults::Outcome::kRejected);
  metrics.scan_duration_s.Observe(timings.server_s());
  if (result_->accepted()) CountPoseAge();
  if (timings.batch_size() > 0) {
    metrics.tracking_queue.wait_s.Observe(timings.queue_wait_s());
    metrics.stage_prepare_s.Observe(timings.prepare_s());
    metrics.iterations.Observe(result_->iterations());
    metrics.nvtl.Observe(result_->scores().nvtl());
    metrics.matched_ratio.Observe(result_->scores().matched_ratio());
    if (result_->has_confidence()) metrics.confidence.Observe(result_->confidence().value());
  }
  if (LogEnabled(LogLevel::kDebug)) {
    Log(LogLevel::kDebug, "scan",
        {{"session", source_->session},
         {"map", source_->map},
         {"sequence", result_->sequence()},
         {"status", v1::AlignmentStatus_Name(result_->status())},
         {"iterations", result_->iterations()},
         {"server_s", timings.server_s()},
         {"detail", result_->detail()}});
  }
}

void ScanReply::CountPoseAge() const {
  const double now_ns = 1e9 * result_->timings().server_s() +
                        static_cast<double>(result_->timings().received_at_ns());
  const double age_s = 1e-9 * (now_ns - static_cast<double>(result_->stamp_ns()));
  if (source_->own_clock || age_s < 0.0 || age_s > kMaxPoseAgeS) {
    parts_.metrics.pose_age_unknown.Increment();
  } else {
    parts_.metrics.pose_age_s.Observe(age_s);
  }
}

}  // namespace voxloc::server
