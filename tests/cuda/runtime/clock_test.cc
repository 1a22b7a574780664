// SPDX-License-Identifier: Apache-2.0

#include "absl/time/clock.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "cuda/runtime/device_clock.h"
#include "tests/support/cuda_device.h"

namespace voxloc::cuda {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1000 * kMs;
constexpr int64_t kAhead = 77 * kSecond;  // of the device's clock, at the host's zero

// The device's clock runs faster by so many parts per million.
int64_t DeviceNs(int64_t host_ns, int64_t per_million) {
  return kAhead + host_ns + host_ns / 1'000'000 * per_million;
}

// Read somewhere between the host's two looks: after `share` tenths of that time.
ClockReading Reading(int64_t host_ns, int64_t took_ns, int64_t share, int64_t per_million) {
  return {host_ns, DeviceNs(host_ns + took_ns * share / 10, per_million), host_ns + took_ns};
}

TEST(ClockOffsetTest, NothingIsKnownAtFirst) { EXPECT_EQ(ClockOffset().ErrorNs(0), std::nullopt); }

TEST(ClockOffsetTest, ATimeIsKnownToTheErrorItStates) {
  for (const int64_t per_million : {-90, 0, 90}) {
    ClockOffset offset;
    for (int64_t second = 0; second < 100; ++second) {
      // Every third reading met a busy device.
      const int64_t took_ns = second % 3 == 0 ? 30 * kMs : 20'000;
      offset.Update(Reading(second * kSecond, took_ns, second % 11, per_million));
      for (const int64_t later_ns : {took_ns, 500 * kMs, kSecond, 10 * kSecond}) {
        const int64_t host_ns = second * kSecond + later_ns;
        const int64_t error_ns = offset.DeviceTime(host_ns) - DeviceNs(host_ns, per_million);
        EXPECT_LE(std::abs(error_ns), offset.ErrorNs(host_ns).value()) << second;
      }
    }
  }
}

TEST(ClockOffsetTest, AReadingOfABusyDeviceDoesNotReplaceABetterOne) {
  ClockOffset offset;
  offset.Update(Reading(0, 20'000, 5, 0));
  offset.Update(Reading(kSecond, 30 * kMs, 0, 0));
  EXPECT_LE(offset.ErrorNs(kSecond).value(), kMs / 5);
  EXPECT_NEAR(static_cast<double>(offset.DeviceTime(2 * kSecond) - kAhead - 2 * kSecond), 0.0,
              20'000.0);
  // In time any reading is better than an old one: half of its 30 ms, and what the clocks drift.
  offset.Update(Reading(1000 * kSecond, 30 * kMs, 5, 0));
  EXPECT_LE(offset.ErrorNs(1000 * kSecond).value(), 15 * kMs + 10'000);
}

TEST(DeviceMomentTest, IsTheBeginningOfBothClocks) {
  const absl::Time host = absl::FromUnixSeconds(1'000'000'000);
  const DeviceMoment moment = {host, 5 * kSecond};
  EXPECT_EQ(moment.At(host), static_cast<uint64_t>(5 * kSecond));
  EXPECT_EQ(moment.At(host + absl::Milliseconds(3)), static_cast<uint64_t>(5 * kSecond + 3 * kMs));
  EXPECT_EQ(moment.At(host - absl::Seconds(4)), static_cast<uint64_t>(kSecond));
  // 0 would say that there is no deadline.
  EXPECT_EQ(moment.At(host - absl::Seconds(5)), 1u);
  EXPECT_EQ(moment.At(absl::InfinitePast()), 1u);
  EXPECT_EQ(moment.At(absl::InfiniteFuture()), moment.At(host + absl::Hours(24)));
  EXPECT_EQ(moment.At(host + absl::Hours(24)) - moment.At(host), uint64_t{86'400} * kSecond);
}

TEST(DeviceClockTest, GoesOnAsTheHostsDoes) {
  VOXLOC_REQUIRE_CUDA_DEVICE();
  auto device = Device::Open({});
  ASSERT_TRUE(device.ok()) << device.status();
  auto clock = DeviceClock::Create(*device);
  ASSERT_TRUE(clock.ok()) << clock.status();
  const DeviceMoment first = (*clock)->Now();
  // Over several readings.
  for (int i = 0; i < 5; ++i) {
    absl::SleepFor(absl::Milliseconds(600));
    const DeviceMoment later = (*clock)->Now();
    const auto host_ns = static_cast<double>(absl::ToInt64Nanoseconds(later.host - first.host));
    EXPECT_NEAR(static_cast<double>(later.device_ns - first.device_ns), host_ns, 2e6) << i;
  }
}

}  // namespace
}  // namespace voxloc::cuda
