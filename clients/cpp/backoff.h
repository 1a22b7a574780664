// SPDX-License-Identifier: Apache-2.0
//
// How long to wait before trying again: exponentially longer, with a random part so that a fleet
// does not come back all at once. A plain value for one thread.

#ifndef VOXLOC_CLIENTS_CPP_BACKOFF_H_
#define VOXLOC_CLIENTS_CPP_BACKOFF_H_

#include <cstdint>
#include <random>

namespace voxloc::client {

struct ReconnectOptions {
  // Attempts in a row before giving up. 0: never reconnect.
  int max_attempts = 10;
  double initial_wait_s = 0.1;
  double max_wait_s = 5.0;
  double factor = 1.6;
  // Each wait is drawn from [1 - jitter, 1 + jitter] times its nominal length.
  double jitter = 0.2;
};

class Backoff {
 public:
  explicit Backoff(const ReconnectOptions& options, uint64_t seed = std::random_device{}());

  // Whether another attempt is allowed.
  [[nodiscard]] bool MayTry() const { return attempts_ < options_.max_attempts; }

  // Counts an attempt; seconds to wait before it. At least as long as a server asked for, and up to
  // twice the jitter longer, since it may have asked many clients for the same.
  [[nodiscard]] double NextWait(double asked_s = 0.0);

  // After a success: the next failure starts from the beginning.
  void Reset();

  [[nodiscard]] int attempts() const { return attempts_; }

 private:
  ReconnectOptions options_;
  std::mt19937_64 random_;
  int attempts_ = 0;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_BACKOFF_H_
