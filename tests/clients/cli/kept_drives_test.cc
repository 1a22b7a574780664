// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/kept_drives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace voxloc::cli {
namespace {

using ::testing::ElementsAre;

v1::CaptureInfo Kept(const std::string& id, const std::string& session, int64_t time_s) {
  v1::CaptureInfo info;
  info.set_id(id);
  info.set_session(session);
  info.set_captured_at_ns(time_s * 1'000'000'000);
  return info;
}

std::vector<std::vector<std::string>> IdsOf(const std::vector<v1::CaptureInfo>& kept) {
  std::vector<std::vector<std::string>> ids;
  for (const std::vector<v1::CaptureInfo>& drive : DrivesOf(kept)) {
    std::vector<std::string>& those = ids.emplace_back();
    for (const v1::CaptureInfo& info : drive) those.push_back(info.id());
  }
  return ids;
}

TEST(KeptDrives, ASessionIsADriveUntilItGaveNoScanForAMinute) {
  EXPECT_THAT(IdsOf({Kept("u1-4", "s-1", 180), Kept("u1-3", "s-1", 120), Kept("u1-2", "s-1", 59),
                     Kept("u1-1", "s-1", 0)}),
              ElementsAre(ElementsAre("u1-1", "u1-2"), ElementsAre("u1-3"), ElementsAre("u1-4")));
}

TEST(KeptDrives, ASessionThatDrivesInCirclesHasADriveForEachTenMinutes) {
  std::vector<v1::CaptureInfo> kept;
  for (int i = 0; i < 100; ++i) kept.push_back(Kept("u1-" + std::to_string(i), "s-1", 30 * i));
  const auto drives = DrivesOf(kept);
  ASSERT_EQ(drives.size(), 5U);
  for (const auto& drive : drives) EXPECT_EQ(drive.size(), 20U);
}

TEST(KeptDrives, SessionsOfTwoVehiclesAreTwoDrives) {
  EXPECT_THAT(IdsOf({Kept("u1-4", "s-2", 31), Kept("u1-3", "s-1", 30), Kept("u1-2", "s-2", 2),
                     Kept("u1-1", "s-1", 1)}),
              ElementsAre(ElementsAre("u1-1", "u1-3"), ElementsAre("u1-2", "u1-4")));
}

TEST(KeptDrives, SessionsAreNamedAnewWhenAServerIsStarted) {
  EXPECT_THAT(IdsOf({Kept("u2-1", "s-1", 40), Kept("u1-1", "s-1", 1)}),
              ElementsAre(ElementsAre("u1-1"), ElementsAre("u2-1")));
}

}  // namespace
}  // namespace voxloc::cli
