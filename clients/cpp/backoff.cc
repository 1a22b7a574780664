// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/backoff.h"

#include <algorithm>
#include <cmath>

namespace voxloc::client {

Backoff::Backoff(const ReconnectOptions& options, uint64_t seed)
    : options_(options), random_(seed) {}

double Backoff::NextWait(double min_wait_s) {
  const double nominal =
      std::min(options_.max_wait_s, options_.initial_wait_s * std::pow(options_.factor, attempts_));
  ++attempts_;
  std::uniform_real_distribution<double> spread(1.0 - options_.jitter, 1.0 + options_.jitter);
  const double own_s = nominal * spread(random_);
  return std::max(own_s, min_wait_s * (options_.jitter + spread(random_)));
}

void Backoff::Reset() { attempts_ = 0; }

}  // namespace voxloc::client
