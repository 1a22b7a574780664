// SPDX-License-Identifier: Apache-2.0
//
// One AlignScans stream of a LocalizationSession, from `open` to its end, and what is still to be
// written to it. A session that reconnects has several, one after another. Included by this
// library's sources only.

#ifndef VOXLOC_CLIENTS_CPP_SESSION_STREAM_H_
#define VOXLOC_CLIENTS_CPP_SESSION_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "clients/cpp/channel_impl.h"
#include "voxloc/v1/localization_service.grpc.pb.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::client {

using SharedRequest = std::shared_ptr<const v1::AlignScansRequest>;

// Senders never wait for the connection: a message is written at once where the one before it has
// been, else by the reading thread. If the connection is slower than the vehicle, a new scan
// replaces the oldest unwritten one. Open, Read and Finish are for one thread, the reading thread;
// everything else is thread-safe.
class SessionStream {
 public:
  // The endpoint is one of the channel's.
  SessionStream(const Channel& channel, const Endpoint& endpoint);
  // Cancels a stream that has not been finished.
  ~SessionStream();
  SessionStream(const SessionStream&) = delete;
  SessionStream& operator=(const SessionStream&) = delete;

  // Starts the stream, sends `open` and waits for `opened`; 0: without a limit of time.
  // Read returns the messages after these two. After an error the stream is finished.
  [[nodiscard]] absl::Status Open(const v1::OpenSession& open, double timeout_s,
                                  v1::SessionOpened* opened);

  // The next message. Writes what waits meanwhile. false: the stream has ended.
  [[nodiscard]] bool Read(v1::AlignScansResponse* response);

  // How the stream ended. Discards what was neither read nor written.
  absl::Status Finish();

  // At least 1; without a call, 1.
  void LimitWaitingScans(size_t scans);

  // Returns the sequence number of the scan that was replaced, if any. What is put after the end
  // is dropped, here and by Put.
  [[nodiscard]] std::optional<uint64_t> PutScan(SharedRequest request);

  // Any other message. Of too many the oldest is dropped.
  void Put(SharedRequest request);

  // Half-closes the stream once everything has been written.
  void FinishWrites();

  void Cancel();

 private:
  // The tags of the completion queue.
  enum class Event : uintptr_t { kStarted = 1, kWritten, kRead, kFinished };
  using Deadline = std::chrono::system_clock::time_point;

  static void* Tag(Event event);
  // Handles events until the awaited one, and returns whether that succeeded. Cancels the stream at
  // the deadline.
  bool Await(Event awaited, Deadline deadline = Deadline::max());
  bool ReadBefore(Deadline deadline, v1::AlignScansResponse* response);
  // The next three require the lock.
  void WriteNext();
  void Write(const v1::AlignScansRequest& request);
  std::optional<uint64_t> DropOldest(bool scan);

  const Channel channel_;
  const Endpoint& endpoint_;
  const std::unique_ptr<grpc::ClientContext> context_;
  grpc::CompletionQueue events_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::AlignScansRequest, v1::AlignScansResponse>>
      rpc_;
  bool timed_out_ = false;
  bool finished_ = false;
  std::atomic<bool> cancelled_{false};

  std::mutex mutex_;  // guards everything below
  std::deque<SharedRequest> waiting_;
  size_t waiting_scans_ = 0;
  size_t max_waiting_scans_ = 1;
  bool writing_ = false;  // kWritten will come
  bool finish_ = false;   // half-close once nothing waits
  bool closed_ = false;   // nothing is written any more
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_SESSION_STREAM_H_
