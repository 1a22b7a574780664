// SPDX-License-Identifier: Apache-2.0
//
// SessionRegistry: counts the sessions that are open, refuses too many, and tells all of them when
// the server drains. Thread-safe.

#ifndef VOXLOC_SERVER_SESSION_REGISTRY_H_
#define VOXLOC_SERVER_SESSION_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/metrics/metrics.h"

namespace voxloc::server {

struct DrainNotice {
  double reconnect_after_s = 0.0;
  double remaining_s = 0.0;
  std::string reason;
};

class DrainListener {
 public:
  virtual ~DrainListener() = default;
  virtual void OnDraining(const DrainNotice& notice) = 0;
};

class SessionRegistry {
 public:
  SessionRegistry(size_t max_sessions, const Metrics& metrics)
      : max_sessions_(max_sessions), metrics_(metrics) {}

  // The session's number, unique in this process. ResourceExhausted: too many; Unavailable: the
  // server is draining.
  [[nodiscard]] absl::StatusOr<uint64_t> Open(std::weak_ptr<DrainListener> listener);
  void Close(uint64_t session);

  // From now on all new work is refused. Tells the open sessions.
  void Drain(const DrainNotice& notice);

  // Unavailable once the server drains.
  [[nodiscard]] absl::Status Admit() const;
  [[nodiscard]] bool draining() const;
  [[nodiscard]] size_t open() const;

 private:
  const size_t max_sessions_;
  const Metrics& metrics_;
  mutable absl::Mutex mutex_;
  std::map<uint64_t, std::weak_ptr<DrainListener>> sessions_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SESSION_REGISTRY_H_
