// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "server/config/settings.h"

namespace voxloc::server {
namespace {

// A configuration whose values belong together.
EffectiveConfig Generation(uint32_t number) {
  EffectiveConfig config;
  config.config.limits.max_sessions = number;
  config.config.limits.max_points_per_scan = number;
  config.origins["limits.max_sessions"] = {ConfigOrigin::kFlag, std::to_string(number)};
  return config;
}

TEST(LiveConfigTest, ReadersSeeOneConfigurationWhileItIsReplaced) {
  constexpr uint32_t kGenerations = 2000;
  LiveConfig live(Generation(1));
  const std::shared_ptr<const Limits> held = live.limits();
  std::atomic<int> ready{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&live, &ready] {
      ++ready;
      uint32_t last = 0;
      while (last < kGenerations) {
        const std::shared_ptr<const EffectiveConfig> now = live.Snapshot();
        const Limits& limits = now->config.limits;
        ASSERT_EQ(limits.max_sessions, limits.max_points_per_scan);
        ASSERT_EQ(now->origins.at("limits.max_sessions").place,
                  std::to_string(limits.max_sessions));
        ASSERT_GE(limits.max_sessions, last);
        last = limits.max_sessions;
      }
    });
  }
  while (ready < 3) std::this_thread::yield();
  for (uint32_t number = 2; number <= kGenerations; ++number) live.Set(Generation(number));
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(held->max_sessions, 1U);
  EXPECT_EQ(live.Get()->limits.max_sessions, kGenerations);
}

}  // namespace
}  // namespace voxloc::server
