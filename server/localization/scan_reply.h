// SPDX-License-Identifier: Apache-2.0
//
// ScanReply: the reply to one scan, from receipt to sending. It also keeps the scan's message until
// the points are decoded or, while scans are captured, until the reply is sent. It is sent exactly
// once, or never where it is destroyed because the client has gone. Moved along with the work;
// used by one thread at a time.

#ifndef VOXLOC_SERVER_LOCALIZATION_SCAN_REPLY_H_
#define VOXLOC_SERVER_LOCALIZATION_SCAN_REPLY_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/capture/capture_recorder.h"
#include "server/localization/scan_inputs.h"
#include "server/observe/seconds.h"
#include "server/observe/trace/span_exporter.h"
#include "server/observe/trace/trace_context.h"
#include "server/session/session_state.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

// ScanTrace: the trace that a scan belongs to, and its spans in it: one for the scan, with a child
// for each of its stages, which may have parts. They are recorded only where the trace is sampled
// and there is a collector; otherwise nothing is kept. Moved along with the scan; one thread at a
// time uses it.
class ScanTrace {
 public:
  using Clock = std::chrono::steady_clock;

  // `traceparent` is the scan's own, where it has one that is well-formed; otherwise the scan
  // belongs to the trace of its call. `exporter` may be null.
  ScanTrace(SpanExporter* exporter, absl::string_view traceparent, const TraceContext& call,
            Clock::time_point received, int64_t received_unix_ns);

  // Not valid: no trace.
  [[nodiscard]] const TraceContext& context() const { return context_; }

  // A stage of the work that has ended.
  void AddStage(const char* name, Clock::time_point start, Clock::time_point end);
  // A part of the stage that was added last.
  void AddPart(const char* name, Clock::time_point start, Clock::time_point end) {
    AddSpan(name, last_stage_, start, end);
  }

  // Whether spans are recorded.
  [[nodiscard]] bool recorded() const { return !spans_.empty(); }

  // The scan has been answered: hands its spans over. Once.
  void End(const v1::AlignmentResult& result, const ScanSource& source);

 private:
  void AddSpan(const char* name, const SpanId& parent, Clock::time_point start,
               Clock::time_point end);
  [[nodiscard]] int64_t UnixNs(Clock::time_point time) const;

  SpanExporter* exporter_;
  TraceContext context_;
  Clock::time_point received_;
  int64_t received_unix_ns_;
  std::vector<Span> spans_;  // the scan's own first; empty: none are recorded
  SpanId last_stage_{};      // the scan's own span until there is a stage
};

// Receives the reply. Called on a worker, or on the thread that submitted the scan.
class ScanClient {
 public:
  virtual ~ScanClient() = default;
  virtual void Answer(std::unique_ptr<v1::AlignmentResult> result) = 0;
  // The client has cancelled the call: there is no reply.
  virtual void AnswerCancelled() = 0;
};

// A scan as received.
struct ScanMessage {
  std::unique_ptr<v1::Scan> own;      // of a session
  const v1::Scan* of_call = nullptr;  // of a unary call, which owns the scan until its reply

  [[nodiscard]] const v1::Scan& scan() const { return own != nullptr ? *own : *of_call; }
};

class ScanReply {
 public:
  using Clock = std::chrono::steady_clock;

  // The scan has just been received, in a call that belongs to `call_trace`.
  ScanReply(const ScanParts& parts, std::shared_ptr<const ScanSource> source,
            std::shared_ptr<ScanClient> client, ScanMessage message,
            const TraceContext& call_trace);
  ScanReply(ScanReply&&) = default;
  ~ScanReply() {
    if (result_ != nullptr) parts_.metrics.dropped_closed.Increment();
  }

  // The scan as received. Valid until ReleasePoints.
  [[nodiscard]] const v1::Scan& scan() const { return message_->scan(); }
  void ReleasePoints() {
    if (!may_be_captured_) message_.reset();
  }

  // Valid until the reply is sent.
  [[nodiscard]] v1::AlignmentResult& result() { return *result_; }
  [[nodiscard]] ScanTrace& trace() { return trace_; }
  [[nodiscard]] Clock::time_point received() const { return received_; }
  // Since the receipt.
  [[nodiscard]] double age_s() const { return ToSeconds(Clock::now() - received_); }

  // The inputs of the alignment, for the capture of the scan. Without them the scan is captured as
  // received.
  void SetInputs(AlignmentInputs inputs) { inputs_ = std::move(inputs); }
  // Which revision of the map the scan is aligned with; without a call, the active one.
  void set_revision(MapResults::Revision revision) { revision_ = revision; }

  // Whether it has been sent, cancelled or moved from.
  [[nodiscard]] bool ended() const { return result_ == nullptr; }

  void SetStatus(v1::AlignmentStatus status, absl::string_view detail) {
    result_->set_status(status);
    result_->set_detail(std::string(detail));
  }
  void Send();
  // Ends it without a reply: the client has gone.
  void Cancel();

 private:
  void Count() const;
  void CountPoseAge() const;
  void Capture();

  ScanParts parts_;
  std::shared_ptr<const ScanSource> source_;
  std::shared_ptr<ScanClient> client_;
  bool may_be_captured_;
  MapResults::Revision revision_ = MapResults::Revision::kActive;
  Clock::time_point received_;
  ScanTrace trace_;
  std::optional<ScanMessage> message_;
  std::optional<AlignmentInputs> inputs_;
  std::unique_ptr<v1::AlignmentResult> result_;  // null once it has ended
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LOCALIZATION_SCAN_REPLY_H_
