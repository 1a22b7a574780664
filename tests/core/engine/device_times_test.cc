// SPDX-License-Identifier: Apache-2.0
//
// Where a device spent its time on a launch: told for the jobs that want it, by engines with a
// device of their own, and without changing a bit of the results.

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "tests/support/engine_test.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

class DeviceTimesTest : public EngineTest {
 protected:
  // Of every second job they are wanted.
  static std::vector<AlignJob> Jobs(size_t count) {
    std::vector<AlignJob> jobs(count, SceneJob(PreciseProfile()));
    for (size_t i = 0; i < count; i += 2) jobs[i].with_device_times = true;
    return jobs;
  }
  [[nodiscard]] static bool HasDevice() { return engine().Info().name != "cpu"; }
};
VOXLOC_INSTANTIATE_ON_ENGINES(DeviceTimesTest);

TEST_P(DeviceTimesTest, AreToldForTheJobsThatWantThemAndCountEachLaunchOnce) {
  // Alone, in one launch, and in so many jobs that they take several.
  for (const size_t count : {size_t{1}, size_t{8}, size_t{3000}}) {
    SCOPED_TRACE(count);
    const std::vector<AlignJob> jobs = Jobs(count);
    const std::vector<AlignResult> results = engine().Align(jobs);
    size_t first_of_launch = 0;
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(results[i].status.ok()) << results[i].status;
      const auto& times = results[i].device_times;
      ASSERT_EQ(times.has_value(), HasDevice() && jobs[i].with_device_times) << i;
      if (!times.has_value()) continue;
      first_of_launch += times->first_of_launch ? 1 : 0;
      EXPECT_GT(times->kernel_s, 0.0);
      EXPECT_GE(times->upload_s, 0.0);
      EXPECT_GE(times->download_s, 0.0);
    }
    if (!HasDevice()) {
      EXPECT_EQ(first_of_launch, 0u);
    } else if (count <= 8) {
      EXPECT_EQ(first_of_launch, 1u);
    } else {
      EXPECT_GT(first_of_launch, 1u);
      EXPECT_LT(first_of_launch, count / 2);
    }
  }
}

// Those of one launch are the same; a launch in which nobody wants them tells nobody.
TEST_P(DeviceTimesTest, AreThoseOfTheWholeLaunch) {
  std::vector<AlignJob> jobs = Jobs(8);
  const std::vector<AlignResult> results = engine().Align(jobs);
  if (HasDevice()) {
    ASSERT_TRUE(results[0].device_times.has_value());
    for (size_t i = 2; i < jobs.size(); i += 2) {
      ASSERT_TRUE(results[i].device_times.has_value());
      EXPECT_EQ(results[i].device_times->kernel_s, results[0].device_times->kernel_s);
      EXPECT_FALSE(results[i].device_times->first_of_launch);
    }
  }
  for (AlignJob& job : jobs) job.with_device_times = false;
  for (const AlignResult& result : engine().Align(jobs)) {
    EXPECT_FALSE(result.device_times.has_value());
  }
}

TEST_P(DeviceTimesTest, DoNotChangeABit) {
  std::vector<AlignJob> jobs = Jobs(6);
  const std::vector<AlignResult> timed = engine().Align(jobs);
  for (AlignJob& job : jobs) job.with_device_times = false;
  const std::vector<AlignResult> plain = engine().Align(jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_TRUE(Bits(timed[i]) == Bits(plain[i])) << i;
  }
}

TEST_P(DeviceTimesTest, AJobThatCannotRunHasNone) {
  std::vector<AlignJob> jobs = Jobs(3);
  jobs[0].scan = std::make_shared<const PointCloud>();
  const std::vector<AlignResult> results = engine().Align(jobs);
  EXPECT_FALSE(results[0].status.ok());
  EXPECT_FALSE(results[0].device_times.has_value());
  EXPECT_EQ(results[2].device_times.has_value(), HasDevice());
  if (HasDevice()) {
    EXPECT_TRUE(results[2].device_times->first_of_launch);
  }
}

}  // namespace
}  // namespace voxloc
