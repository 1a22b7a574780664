// SPDX-License-Identifier: Apache-2.0
//
// ScanReply: the answer to one scan, from its receipt to its sending, and the scan's message for as
// long as that is needed: until the points have been taken from it or, while scans are captured,
// until the answer. It is sent exactly once, or not at all when it is destroyed because the client
// has gone. Moved along with the work; one thread at a time uses it.

#ifndef VOXLOC_SERVER_LOCALIZATION_SCAN_REPLY_H_
#define VOXLOC_SERVER_LOCALIZATION_SCAN_REPLY_H_

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "server/capture/captured_scan.h"
#include "server/localization/scan_parts.h"
#include "server/localization/scan_trace.h"
#include "server/session/scan_source.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::server {

// Who waits for the answer. Called on a worker, or on the thread that submitted the scan.
class ScanClient {
 public:
  virtual ~ScanClient() = default;
  virtual void Answer(std::unique_ptr<v1::AlignmentResult> result) = 0;
  // The client has cancelled the scan's call.
  virtual void AnswerNothing() = 0;
};

// The message that a scan came in.
class ScanMessage {
 public:
  // Of a session.
  explicit ScanMessage(std::unique_ptr<v1::AlignScansRequest> request)
      : request_(std::move(request)) {}
  // Of a call, which keeps it until it is answered.
  explicit ScanMessage(const v1::Scan& scan) : of_call_(&scan) {}

  [[nodiscard]] const v1::Scan& scan() const {
    return request_ != nullptr ? request_->scan() : *of_call_;
  }
  // For longer.
  [[nodiscard]] std::unique_ptr<v1::Scan> Take() && {
    return request_ != nullptr ? std::unique_ptr<v1::Scan>(request_->release_scan())
                               : std::make_unique<v1::Scan>(*of_call_);
  }

 private:
  std::unique_ptr<v1::AlignScansRequest> request_;
  const v1::Scan* of_call_ = nullptr;
};

class ScanReply {
 public:
  using Clock = std::chrono::steady_clock;

  // The scan has just been received, in a call that belongs to `call_trace`.
  ScanReply(const ScanParts& parts, std::shared_ptr<const ScanSource> source,
            std::shared_ptr<ScanClient> client, ScanMessage message,
            const TraceContext& call_trace);
  ScanReply(ScanReply&&) = default;
  ~ScanReply();

  // The scan as it came; until its points have been taken.
  [[nodiscard]] const v1::Scan& scan() const { return message_->scan(); }
  void PointsTaken();

  // Until it is sent.
  [[nodiscard]] v1::AlignmentResult& result() { return *result_; }
  [[nodiscard]] ScanTrace& trace() { return trace_; }
  [[nodiscard]] Clock::time_point received() const { return received_; }
  // Since the receipt.
  [[nodiscard]] double age_s() const;

  // What the scan was aligned with, or would have been, for its capture if it goes badly. Without
  // it the scan is captured as it came.
  void SetInputs(AlignmentInputs inputs) { inputs_ = std::move(inputs); }

  // Whether it has been sent, or given up, or is another's now.
  [[nodiscard]] bool ended() const { return result_ == nullptr; }

  void SetStatus(v1::AlignmentStatus status, absl::string_view detail);
  void Send();
  // Nobody waits for it any more.
  void GiveUp();

 private:
  void Count() const;
  void CountPoseAge() const;
  void Capture();

  ScanParts parts_;
  std::shared_ptr<const ScanSource> source_;
  std::shared_ptr<ScanClient> client_;
  bool may_be_captured_;
  Clock::time_point received_;
  ScanTrace trace_;
  std::optional<ScanMessage> message_;
  std::optional<AlignmentInputs> inputs_;
  std::unique_ptr<v1::AlignmentResult> result_;  // null once it has ended
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LOCALIZATION_SCAN_REPLY_H_
