// SPDX-License-Identifier: Apache-2.0
//
// Drain: how a server that still serves comes to have no calls. From its beginning the server is
// not ready and refuses new sessions, searches, scoring streams, transactions and watchers, while
// the port still listens. Then, on a thread of its own,
//   1. endpoints have `delay_s` to learn of it, unless nobody watches the readiness,
//   2. the sessions are notified to leave, at times spread over `spread_s`, and those who watch
//      maps are sent elsewhere,
//   3. open calls have the rest of the time to end by themselves,
//   4. the streams that stay are ended, each after the answers to what has been received.
// It is over when no call is open; beginning again can only bring its end forward. Until 4 begins,
// and when it is over, it can be taken back, unless the server is being stopped. Thread-safe.

#ifndef VOXLOC_SERVER_LIFECYCLE_DRAIN_H_
#define VOXLOC_SERVER_LIFECYCLE_DRAIN_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/lifecycle/active_calls.h"
#include "server/lifecycle/readiness.h"
#include "server/observe/server_life.h"
#include "server/session/session_registry.h"

namespace voxloc::server {

struct DrainTimes {
  double delay_s = 0.0;    // after not being ready, for it to reach clients
  double spread_s = 0.0;   // then, over which the sessions are notified
  double timeout_s = 0.0;  // then, for open calls to end by themselves

  [[nodiscard]] double total_s() const { return delay_s + spread_s + timeout_s; }
};

struct DrainProgress {
  size_t open_sessions = 0;
  double remaining_s = 0.0;  // until the streams that stay are ended
};

class Drain {
 public:
  struct Parts {
    ServerLife& life;
    const Readiness& readiness;
    SessionRegistry& sessions;
    ActiveCalls& calls;
    DrainTimes times;
  };
  explicit Drain(const Parts& parts) : parts_(parts) {}
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  // Stops where it is.
  ~Drain();

  // Begins to drain, with `grace_s` (>= 0) until the streams that stay are ended; the delay and the
  // spread have their shares of it, and no more than their times. Of a drain that has begun it
  // brings the end forward, if it is later, and keeps the first reason.
  DrainProgress Begin(double grace_s, const std::string& reason);
  // The same with the sum of its times, of a server that is being stopped: never taken back.
  DrainProgress BeginToStop(const std::string& reason);

  // The server is as before the drain. FailedPrecondition: it does not drain, is being stopped, or
  // ends its streams now.
  absl::Status TakeBack();

  // Returns when the drain, which has begun, is over.
  void Await();

  [[nodiscard]] DrainProgress Progress() const;
  [[nodiscard]] uint64_t sessions_notified() const;

 private:
  using Clock = std::chrono::steady_clock;
  // What is to come, by the clock.
  struct Plan {
    Clock::time_point notify_begin;
    Clock::time_point notify_end;
    Clock::time_point end;
  };
  enum class Phase {
    kWaiting,  // for the times of the plan, and for calls to end
    kEndingStreams,
    kOver,
  };

  void StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run();
  enum class Waited { kTime, kNoCalls, kCancelled };
  // Waits for a time of the plan, which may come closer meanwhile; with `for_calls` no longer than
  // there are calls.
  template <typename OfPlan>
  Waited AwaitTime(const OfPlan& time_of, bool for_calls);
  void NotifyCalls();
  // False: cancelled.
  bool NotifySessions();
  void EndStreams();
  [[nodiscard]] double RemainingS() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Parts parts_;
  mutable absl::Mutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kWaiting;
  bool to_stop_ ABSL_GUARDED_BY(mutex_) = false;    // the server
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;  // the thread is to end
  Plan plan_ ABSL_GUARDED_BY(mutex_);
  std::string reason_ ABSL_GUARDED_BY(mutex_);
  uint64_t notified_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_DRAIN_H_
