// SPDX-License-Identifier: Apache-2.0
//
// Exponential backoff with jitter, so that a fleet does not reconnect all at once. Not thread-safe.

#ifndef VOXLOC_CLIENTS_CPP_BACKOFF_H_
#define VOXLOC_CLIENTS_CPP_BACKOFF_H_

#include <algorithm>
#include <cmath>
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
  explicit Backoff(const ReconnectOptions& options, uint64_t seed = std::random_device{}())
      : options_(options), random_(seed) {}

  // Whether another attempt is allowed.
  [[nodiscard]] bool CanRetry() const { return attempts_ < options_.max_attempts; }

  // Counts an attempt and returns the seconds to wait before it. `min_wait_s` is a lower bound,
  // given by the server: up to 2 * jitter * min_wait_s is added, because other clients got the same
  // value.
  [[nodiscard]] double NextWait(double min_wait_s = 0.0) {
    const double nominal = std::min(options_.max_wait_s,
                                    options_.initial_wait_s * std::pow(options_.factor, attempts_));
    ++attempts_;
    std::uniform_real_distribution<double> spread(1.0 - options_.jitter, 1.0 + options_.jitter);
    const double own_s = nominal * spread(random_);
    return std::max(own_s, min_wait_s * (options_.jitter + spread(random_)));
  }

  // Call after a success: the next failure starts at initial_wait_s again.
  void Reset() { attempts_ = 0; }

  [[nodiscard]] int attempts() const { return attempts_; }

 private:
  ReconnectOptions options_;
  std::mt19937_64 random_;
  int attempts_ = 0;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_BACKOFF_H_
