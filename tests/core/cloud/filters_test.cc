// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/filters.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/cloud/io/cloud_bytes.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

PointCloud OnTheXAxis(const std::vector<float>& xs) {
  PointCloud cloud;
  for (const float x : xs) cloud.PushBack(x, 0.0F, 0.0F);
  return cloud;
}

TEST(FilterCloudTest, WithoutOptionsOnlyFinitePointsStayInOrder) {
  PointCloud cloud = OnTheXAxis({3.0F, static_cast<float>(kNan), 1.0F, static_cast<float>(kInf)});
  cloud.intensity = {30.0F, 40.0F, 10.0F, 50.0F};
  cloud.PushBack(5.0F, static_cast<float>(-kInf), 0.0F);
  cloud.intensity.push_back(60.0F);
  const auto filtered = FilterCloud(cloud, {});
  ASSERT_TRUE(filtered.ok()) << filtered.status();
  EXPECT_THAT(filtered->cloud.x, ElementsAre(3.0F, 1.0F));
  EXPECT_THAT(filtered->cloud.intensity, ElementsAre(30.0F, 10.0F));
  EXPECT_EQ(filtered->counts.received, 5u);
  EXPECT_EQ(filtered->counts.not_finite, 3u);
  EXPECT_EQ(filtered->counts.kept, 2u);
}

TEST(FilterCloudTest, RangeIncludesItsLimitsAndDropsMissingReturns) {
  FilterOptions options;
  options.min_range_m = 1.0;
  options.max_range_m = 4.0;
  const auto filtered = FilterCloud(OnTheXAxis({0.0F, 0.5F, 1.0F, -2.0F, 4.0F, 4.5F}), options);
  ASSERT_TRUE(filtered.ok()) << filtered.status();
  EXPECT_THAT(filtered->cloud.x, ElementsAre(1.0F, -2.0F, 4.0F));
  EXPECT_EQ(filtered->counts.out_of_limits, 3u);
}

TEST(FilterCloudTest, LimitsAreInTheCloudsFrameWhateverItsOrigin) {
  PointCloud cloud = OnTheXAxis({-3.0F, 0.0F, 2.0F});
  cloud.origin = {5.0, 0.0, 1.0};
  FilterOptions options;
  options.max_range_m = 5.5;
  const auto near = FilterCloud(cloud, options);
  ASSERT_TRUE(near.ok()) << near.status();
  EXPECT_THAT(near->cloud.x, ElementsAre(-3.0F, 0.0F));
  EXPECT_EQ(near->cloud.origin, cloud.origin);
  options = {};
  options.min_height_m = 1.5;
  EXPECT_EQ(FilterCloud(cloud, options)->cloud.size(), 0u);
  options.min_height_m = 1.0;
  EXPECT_EQ(FilterCloud(cloud, options)->cloud.size(), 3u);
}

// Every limit against a point-by-point reference, with many seeds.
TEST(FilterCloudTest, LimitsMatchANaiveReference) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    PointCloud cloud = RandomCloud(400, seed, seed % 2 == 0);
    for (size_t i = seed % 7; i < cloud.size(); i += 31) cloud.y[i] = static_cast<float>(kNan);
    FilterOptions options;
    options.min_range_m = static_cast<double>(seed % 5) * 10.0;
    options.max_range_m = 120.0;
    options.min_height_m = -6.0;
    options.max_height_m = 7.0;
    if (seed % 3 == 0) {
      options.box = FilterOptions::Box{{-60.0, -70.0, -8.0}, {80.0, 40.0, 5.0}};
    }
    size_t not_finite = 0;
    size_t out = 0;
    std::vector<float> expected;
    for (size_t i = 0; i < cloud.size(); ++i) {
      const double x = static_cast<double>(cloud.x[i]);
      const double y = static_cast<double>(cloud.y[i]);
      const double z = static_cast<double>(cloud.z[i]);
      if (std::isnan(x) || std::isnan(y) || std::isnan(z)) {
        ++not_finite;
        continue;
      }
      const double range = std::sqrt(x * x + y * y + z * z);
      const bool in_box = !options.box.has_value() || (x >= -60.0 && x <= 80.0 && y >= -70.0 &&
                                                       y <= 40.0 && z >= -8.0 && z <= 5.0);
      if (range < options.min_range_m || range > 120.0 || z < -6.0 || z > 7.0 || !in_box) {
        ++out;
        continue;
      }
      expected.push_back(cloud.x[i]);
    }
    const auto filtered = FilterCloud(cloud, options);
    ASSERT_TRUE(filtered.ok()) << filtered.status();
    EXPECT_EQ(filtered->cloud.x, expected) << seed;
    EXPECT_EQ(filtered->counts.not_finite, not_finite);
    EXPECT_EQ(filtered->counts.out_of_limits, out);
    EXPECT_EQ(filtered->counts.thinned, 0u);
  }
}

