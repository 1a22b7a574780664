// SPDX-License-Identifier: Apache-2.0
//
// ServerLife: the one state of a server, which all its parts read. It goes forward, unless a drain
// is taken back. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_SERVER_LIFE_H_
#define VOXLOC_SERVER_OBSERVE_SERVER_LIFE_H_

#include <atomic>

namespace voxloc::server {

enum class ServerState {
  kStarting,  // does not listen yet, or loads the maps that its store had at the start
  kServing,
  kDraining,  // takes no new work, until its end or until that is taken back
};

class ServerLife {
 public:
  [[nodiscard]] ServerState state() const { return state_.load(); }
  [[nodiscard]] bool draining() const { return state() == ServerState::kDraining; }

  // Goes on to a later state. False: the server is there, or further, already.
  bool Advance(ServerState to) {
    ServerState now = state_.load();
    while (now < to) {
      if (state_.compare_exchange_weak(now, to)) return true;
    }
    return false;
  }

  // Takes a drain back. The server is ready again where it was before: who asks for its readiness
  // takes it from there to kServing.
  void Resume() { state_.store(ServerState::kStarting); }

 private:
  std::atomic<ServerState> state_{ServerState::kStarting};
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_SERVER_LIFE_H_
