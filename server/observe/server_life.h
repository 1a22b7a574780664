// SPDX-License-Identifier: Apache-2.0
//
// ServerLife: the one state of a server, which all its parts read. It goes forward only.
// Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_SERVER_LIFE_H_
#define VOXLOC_SERVER_OBSERVE_SERVER_LIFE_H_

#include <atomic>

namespace voxloc::server {

enum class ServerState {
  kStarting,  // does not listen yet, or loads the maps that its store had at the start
  kServing,
  kDraining,  // takes no new work, until its end
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

 private:
  std::atomic<ServerState> state_{ServerState::kStarting};
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_SERVER_LIFE_H_