TEST(FilterCloudTest, CountsAddUpAndTheOrderOfStepsIsAsDocumented) {
  PointCloud cloud = RandomCloud(5000, 9, true);
  cloud.x[17] = static_cast<float>(kNan);
  FilterOptions options;
  options.max_range_m = 90.0;
  options.voxel_leaf_m = 8.0;
  options.max_points = 100;
  options.random_seed = 42;
  const auto filtered = FilterCloud(cloud, options);
  ASSERT_TRUE(filtered.ok()) << filtered.status();
  const FilterCounts& counts = filtered->counts;
  EXPECT_EQ(counts.received, 5000u);
  EXPECT_EQ(counts.not_finite, 1u);
  EXPECT_EQ(counts.kept, 100u);
  EXPECT_EQ(counts.received,
            counts.not_finite + counts.out_of_limits + counts.thinned + counts.kept);

  FilterOptions limits_only;
  limits_only.max_range_m = 90.0;
  const auto limited = FilterCloud(cloud, limits_only);
  const auto voxels = VoxelDownsample(limited->cloud, 8.0);
  EXPECT_TRUE(SameBits(filtered->cloud, RandomSample(*voxels, 100, 42)));
}

TEST(FilterCloudTest, NoPointsAreNoError) {
  FilterOptions options;
  options.voxel_leaf_m = 1.0;
  options.max_points = 10;
  const auto filtered = FilterCloud(PointCloud(), options);
  ASSERT_TRUE(filtered.ok()) << filtered.status();
  EXPECT_TRUE(filtered->cloud.empty());
}

TEST(FilterCloudTest, WrongOptionsAreNamedWithTheirValues) {
  const char* const leaf = "voxel_leaf_m must be 0 (off) or a finite length over 0 (got ";
  const struct {
    std::function<void(FilterOptions&)> change;
    const char* message;
  } rows[] = {{[](FilterOptions& o) { o.min_range_m = 5.0, o.max_range_m = 4.0; },
               "min_range_m must be at most max_range_m (got 5 and 4)"},
              {[](FilterOptions& o) { o.max_range_m = kNan; }, "max_range_m (got 0 and nan)"},
              {[](FilterOptions& o) { o.min_range_m = -3.0, o.max_range_m = -2.0; },
               "max_range_m must be at least 0 (got -2)"},
              {[](FilterOptions& o) { o.min_height_m = kNan; },
               "min_height_m must be at most max_height_m (got nan"},
              {[](FilterOptions& o) { o.min_height_m = 2.0, o.max_height_m = 1.0; },
               "max_height_m (got 2 and 1)"},
              {[](FilterOptions& o) {
                 o.box = FilterOptions::Box{{0, 3, 0}, {1, 2, 1}};
               },
               "box.min.y must be at most box.max.y (got 3 and 2)"},
              {[](FilterOptions& o) { o.voxel_leaf_m = -1.0; }, leaf},
              {[](FilterOptions& o) { o.voxel_leaf_m = kNan; }, leaf},
              {[](FilterOptions& o) { o.voxel_leaf_m = kInf; }, leaf}};
  for (const auto& row : rows) {
    FilterOptions options;
    row.change(options);
    const absl::Status status = FilterCloud(OnTheXAxis({1.0F}), options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.message));
  }
}

}  // namespace
}  // namespace voxloc
