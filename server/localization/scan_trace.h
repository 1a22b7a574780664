// SPDX-License-Identifier: Apache-2.0
//
// ScanTrace: the trace that a scan belongs to, and its spans in it: one for the scan, with a child
// for each of its stages, which may have parts. They are recorded only where the trace is sampled
// and there is a collector; otherwise nothing is kept. Moved along with the scan; one thread at a
// time uses it.

#ifndef VOXLOC_SERVER_LOCALIZATION_SCAN_TRACE_H_
#define VOXLOC_SERVER_LOCALIZATION_SCAN_TRACE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/observe/trace/span_exporter.h"
#include "server/observe/trace/trace_context.h"
#include "server/session/scan_source.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::server {

class ScanTrace {
 public:
  using Clock = std::chrono::steady_clock;

  // `traceparent` is the scan's own, where it has one that is well-formed; otherwise the scan
  // belongs to the trace of its call. `exporter` may be null.
  ScanTrace(SpanExporter* exporter, absl::string_view traceparent, const TraceContext& call,
            Clock::time_point received, int64_t received_unix_ns);

  // Not valid: no trace.
  [[nodiscard]] const TraceContext& context() const { return context_; }

  // A stage of the work that has ended. `name` is a constant.
  void AddStage(const char* name, Clock::time_point start, Clock::time_point end);
  // A part of the stage that was added last.
  void AddPart(const char* name, Clock::time_point start, Clock::time_point end);

  // Whether spans are recorded.
  [[nodiscard]] bool recorded() const { return recorded_ != nullptr; }

  // The scan has been answered: hands its spans over. Once.
  void End(const v1::AlignmentResult& result, const ScanSource& source);

 private:
  struct Stage {
    const char* name;
    Clock::time_point start;
    Clock::time_point end;
    bool part = false;  // of the last stage that is not a part
  };
  // Of a scan whose spans are recorded.
  struct Recorded {
    SpanId parent_id;
    Clock::time_point received;
    int64_t received_unix_ns;
    std::vector<Stage> stages;

    [[nodiscard]] int64_t UnixNs(Clock::time_point time) const;
  };

  SpanExporter* exporter_;
  TraceContext context_;
  std::unique_ptr<Recorded> recorded_;  // null: no spans
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LOCALIZATION_SCAN_TRACE_H_
