// SPDX-License-Identifier: Apache-2.0

#include "server/session/session_registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace voxloc::server {
namespace {

TEST(SessionRegistryTest, CountsRefusesAndDrains) {
  class Listener : public DrainListener {
   public:
    void OnDraining(const DrainNotice& notice) override { heard = notice.reason; }
    std::string heard;
  };
  const Metrics metrics("test");
  SessionRegistry registry(1, metrics);
  const auto listener = std::make_shared<Listener>();
  auto first = registry.Open(listener);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(registry.Open(listener).status().code(), absl::StatusCode::kResourceExhausted);
  first->reset();
  auto second = registry.Open(listener);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(registry.open(), 1);
  registry.Drain({1.0, 2.0, "bye"});
  EXPECT_EQ(listener->heard, "bye");
  EXPECT_EQ(registry.Open(listener).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(registry.Admit().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace voxloc::server
