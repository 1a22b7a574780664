// SPDX-License-Identifier: Apache-2.0
//
// Drain: brings a serving server to a state without calls. From its start the server is not ready
// and rejects new sessions, searches, scoring streams, transactions and watchers, while the port
// still listens. Then, on its own thread,
//   1. it waits `delay_s` for load balancers to notice, unless nobody probes the readiness,
//   2. it ends the streams of WatchMap, and notifies the sessions to leave, spread over `spread_s`,
//   3. it waits for open calls to end by themselves, for the rest of the time,
//   4. it ends the remaining streams, each after the replies to what has been received.
// It is over when no call is open. Beginning again can only move its end forward. It can be
// cancelled until 4 starts, and when it is over, unless the server is being stopped. Thread-safe.

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
#include "server/observe/server_lifecycle.h"
#include "server/session/session_registry.h"

namespace voxloc::server {

struct DrainTimes {
  double delay_s = 0.0;    // for load balancers to notice that the server is not ready
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
    ServerLifecycle& lifecycle;
    const Readiness& readiness;
    SessionRegistry& sessions;
    ActiveCalls& calls;
    DrainTimes times;
  };
  explicit Drain(const Parts& parts) : parts_(parts) {}
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  // Stops the drain's thread, in whatever phase.
  ~Drain();

  // Starts to drain, with `grace_s` (>= 0) until the remaining streams are ended. Delay and spread
  // are scaled by min(1, grace_s / total_s()). Where a drain has begun, its end can only move
  // forward, and its reason stays.
  DrainProgress Begin(double grace_s, const std::string& reason);
  // The same with grace_s = total_s(), for the shutdown of the server: it cannot be cancelled.
  DrainProgress BeginForShutdown(const std::string& reason);

  // Cancels the drain: the server serves again. FailedPrecondition: it does not drain, is being
  // stopped, or is ending its streams.
  absl::Status Cancel();

  // Waits until the drain is over. It must have begun.
  void Await();

  [[nodiscard]] DrainProgress Progress() const;
  [[nodiscard]] uint64_t sessions_notified() const;

 private:
  using Clock = std::chrono::steady_clock;
  // The times of the phases.
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
  // Waits for a time of the plan, which may move forward meanwhile; with `for_calls` only while
  // calls are open.
  template <typename OfPlan>
  Waited AwaitTime(const OfPlan& time_of, bool for_calls);
  // False: cancelled.
  bool NotifySessions();
  void EndStreams();
  [[nodiscard]] double RemainingS() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Parts parts_;
  mutable absl::Mutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kWaiting;
  bool for_shutdown_ ABSL_GUARDED_BY(mutex_) = false;  // the server
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;     // the thread is to end
  Plan plan_ ABSL_GUARDED_BY(mutex_);
  std::string reason_ ABSL_GUARDED_BY(mutex_);
  uint64_t notified_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_DRAIN_H_
