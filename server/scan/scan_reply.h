// SPDX-License-Identifier: Apache-2.0
//
// ScanReply: the answer to one scan, from its receipt to its sending. It is sent exactly once, or
// not at all when it is destroyed because the client has gone. Moved along with the work; one
// thread at a time uses it.

#ifndef VOXLOC_SERVER_SCAN_SCAN_REPLY_H_
#define VOXLOC_SERVER_SCAN_SCAN_REPLY_H_

#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/string_view.h"
#include "server/runtime/runtime.h"
#include "server/scan/scan_capture.h"
#include "server/scan/scan_client.h"
#include "server/scan/scan_trace.h"
#include "server/session/scan_source.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::server {

class ScanReply {
 public:
  using Clock = std::chrono::steady_clock;

  // The scan has just been received, in a call that belongs to `call_trace`.
  ScanReply(Runtime& runtime, std::shared_ptr<const ScanSource> source,
            std::shared_ptr<ScanClient> client, const v1::Scan& scan,
            const TraceContext& call_trace);
  ScanReply(ScanReply&&) = default;
  ~ScanReply();

  // Until it is sent.
  [[nodiscard]] v1::AlignmentResult& result() { return *result_; }
  [[nodiscard]] const v1::AlignmentResult& result() const { return *result_; }
  [[nodiscard]] ScanTrace& trace() { return trace_; }
  [[nodiscard]] Clock::time_point received() const { return received_; }
  // Null: the scan is not captured, however it goes.
  [[nodiscard]] ScanCapture* capture() { return capture_.get(); }
  void SetCapture(std::unique_ptr<ScanCapture> capture) { capture_ = std::move(capture); }
  // Since the receipt.
  [[nodiscard]] double age_s() const;

  // Whether it has been sent, or given up, or is another's now.
  [[nodiscard]] bool ended() const { return result_ == nullptr; }

  void SetStatus(v1::AlignmentStatus status, absl::string_view detail);
  void Send();
  // Nobody waits for it any more.
  void GiveUp();

 private:
  void Count() const;
  void CountPoseAge() const;

  const Runtime* runtime_;
  std::shared_ptr<const ScanSource> source_;
  std::shared_ptr<ScanClient> client_;
  Clock::time_point received_;
  ScanTrace trace_;
  std::unique_ptr<ScanCapture> capture_;
  std::unique_ptr<v1::AlignmentResult> result_;  // null once it has ended
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCAN_SCAN_REPLY_H_
