// SPDX-License-Identifier: Apache-2.0

#include "server/session/session_registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace voxloc::server {
namespace {

class RecordingSession : public RegisteredSession {
 public:
  explicit RecordingSession(std::string map = "town") : map_(std::move(map)) {}
  void OnDraining(const DrainNotice& notice) override { heard = notice.reason; }
  v1::SessionInfo Info() const override {
    v1::SessionInfo info;
    info.set_map(map_);
    return info;
  }
  std::string heard;

 private:
  const std::string map_;
};

TEST(SessionRegistryTest, CountsRefusesAndDrains) {
  const Metrics metrics;
  ServerLifecycle lifecycle;
  SessionRegistry registry(1, metrics, lifecycle);
  const auto listener = std::make_shared<RecordingSession>();
  auto first = registry.Open(listener);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(registry.Open(listener).status().code(), absl::StatusCode::kResourceExhausted);
  first->reset();
  auto second = registry.Open(listener);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(registry.open(), 1);
  EXPECT_EQ(registry.Numbers(), std::vector<uint64_t>{2});
  EXPECT_TRUE(registry.Notify(2, {1.0, 2.0, "bye"}));
  EXPECT_EQ(listener->heard, "bye");
  EXPECT_FALSE(registry.Notify(1, {1.0, 2.0, "gone"}));
  EXPECT_EQ(listener->heard, "bye");
  EXPECT_TRUE(registry.Admit().ok());
  EXPECT_TRUE(lifecycle.Advance(ServerState::kDraining));
  EXPECT_EQ(registry.Open(listener).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(registry.Admit().code(), absl::StatusCode::kUnavailable);
}

TEST(SessionRegistryTest, ListsOpenSessionsInTheOrderOfTheirNumbers) {
  const Metrics metrics;
  const ServerLifecycle lifecycle;
  SessionRegistry registry(8, metrics, lifecycle);
  std::vector<std::shared_ptr<RecordingSession>> listeners;
  std::vector<std::shared_ptr<SessionSlot>> places;
  for (const char* map : {"town", "yard", "town", "town"}) {
    listeners.push_back(std::make_shared<RecordingSession>(map));
    auto place = registry.Open(listeners.back());
    ASSERT_TRUE(place.ok());
    places.push_back(*std::move(place));
  }
  const auto numbers = [&registry](uint64_t after, const std::string& map, size_t count) {
    std::vector<uint64_t> listed;
    const auto wanted = [&map](const std::string& one) { return map.empty() || one == map; };
    for (const auto& [number, facts] : registry.List(after, wanted, count)) {
      listed.push_back(number);
    }
    return listed;
  };
  EXPECT_EQ(numbers(0, "", 10), (std::vector<uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(numbers(0, "town", 10), (std::vector<uint64_t>{1, 3, 4}));
  EXPECT_EQ(numbers(1, "town", 1), (std::vector<uint64_t>{3}));
  places[2].reset();
  EXPECT_EQ(numbers(1, "", 10), (std::vector<uint64_t>{2, 4}));
}

}  // namespace
}  // namespace voxloc::server
