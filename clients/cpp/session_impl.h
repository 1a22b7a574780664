// SPDX-License-Identifier: Apache-2.0
//
// What a LocalizationSession is made of besides its streams: where the next is opened and when, and
// its state. Included by this library's sources only.

#ifndef VOXLOC_CLIENTS_CPP_SESSION_IMPL_H_
#define VOXLOC_CLIENTS_CPP_SESSION_IMPL_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "clients/cpp/backoff.h"
#include "clients/cpp/channel_impl.h"
#include "clients/cpp/session.h"
#include "clients/cpp/session_stream.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::client {

// How a stream, or the attempt to open it, ended.
struct StreamEnd {
  absl::Status status;
  bool was_open = false;
  // SessionDraining::reconnect_after_s, where the server said that it drains.
  std::optional<double> drain_wait_s;
};

// The reconnect policy of session.h: where and when a session opens its next stream. Not
// thread-safe.
class SessionReconnectPolicy {
 public:
  SessionReconnectPolicy(const Channel& channel, const ReconnectOptions& reconnect);

  // Where the next stream is to be opened. Lives as long as the channel.
  [[nodiscard]] const Endpoint& endpoint() const { return round_.endpoint(); }

  // Call after each stream. Returns the seconds to wait before the next one. nullopt: no further
  // attempt; see error().
  [[nodiscard]] std::optional<double> NextAttempt(const StreamEnd& end);

  // What ended the last stream, or, once all addresses refused one, what they said.
  [[nodiscard]] absl::Status error() const;

 private:
  [[nodiscard]] std::optional<double> AfterStream(const StreamEnd& end);
  [[nodiscard]] std::optional<double> AfterRefusal(const absl::Status& refusal);

  const Channel channel_;
  AddressRound round_;
  Backoff backoff_;
  absl::Status error_;
  bool opened_once_ = false;
  double drain_wait_s_ = 0.0;  // requested by a draining server; 0 once it has been waited for
};

// What its callers do is in session.cc, what its thread does in session_reader.cc.
struct LocalizationSession::Impl {
  Impl(const Channel& a_channel, const SessionOptions& an_options)
      : channel(a_channel), options(an_options) {}

  // The reading thread.
  void Run();
  StreamEnd RunStream(const Endpoint& endpoint);
  // Until the session is closed, but no longer. The channel connects meanwhile, which gRPC goes on
  // with only while somebody waits for it: calls that fail at once would find no connection.
  void WaitConnecting(grpc::Channel& connection, double wait_s);
  void OnStreamOpened(v1::SessionOpened answer);
  void OnMessage(v1::AlignmentResult result);
  void OnMessage(v1::RequestRejected rejected);
  void OnDraining(const v1::SessionDraining& notice);

  absl::Status Write(v1::AlignScansRequest request);
  absl::StatusOr<uint64_t> SendScan(v1::AlignScansRequest request);
  // The same scan, or one with the last pose for a guess where that is what it needs.
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

  std::mutex mutex;  // guards everything below but the thread
  std::condition_variable changed;
  std::shared_ptr<SessionStream> stream;  // its lock is taken after `mutex`
  bool writable = false;                  // `stream` is open and takes messages
  std::optional<double> drain_wait_s;     // the server answers what it has, and takes no more
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
  // Of the last result that is accepted or has a pose by the session's filter; with the covariance
  // of the latter.
  std::optional<v1::PoseWithCovariance> last_pose;
  std::optional<Pose> last_map_T_odom;  // of the same result
  bool guess_from_last_pose = false;    // since a reconnect, until there is such a result

  std::thread reader;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_SESSION_IMPL_H_
