// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/parallel.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace voxloc::sim {

void ParallelFor(size_t count, int threads, const std::function<void(size_t)>& work) {
  const size_t wanted = threads > 0 ? static_cast<size_t>(threads)
                                    : std::max<size_t>(1, std::thread::hardware_concurrency());
  std::atomic<size_t> next{0};
  const auto drain = [&] {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
  };
  std::vector<std::thread> helpers;
  const size_t helper_count = std::min(wanted, std::max<size_t>(1, count)) - 1;
  helpers.reserve(helper_count);
  for (size_t i = 0; i < helper_count; ++i) {
    try {
      helpers.emplace_back(drain);
    } catch (const std::system_error&) {
      break;  // The system gives no more threads: those there are do the work.
    }
  }
  drain();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace voxloc::sim
