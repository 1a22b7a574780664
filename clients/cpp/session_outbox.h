// SPDX-License-Identifier: Apache-2.0
//
// SessionOutbox: what a session has still to write, and the thread that writes it, so that nobody
// who sends waits for the connection to take bytes. While the connection is slower than the
// vehicle, the newest scan wins: it takes the place of the oldest one that has not been written.
// Messages are shared with whoever keeps them for a later connection, and are not changed.
// Thread-safe.

#ifndef VOXLOC_CLIENTS_CPP_SESSION_OUTBOX_H_
#define VOXLOC_CLIENTS_CPP_SESSION_OUTBOX_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "clients/cpp/session_stream.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::client {

using SharedRequest = std::shared_ptr<const v1::AlignScansRequest>;

class SessionOutbox {
 public:
  SessionOutbox();
  // The stream, if any, must have been cancelled or have ended.
  ~SessionOutbox();
  SessionOutbox(const SessionOutbox&) = delete;
  SessionOutbox& operator=(const SessionOutbox&) = delete;

  // From now on messages go to this open stream, `first` before all others. At most
  // `max_unsent_scans` scans wait, at least 1.
  void Attach(std::shared_ptr<SessionStream> stream, std::vector<SharedRequest> first,
              size_t max_unsent_scans);

  // Returns when nothing is being written any more; the stream must have been cancelled or have
  // ended. What waits is dropped, and so is what comes until the next Attach.
  void Detach();

  // The sequence number of the scan that had to give way, if any.
  [[nodiscard]] std::optional<uint64_t> PutScan(SharedRequest request);

  // Any other message. Of too many the oldest is dropped.
  void Put(SharedRequest request);

  // Half-closes the stream once everything has been written.
  void FinishWrites();

 private:
  void Run();
  // Drops the oldest that is a scan, or that is none.
  std::optional<uint64_t> DropOldest(bool scan);

  std::mutex mutex_;  // guards everything below but the thread
  std::condition_variable changed_;
  std::shared_ptr<SessionStream> stream_;  // null: nothing can be written
  std::deque<SharedRequest> waiting_;
  size_t waiting_scans_ = 0;
  size_t max_unsent_scans_ = 1;
  bool finish_ = false;
  bool writing_ = false;
  bool stopping_ = false;

  std::thread writer_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_SESSION_OUTBOX_H_
