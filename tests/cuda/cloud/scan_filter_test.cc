// SPDX-License-Identifier: Apache-2.0
//
// The device's scan filter against the CPU's: the same bits, the same counts, the same errors.

#include "cuda/cloud/scan_filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/cloud/filters.h"
#include "tests/core/cloud/io/cloud_bytes.h"
#include "tests/support/cuda_device.h"

namespace voxloc::cuda {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr size_t kMebibyte = size_t{1} << 20;

class ScanFilterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    VOXLOC_REQUIRE_CUDA_DEVICE();
    Open({});
  }

  void Open(const DeviceOptions& options) {
    filter_.reset();
    auto device = Device::Open(options);
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *device;
    auto filter = ScanFilter::Create(device_);
    ASSERT_TRUE(filter.ok()) << filter.status();
    filter_ = *std::move(filter);
  }

  void ExpectAsOnCpu(const PointCloud& cloud, const FilterOptions& options) {
    const auto expected = FilterCloud(cloud, options);
    const auto filtered = filter_->Filter(cloud, options, Priority::kHigh);
    ASSERT_EQ(filtered.status(), expected.status());
    if (!expected.ok()) return;
    EXPECT_EQ(filtered->counts.received, expected->counts.received);
    EXPECT_EQ(filtered->counts.not_finite, expected->counts.not_finite);
    EXPECT_EQ(filtered->counts.out_of_limits, expected->counts.out_of_limits);
    EXPECT_EQ(filtered->counts.thinned, expected->counts.thinned);
    EXPECT_EQ(filtered->counts.kept, expected->counts.kept);
    EXPECT_TRUE(SameBits(filtered->cloud, expected->cloud));
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<ScanFilter> filter_;
};

FilterOptions Leaf(double leaf_m) {
  FilterOptions options;
  options.voxel_leaf_m = leaf_m;
  return options;
}

// Every point is on a border of something: whole metres, each many times.
PointCloud WholeMetres() {
  PointCloud cloud;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (int x = -8; x <= 8; ++x) {
      for (int y = -8; y <= 8; ++y) {
        for (int z = -3; z <= 3; ++z) {
          cloud.PushBack(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z));
        }
      }
    }
  }
  return cloud;
}

TEST_F(ScanFilterTest, LimitsKeepTheSamePointsInTheSameOrder) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    PointCloud cloud = RandomCloud(3000 + 251 * seed, seed, seed % 2 == 0);
    if (seed % 4 == 1) cloud.origin = {4e5, 4e6, 100.0};
    for (size_t i = seed % 7; i < cloud.size(); i += 31) cloud.y[i] = kNan;
    for (size_t i = seed % 5; i < cloud.size(); i += 97) cloud.z[i] = -kInf;
    FilterOptions options;
    options.min_range_m = static_cast<double>(seed % 5) * 10.0;
    options.max_range_m = seed % 4 == 1 ? 4.1e6 : 90.0;
    options.min_height_m = seed % 3 == 0 ? -6.0 : -HUGE_VAL;
    options.max_height_m = 107.0;
    if (seed % 3 != 1) {
      options.box = FilterOptions::Box{cloud.origin + Eigen::Vector3d(-60.0, -70.0, -8.0),
                                       cloud.origin + Eigen::Vector3d(80.0, 40.0, 5.0)};
    }
    ExpectAsOnCpu(cloud, options);
  }
}

TEST_F(ScanFilterTest, PointsOnABorderFallOnTheSameSide) {
  PointCloud cloud = WholeMetres();
  for (const Eigen::Vector3d& origin :
       {Eigen::Vector3d(0.0, 0.0, 0.0), Eigen::Vector3d(1e-9, -1e-9, 0.1),
        Eigen::Vector3d(4e5, 4e6, 100.0)}) {
    cloud.origin = origin;
    for (const double leaf_m : {0.0, 1.0, 0.1, 1.0 / 3.0, 2.0}) {
      FilterOptions options = Leaf(leaf_m);
      // The borders are distances and coordinates of points, rounded as the filter rounds them.
      options.min_range_m = cloud.Point(cloud.size() / 2 + 5).norm();
      options.max_range_m = cloud.Point(cloud.size() / 3).norm();
      if (options.min_range_m > options.max_range_m) {
        std::swap(options.min_range_m, options.max_range_m);
      }
      ExpectAsOnCpu(cloud, options);
      options = Leaf(leaf_m);
      options.min_height_m = origin.z() - 2.0;
      options.max_height_m = origin.z() + 2.0;
      options.box = FilterOptions::Box{origin - Eigen::Vector3d(5.0, 4.0, 3.0),
                                       origin + Eigen::Vector3d(4.0, 5.0, 1.0)};
      ExpectAsOnCpu(cloud, options);
    }
  }
}

