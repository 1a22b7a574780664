// SPDX-License-Identifier: Apache-2.0
//
// SessionRegistry: counts, lists and notifies the open sessions. Rejects new ones at the limit and
// while the server drains. Thread-safe.

#ifndef VOXLOC_SERVER_SESSION_SESSION_REGISTRY_H_
#define VOXLOC_SERVER_SESSION_SESSION_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/server_lifecycle.h"
#include "voxloc/v1/admin_service.pb.h"

namespace voxloc::server {

// The replacement of a single server has started by then.
inline constexpr double kReconnectAfterDrainS = 1.0;

// The error for new work while the server drains: Unavailable, with the reason DRAINING.
[[nodiscard]] absl::Status DrainingError();

struct DrainNotice {
  double reconnect_after_s = 0.0;
  double remaining_s = 0.0;
  std::string reason;
};

// A session as the registry knows it. Called from any thread.
class RegisteredSession {
 public:
  virtual ~RegisteredSession() = default;
  virtual void OnDraining(const DrainNotice& notice) = 0;
  [[nodiscard]] virtual v1::SessionInfo Info() const = 0;
};

// The number of an open session; its destruction closes the session.
using SessionSlot = const uint64_t;

class SessionRegistry {
 public:
  // Both must outlive it.
  SessionRegistry(size_t max_sessions, const Metrics& metrics, const ServerLifecycle& lifecycle)
      : metrics_(metrics), lifecycle_(lifecycle), max_sessions_(max_sessions) {}

  // Registers a session until the returned number, unique in this process, is destroyed.
  // ResourceExhausted: too many; Unavailable: the server is draining. The registry must outlive the
  // numbers.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<SessionSlot>> Open(
      std::weak_ptr<RegisteredSession> session);

  // Up to `count` sessions with number > `after` on maps for which `wanted` is true, in ascending
  // order of their numbers.
  [[nodiscard]] std::vector<std::pair<uint64_t, v1::SessionInfo>> List(
      uint64_t after, const std::function<bool(const std::string& map)>& wanted,
      size_t count) const;

  // Sessions that are open stay open.
  void set_max_sessions(size_t max_sessions) {
    const absl::MutexLock lock(&mutex_);
    max_sessions_ = max_sessions;
  }

  // The numbers of the open sessions, oldest first.
  [[nodiscard]] std::vector<uint64_t> Numbers() const;
  // Sends a session the notice to leave. False: it has gone.
  bool Notify(uint64_t session, const DrainNotice& notice);

  // Unavailable once the server drains.
  [[nodiscard]] absl::Status Admit() const {
    return lifecycle_.draining() ? DrainingError() : absl::OkStatus();
  }
  [[nodiscard]] size_t open() const {
    const absl::MutexLock lock(&mutex_);
    return sessions_.size();
  }

 private:
  const Metrics& metrics_;
  const ServerLifecycle& lifecycle_;
  mutable absl::Mutex mutex_;
  size_t max_sessions_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::weak_ptr<RegisteredSession>> sessions_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SESSION_SESSION_REGISTRY_H_
