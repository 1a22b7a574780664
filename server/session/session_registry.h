// SPDX-License-Identifier: Apache-2.0
//
// SessionRegistry: counts and lists the sessions that are open, refuses too many, and any when the
// server drains, and notifies them. Thread-safe.

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
#include "server/observe/server_life.h"

namespace voxloc::server {

// A server that took this one's place is up by then, if there is only one.
inline constexpr double kReconnectAfterDrainS = 1.0;

// What new work is refused with while the server drains: Unavailable, with the reason DRAINING.
[[nodiscard]] absl::Status DrainingError();

struct DrainNotice {
  double reconnect_after_s = 0.0;
  double remaining_s = 0.0;
  std::string reason;
};

// What is known of an open session.
struct SessionFacts {
  std::string session;
  std::string vehicle;
  std::string peer;
  std::string map;
  std::string profile;
  bool active = true;
  int64_t opened_unix_ns = 0;
  // Of its answers so far.
  uint64_t answered = 0;
  uint64_t accepted = 0;
  uint64_t unanswered = 0;
  uint64_t map_revision = 0;     // of the last one; 0: none yet
  int64_t answered_unix_ns = 0;  // likewise
  int status = 0;                // of voxloc.v1.AlignmentStatus, likewise
};

// A session as the registry knows it. Called from any thread.
class RegisteredSession {
 public:
  virtual ~RegisteredSession() = default;
  virtual void OnDraining(const DrainNotice& notice) = 0;
  [[nodiscard]] virtual SessionFacts Facts() const = 0;
};

class SessionRegistry;

class SessionPlace {
 public:
  SessionPlace(SessionRegistry& registry, uint64_t number) : registry_(registry), number_(number) {}
  SessionPlace(const SessionPlace&) = delete;
  SessionPlace& operator=(const SessionPlace&) = delete;
  ~SessionPlace();

  // Unique in this process.
  [[nodiscard]] uint64_t number() const { return number_; }

 private:
  SessionRegistry& registry_;
  const uint64_t number_;
};

class SessionRegistry {
 public:
  // Both must outlive it.
  SessionRegistry(size_t max_sessions, const Metrics& metrics, const ServerLife& life)
      : metrics_(metrics), life_(life), max_sessions_(max_sessions) {}

  // The right to have a session, which ends when it is destroyed. ResourceExhausted: too many;
  // Unavailable: the server is draining. The registry must outlive its places.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<SessionPlace>> Open(
      std::weak_ptr<RegisteredSession> session);

  // Up to `count` sessions, of the maps that are wanted, whose numbers are over `after`, oldest
  // first, with their numbers.
  [[nodiscard]] std::vector<std::pair<uint64_t, SessionFacts>> List(
      uint64_t after, const std::function<bool(const std::string& map)>& wanted,
      size_t count) const;

  // Sessions that are open stay open.
  void set_max_sessions(size_t max_sessions);

  // Of the open sessions, oldest first.
  [[nodiscard]] std::vector<uint64_t> Numbers() const;
  // Asks a session to leave. False: it has gone.
  bool Notify(uint64_t session, const DrainNotice& notice);

  // Unavailable once the server drains.
  [[nodiscard]] absl::Status Admit() const;
  [[nodiscard]] size_t open() const;

 private:
  friend class SessionPlace;
  void Close(uint64_t session);

  const Metrics& metrics_;
  const ServerLife& life_;
  mutable absl::Mutex mutex_;
  size_t max_sessions_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::weak_ptr<RegisteredSession>> sessions_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SESSION_SESSION_REGISTRY_H_