TEST_F(ScanFilterTest, RangesAreSquaredAndAddedInTheSameOrder) {
  PointCloud cloud = RandomCloud(200'000, 5, false);
  for (size_t i = 0; i < 200; ++i) {
    // The point itself is on the border, to the last bit, or just beyond it.
    const double squared = cloud.Point(i * 997).squaredNorm();
    for (const double range : {std::sqrt(squared), std::nextafter(std::sqrt(squared), 0.0)}) {
      FilterOptions options;
      options.max_range_m = range;
      const auto expected = FilterCloud(cloud, options);
      const auto filtered = filter_->Filter(cloud, options, Priority::kHigh);
      ASSERT_TRUE(filtered.ok()) << filtered.status();
      ASSERT_EQ(filtered->counts.kept, expected->counts.kept) << range;
    }
  }
}

TEST_F(ScanFilterTest, VoxelCentroidsAreTheSameBitsInTheSameOrder) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    PointCloud cloud = RandomCloud(20'000, 100 + seed, seed % 2 == 1);
    if (seed % 3 == 1) cloud.origin = {4e5, 4e6, 100.0};
    if (seed % 3 == 2) cloud.origin = {-0.05, 0.05, -1e-7};
    for (size_t i = 3; i < cloud.size(); i += 211) cloud.x[i] = kNan;
    for (const double leaf_m : {0.05, 0.3, 1.0, 7.0, 60.0, 1000.0}) {
      SCOPED_TRACE(leaf_m);
      ExpectAsOnCpu(cloud, Leaf(leaf_m));
    }
  }
}

TEST_F(ScanFilterTest, AllStepsTogetherAndTheRandomChoice) {
  PointCloud cloud = RandomCloud(50'000, 9, true);
  cloud.x[17] = kNan;
  FilterOptions options = Leaf(2.0);
  options.max_range_m = 90.0;
  options.max_points = 100;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    options.random_seed = seed;
    ExpectAsOnCpu(cloud, options);
  }
  options.voxel_leaf_m = 0.0;
  ExpectAsOnCpu(cloud, options);
  options.max_points = cloud.size();
  ExpectAsOnCpu(cloud, options);
}

TEST_F(ScanFilterTest, AVoxelOfOnePointAndOneOfAMillion) {
  PointCloud cloud = RandomCloud(1'000'000, 21, true);
  for (float& x : cloud.x) x = std::abs(x) + 0.5F;
  for (float& y : cloud.y) y = std::abs(y) + 0.5F;
  for (float& z : cloud.z) z = std::abs(z) + 0.5F;
  cloud.PushBack(-1.0F, 1.0F, 1.0F);
  cloud.intensity.push_back(1.0F);
  ExpectAsOnCpu(cloud, Leaf(5000.0));
}

TEST_F(ScanFilterTest, AnIntensityThatIsNotANumberSpoilsItsVoxelOnly) {
  PointCloud cloud = WholeMetres();
  cloud.intensity.assign(cloud.size(), 2.0F);
  cloud.intensity[0] = kNan;
  const auto filtered = filter_->Filter(cloud, Leaf(1.0), Priority::kHigh);
  ASSERT_TRUE(filtered.ok()) << filtered.status();
  EXPECT_TRUE(std::isnan(filtered->cloud.intensity[0]));
  for (size_t i = 1; i < filtered->cloud.size(); ++i) {
    EXPECT_EQ(filtered->cloud.intensity[i], 2.0F);
  }
}

