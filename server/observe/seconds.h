// SPDX-License-Identifier: Apache-2.0
//
// Durations of the steady clock and the seconds of metrics, logs, messages and settings. Pure
// functions.

#ifndef VOXLOC_SERVER_OBSERVE_SECONDS_H_
#define VOXLOC_SERVER_OBSERVE_SECONDS_H_

#include <chrono>

namespace voxloc::server {

inline double ToSeconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Rounded towards zero.
inline std::chrono::steady_clock::duration ToDuration(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_SECONDS_H_
