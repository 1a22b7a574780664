// SPDX-License-Identifier: Apache-2.0

#include "tests/support/mixed_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/cloud/filters.h"
#include "tests/support/engine_scene.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

// The scale of rotations of this scan, written into the profile.
AlignJob WithScaleOf(AlignJob job, const PointCloud& scan) {
  for (Stage& stage : job.profile.stages) stage.rotation_scale_m = RootMeanSquareRange(scan);
  return job;
}

}  // namespace

std::vector<AlignJob> JobsOfDifferentReach(const std::shared_ptr<const ResidentMap>& map) {
  std::vector<AlignJob> jobs;
  for (const double range_m : {40.0, 5.0, 12.0, 25.0}) {
    const auto scan =
        std::make_shared<const PointCloud>(SceneScan(ScenePose(), 700, SceneOptions(), range_m));
    for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
      AlignJob job;
      job.map = map;
      job.scan = scan;
      job.map_T_base_guess = Displaced(ScenePose(), {0.3, -0.2, 0.05}, 0.03);
      job.profile = AlongObservedDirections(profile);
      job.with_trace = true;
      jobs.push_back(job);
      job.profile = profile;
      jobs.push_back(job);
    }
  }
  return jobs;
}

void ExpectScansToKeepTheirScale(Engine& engine, const std::shared_ptr<const ResidentMap>& map) {
  std::vector<AlignJob> jobs = JobsOfDifferentReach(map);
  const AlignJob& far = jobs.front();
  const AlignJob& near = jobs[4];
  ASSERT_GT(RootMeanSquareRange(*far.scan), 2.0 * RootMeanSquareRange(*near.scan));
  // With the other scan's scale a scan ends elsewhere, or this would show nothing.
  EXPECT_FALSE(Bits(AlignOne(engine, WithScaleOf(near, *far.scan))) ==
               Bits(AlignOne(engine, WithScaleOf(near, *near.scan))));

  std::vector<std::string> alone;
  for (const AlignJob& job : jobs) {
    const AlignResult result = AlignOne(engine, job);
    ASSERT_TRUE(result.status.ok()) << result.status;
    alone.push_back(Bits(result));
  }
  for (int direction = 0; direction < 2; ++direction) {
    for (size_t first = 0; first < jobs.size(); ++first) {
      const std::vector<AlignResult> results = engine.Align(jobs);
      ASSERT_EQ(results.size(), jobs.size());
      for (size_t i = 0; i < jobs.size(); ++i) {
        EXPECT_TRUE(Bits(results[i]) == alone[i])
            << jobs[i].profile.name << ", root mean square range "
            << RootMeanSquareRange(*jobs[i].scan) << " m, at place " << i << " of a batch";
      }
      std::rotate(jobs.begin(), jobs.begin() + 1, jobs.end());
      std::rotate(alone.begin(), alone.begin() + 1, alone.end());
    }
    std::reverse(jobs.begin(), jobs.end());
    std::reverse(alone.begin(), alone.end());
  }
}

}  // namespace voxloc
