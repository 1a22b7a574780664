// SPDX-License-Identifier: Apache-2.0
//
// ServerLifecycle: the state of a server, read by all its parts. It only advances, unless a drain
// is cancelled. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_SERVER_LIFECYCLE_H_
#define VOXLOC_SERVER_OBSERVE_SERVER_LIFECYCLE_H_

#include <atomic>

namespace voxloc::server {

enum class ServerState {
  kStarting,  // does not listen yet, or loads the maps that its store had at the start
  kServing,
  kDraining,  // takes no new work, until the server ends or the drain is cancelled
};

class ServerLifecycle {
 public:
  [[nodiscard]] ServerState state() const { return state_.load(); }
  [[nodiscard]] bool draining() const { return state() == ServerState::kDraining; }

  // Advances to a later state. False: the server is in it, or in a later one, already.
  bool Advance(ServerState to) {
    ServerState now = state_.load();
    while (now < to) {
      if (state_.compare_exchange_weak(now, to)) return true;
    }
    return false;
  }

  // Cancels a drain. The next check of the readiness advances the state to kServing.
  void Resume() { state_.store(ServerState::kStarting); }

 private:
  std::atomic<ServerState> state_{ServerState::kStarting};
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_SERVER_LIFECYCLE_H_
