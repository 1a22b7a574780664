// SPDX-License-Identifier: Apache-2.0

#include "server/localization/scan_trace.h"

#include <string>
#include <utility>

#include "server/observe/trace/span.h"

namespace voxloc::server {

ScanTrace::ScanTrace(SpanExporter* exporter, absl::string_view traceparent,
                     const TraceContext& call, Clock::time_point received, int64_t received_unix_ns)
    : exporter_(exporter), context_(ParseTraceparent(traceparent).value_or(call)) {
  if (exporter_ == nullptr || !context_.valid() || !context_.sampled) return;
  recorded_ = std::make_unique<Recorded>();
  recorded_->parent_id = std::exchange(context_.span_id, NewSpanId());
  recorded_->received = received;
  recorded_->received_unix_ns = received_unix_ns;
}

void ScanTrace::AddStage(const char* name, Clock::time_point start, Clock::time_point end) {
  if (recorded_ != nullptr) recorded_->stages.push_back({name, start, end});
}

void ScanTrace::AddPart(const char* name, Clock::time_point start, Clock::time_point end) {
  if (recorded_ != nullptr) recorded_->stages.push_back({name, start, end, true});
}

void ScanTrace::End(const v1::AlignmentResult& result, const ScanSource& source) {
  if (recorded_ == nullptr) return;
  std::vector<Span> spans;
  spans.reserve(1 + recorded_->stages.size());
  Span& scan = spans.emplace_back();
  scan.trace_id = context_.trace_id;
  scan.span_id = context_.span_id;
  scan.parent_id = recorded_->parent_id;
  scan.name = "align_scan";
  scan.start_unix_ns = recorded_->received_unix_ns;
  scan.end_unix_ns = recorded_->UnixNs(Clock::now());
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
  SpanId last_stage = context_.span_id;
  for (const Stage& stage : recorded_->stages) {
    Span& span = spans.emplace_back();
    span.trace_id = context_.trace_id;
    span.span_id = NewSpanId();
    span.parent_id = stage.part ? last_stage : context_.span_id;
    if (!stage.part) last_stage = span.span_id;
    span.name = stage.name;
    span.start_unix_ns = recorded_->UnixNs(stage.start);
    span.end_unix_ns = recorded_->UnixNs(stage.end);
  }
  recorded_.reset();
  exporter_->Record(std::move(spans));
}

int64_t ScanTrace::Recorded::UnixNs(Clock::time_point time) const {
  return received_unix_ns +
         std::chrono::duration_cast<std::chrono::nanoseconds>(time - received).count();
}

}  // namespace voxloc::server
