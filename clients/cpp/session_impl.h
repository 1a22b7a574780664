// SPDX-License-Identifier: Apache-2.0
//
// What a LocalizationSession holds. session.cc has what its callers do, session_reader.cc what its
// reading thread does. Included by these two only.

#ifndef VOXLOC_CLIENTS_CPP_SESSION_IMPL_H_
#define VOXLOC_CLIENTS_CPP_SESSION_IMPL_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "clients/cpp/channel_impl.h"
#include "clients/cpp/session.h"
#include "clients/cpp/session_stream.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::client {

struct LocalizationSession::Impl {
  Impl(const Channel& a_channel, const SessionOptions& an_options)
      : channel(a_channel), options(an_options) {}

  // The reading thread.
  void Run();
  StreamEnd RunStream(const Endpoint& endpoint);
  void OnStreamOpened(const std::shared_ptr<SessionStream>& new_stream, v1::SessionOpened answer);
  void OnMessage(v1::AlignmentResult result);
  void OnMessage(v1::RequestRejected rejected);
  void OnDraining(const v1::SessionDraining& notice);

  absl::Status Write(v1::AlignScansRequest request);
  absl::StatusOr<uint64_t> SendScan(v1::AlignScansRequest request);
  // The same scan, or one with the last accepted pose for a guess where that is what it needs.
  SharedRequest WithGuess(const SharedRequest& request) const;
  using Results = std::vector<v1::AlignmentResult>;
  // Removes a scan from `unanswered` and records its result. Requires the lock, as do the next two;
  // pass `completed` to Notify afterwards.
  void Complete(v1::AlignmentResult result, Results* completed);
  // Completes a scan that the server will not answer.
  void GiveUp(uint64_t sequence, v1::AlignmentStatus status, const char* detail,
              Results* completed);
  // Completes the scans before this one as STALE.
  void AbandonScansBefore(uint64_t sequence, Results* completed);
  // Calls on_result, not under the lock.
  void Notify(const Results& completed) const {
    for (const v1::AlignmentResult& result : completed) options.on_result(result);
  }
  // A member, read under the lock.
  template <typename Value>
  Value Locked(Value Impl::*member) {
    const std::lock_guard<std::mutex> lock(mutex);
    return this->*member;
  }
  // Until the predicate holds; false: not within `timeout_s` (0: no limit).
  bool WaitFor(std::unique_lock<std::mutex>* lock, double timeout_s,
               const std::function<bool()>& predicate);
  // The oldest result, or that of a scan.
  absl::StatusOr<v1::AlignmentResult> TakeResult(std::optional<uint64_t> sequence,
                                                 double timeout_s);
  absl::Status EndOfResults() const {
    return end.ok() ? absl::OutOfRangeError("the session is closed and has no more results") : end;
  }

  const Channel channel;
  const SessionOptions options;

  SessionOutbox outbox;  // its lock is taken after `mutex`

  std::mutex mutex;  // guards everything below but the thread
  std::condition_variable changed;
  std::shared_ptr<SessionStream> stream;
  bool writable = false;               // `stream` is open and takes messages
  std::optional<double> drain_wait_s;  // the server answers what it has, and takes no more
  bool closing = false;
  bool ended = false;
  absl::Status end;
  // Why the last stream ended, or could not be opened.
  absl::Status lost = absl::UnavailableError("the session is being opened");
  bool opened_once = false;
  int reconnects = 0;
  uint64_t unexpected_results = 0;
  uint64_t given_up = 0;
  v1::SessionOpened opened;
  uint64_t last_sequence = 0;
  std::map<uint64_t, SharedRequest> unanswered;
  std::deque<v1::AlignmentResult> results;
  std::deque<v1::RequestRejected> rejections;
  SharedRequest activation;     // the last one; null: none
  SharedRequest configuration;  // all changes of the setup; null: none
  std::optional<v1::Pose> last_pose;
  std::optional<Pose> last_map_T_odom;  // of the same result
  bool guess_from_last_pose = false;    // since a reconnect, until a scan is accepted

  std::thread reader;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_SESSION_IMPL_H_