TEST_F(ScanFilterTest, CloudsOfNoPointOnePointAndNoneThatStays) {
  for (const double leaf_m : {0.0, 0.5}) {
    FilterOptions options = Leaf(leaf_m);
    ExpectAsOnCpu({}, options);
    PointCloud cloud;
    cloud.origin = {1.0, 2.0, 3.0};
    cloud.PushBack(1.0F, 2.0F, 3.0F);
    ExpectAsOnCpu(cloud, options);
    cloud.intensity = {7.0F};
    ExpectAsOnCpu(cloud, options);
    cloud.x[0] = kInf;
    ExpectAsOnCpu(cloud, options);
    PointCloud far = RandomCloud(1000, 4, true);
    options.min_range_m = 1000.0;
    ExpectAsOnCpu(far, options);
    far.z.assign(far.size(), kNan);
    ExpectAsOnCpu(far, options);
  }
}

TEST_F(ScanFilterTest, WhatTheCpuRefusesIsRefusedInTheSameWords) {
  const PointCloud cloud = RandomCloud(1000, 2, false);
  FilterOptions options;
  options.min_range_m = 5.0;
  options.max_range_m = 4.0;
  ExpectAsOnCpu(cloud, options);
  options = {};
  options.max_height_m = static_cast<double>(kNan);
  ExpectAsOnCpu(cloud, options);
  ExpectAsOnCpu(cloud, Leaf(-1.0));
  ExpectAsOnCpu(cloud, Leaf(static_cast<double>(kNan)));
  ExpectAsOnCpu(cloud, Leaf(1e-5));
  PointCloud far = cloud;
  far.origin.x() = 1e18;
  ExpectAsOnCpu(far, Leaf(1.0));
  for (const double origin : {static_cast<double>(kNan), static_cast<double>(kInf)}) {
    far.origin.x() = origin;
    const auto filtered = filter_->Filter(far, Leaf(1.0), Priority::kHigh);
    EXPECT_EQ(filtered.status().code(), FilterCloud(far, Leaf(1.0)).status().code());
    EXPECT_FALSE(filtered.ok());
  }
  // And it goes on working.
  ExpectAsOnCpu(cloud, Leaf(1.0));
}

TEST_F(ScanFilterTest, TenMillionPoints) {
  const PointCloud cloud = RandomCloud(10'000'000, 77, true);
  ExpectAsOnCpu(cloud, Leaf(0.5));
  FilterOptions options;
  options.max_range_m = 80.0;
  ExpectAsOnCpu(cloud, options);
  // A cloud of that size leaves nothing behind.
  EXPECT_LT(device_->memory_in_use(), kMebibyte);
}

TEST_F(ScanFilterTest, WithoutMemoryItSaysSoAndGoesOn) {
  DeviceOptions options;
  options.memory_limit_bytes = 64 * kMebibyte;
  Open(options);
  const PointCloud small = RandomCloud(10'000, 3, true);
  const PointCloud large = RandomCloud(10'000'000, 4, true);
  // Room for the points themselves, and not for the work on them.
  const PointCloud medium = RandomCloud(2'500'000, 5, true);
  for (int round = 0; round < 3; ++round) {
    for (const PointCloud* cloud : {&large, &medium}) {
      const auto filtered = filter_->Filter(*cloud, Leaf(0.5), Priority::kHigh);
      EXPECT_EQ(filtered.status().code(), absl::StatusCode::kResourceExhausted)
          << filtered.status();
    }
    ExpectAsOnCpu(small, Leaf(0.5));
  }
  EXPECT_TRUE(device_->healthy());
}

TEST_F(ScanFilterTest, CallsFromManyThreadsDoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([this, thread] {
      for (uint64_t round = 0; round < 15; ++round) {
        ExpectAsOnCpu(RandomCloud(500 + 3000 * ((thread + round) % 5), thread, round % 2 == 0),
                      Leaf(round % 3 == 0 ? 0.0 : 1.5));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ScanFilterTest, MemoryStaysTheSameOverManyScans) {
  const PointCloud cloud = RandomCloud(30'000, 6, true);
  size_t after_first = 0;
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(filter_->Filter(cloud, Leaf(1.0), Priority::kHigh).ok());
    if (round == 4) after_first = device_->memory_in_use();
  }
  EXPECT_EQ(device_->memory_in_use(), after_first);
  filter_.reset();
  EXPECT_EQ(device_->memory_in_use(), 0u);
}

}  // namespace
}  // namespace voxloc::cuda
