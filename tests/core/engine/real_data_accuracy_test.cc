// SPDX-License-Identifier: Apache-2.0
//
// The engine's float32 evaluations against brute force in double, on real maps and scans.

#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "core/geometry/euler.h"
#include "tests/support/engine_test.h"
#include "tests/support/evaluation_comparison.h"
#include "tests/support/real_data.h"
#include "tests/support/reference_ndt.h"

namespace voxloc {
namespace {

struct RealPair {
  const char* map;
  const char* scan;
};

const RealPair kPairs[] = {
    {"ouster_os1/map.ply", "ouster_os1/task/scans/000000.pcd"},
    {"outdoor_pair/map.pcd", "outdoor_pair/scans/000000.pcd"},
    {"room/room_scan1.pcd", "room/room_scan2.pcd"},
    {"courtyard/map.pcd", "courtyard/map.pcd"},
    {"single_scan/organized_ascii.pcd", "single_scan/organized_ascii.pcd"},
};

// Without missing returns, thinned to so many points. Nothing where there is no such file.
std::optional<PointCloud> Read(const std::string& path, size_t points) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const absl::StatusOr<PointCloud> cloud = ReadCloud(path);
  EXPECT_TRUE(cloud.ok()) << cloud.status();
  if (!cloud.ok()) return std::nullopt;
  FilterOptions options;
  options.min_range_m = 0.5;
  options.max_points = points;
  absl::StatusOr<FilteredCloud> filtered = FilterCloud(*cloud, options);
  EXPECT_TRUE(filtered.ok()) << filtered.status();
  if (!filtered.ok()) return std::nullopt;
  return std::move(filtered->cloud);
}

class RealDataAccuracyTest : public EngineTest {};
VOXLOC_INSTANTIATE_ON_ENGINES(RealDataAccuracyTest);

TEST_P(RealDataAccuracyTest, EvaluationsAgreeWithBruteForceOnEverySet) {
  VOXLOC_REAL_DATA_OR_SKIP(data);
  const Stage stages[] = {AutowareProfile().stages[0], PreciseProfile().stages[2],
                          PreciseProfile().stages.back()};
  int compared = 0;
  for (const RealPair& pair : kPairs) {
    SCOPED_TRACE(pair.map);
    const std::optional<PointCloud> map_cloud = Read(data + "/" + pair.map, 0);
    const std::optional<PointCloud> scan = Read(data + "/" + pair.scan, 400);
    if (!map_cloud || !scan) {
      std::cout << pair.map << " is not there" << std::endl;
      continue;
    }
    AlignJob job;
    job.map = LoadMap(engine(), {*map_cloud}, AllStatistics());
    job.scan = std::make_shared<const PointCloud>(*scan);
    job.map_T_base_guess = Displaced({}, {0.21, -0.13, 0.04}, 0.011);
    job.with_trace = true;
    Deviations largest;
    for (const Stage& stage : stages) {
      SCOPED_TRACE(ToString(stage.cells));
      job.profile.stages = {stage};
      job.profile.stages[0].max_iterations = 1;
      const AlignResult result = AlignOne(engine(), job);
      ASSERT_TRUE(result.status.ok()) << result.status;
      ASSERT_FALSE(result.trace.empty());
      const reference::Evaluation expected = reference::Evaluate(
          AllCells(*job.map, stage.cells), *job.scan, ChartFromPose(job.map_T_base_guess), stage);
      EXPECT_GT(expected.matched_points, expected.points / 4);
      const IterationTrace& at = result.trace[0];
      ExpectEvaluationsAgree(at.score, at.gradient, at.hessian, expected, 1e-5, largest);
    }
    ++compared;
  }
  EXPECT_GT(compared, 0) << "none of the sets is in " << data;
}

}  // namespace
}  // namespace voxloc
