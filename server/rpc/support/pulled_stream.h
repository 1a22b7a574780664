// SPDX-License-Identifier: Apache-2.0
//
// PulledStream: a stream of a map's content. Each message is made on the reading queue, once the
// client has taken the one before it. It owns a copy of its request (ServerCall, Lifetime).
//
// There are at most Limits.max_map_readers of them, and the bytes of maps that they all keep for
// their clients are bounded by Limits.max_reply_bytes: see ReserveBytes.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_PULLED_STREAM_H_
#define VOXLOC_SERVER_RPC_SUPPORT_PULLED_STREAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/errors/error_details.h"
#include "server/rpc/support/write_stream.h"
#include "server/scheduling/admission.h"
#include "server/scheduling/byte_limits.h"

namespace voxloc::server {

template <typename Request, typename Response>
class PulledStream : public WriteStream<Request, Response>,
                     public std::enable_shared_from_this<PulledStream<Request, Response>> {
 public:
  using WriteStream<Request, Response>::WriteStream;

 protected:
  using ServerCall::runtime_;
  [[nodiscard]] const Request& request() const { return request_; }

  // The next message. Null: the end, or ReserveBytes has returned false. On the queue's thread.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<Response>> Next() = 0;

  // For Next: reserves bytes in place of those reserved before. False: Next must drop its data and
  // return null; it is called again once the bytes are granted.
  [[nodiscard]] bool ReserveBytes(uint64_t bytes) {
    waiting_ = !reservation_->Request(bytes);
    return !waiting_;
  }

 private:
  absl::Status Begin(const Request& request) final {
    request_ = request;
    pass_ = runtime_.map_readers.Enter();
    if (pass_ == nullptr) return AtLimit("are open");
    reservation_.emplace(runtime_.map_read_bytes, [weak = this->weak_from_this()] {
      if (const auto self = weak.lock(); self != nullptr) self->PostNext();
    });
    PostNext();
    return absl::OkStatus();
  }
  void OnCaughtUp() final { PostNext(); }

  void PostNext() {
    if (!runtime_.reading.Post([self = this->shared_from_this()] { self->Pull(); })) {
      this->End(AtLimit("wait for their turn"));
    }
  }

  absl::Status AtLimit(absl::string_view what) {
    const uint32_t limit = runtime_.map_readers.limit();
    runtime_.metrics.rejected_map_readers.Increment();
    return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                          limit, " calls of GetTiles and GetCells ", what, ", the limit")),
                      "TOO_MANY_MAP_READERS", {{"limit", absl::StrCat(limit)}});
  }

  void Pull() {
    if (this->ended()) return;  // the client has gone
    const ScopedLogTrace log_trace(this->trace());
    waiting_ = false;
    auto next = Next();
    if (!next.ok()) {
      this->End(next.status());
    } else if (*next != nullptr) {
      this->Send(*std::move(next));
    } else if (!waiting_) {
      this->End(absl::OkStatus());
    }
  }

  Request request_;
  std::unique_ptr<Admission::Pass> pass_;
  std::optional<ByteQuota::Reservation> reservation_;
  bool waiting_ = false;  // for it; of the queue's thread
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_PULLED_STREAM_H_
