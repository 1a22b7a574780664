// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "gtest/gtest.h"
#include "tests/support/real_data.h"

namespace voxloc {
namespace {

// Facts of the data's own description: point counts, sizes, missing returns.

TEST(RealCloudsTest, PointCountsAreAsDescribed) {
  VOXLOC_REAL_DATA_OR_SKIP(data);
  const struct {
    const char* path;
    size_t points;
    bool intensity;
  } clouds[] = {
      {"ouster_os1/map.ply", 155'000, false},
      {"outdoor_pair/map.pcd", 69'088, true},
      {"outdoor_pair/scans/000000.pcd", 69'792, true},
      {"room/room_scan1.pcd", 112'586, false},
      {"room/room_scan2.pcd", 112'624, false},
      {"courtyard/map.pcd", 62'863, true},
      {"single_scan/organized_ascii.pcd", 65'536, true},
      {"ouster_os1/task/scans/000000.pcd", 1'531, false},
  };
  for (const auto& cloud : clouds) {
    const absl::StatusOr<PointCloud> read = ReadCloud(data + "/" + cloud.path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->size(), cloud.points) << cloud.path;
    EXPECT_EQ(read->has_intensity(), cloud.intensity) << cloud.path;
    EXPECT_TRUE(read->origin.isZero(0.0)) << cloud.path;
  }
}

TEST(RealCloudsTest, AMinimumRangeDropsTheMissingReturns) {
  VOXLOC_REAL_DATA_OR_SKIP(data);
  const absl::StatusOr<PointCloud> scan = ReadCloud(data + "/single_scan/organized_ascii.pcd");
  ASSERT_TRUE(scan.ok()) << scan.status();
  FilterOptions options;
  options.min_range_m = 0.01;
  const absl::StatusOr<FilteredCloud> filtered = FilterCloud(*scan, options);
  ASSERT_TRUE(filtered.ok()) << filtered.status();
  EXPECT_EQ(filtered->counts.out_of_limits, 17'488u);
  EXPECT_EQ(filtered->counts.kept, 65'536u - 17'488u);
}

}  // namespace
}  // namespace voxloc
