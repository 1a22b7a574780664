// SPDX-License-Identifier: Apache-2.0
//
// On a device without thread-block clusters, blocks exchange their sums through global memory. A
// device that has clusters does the same with them switched off, and gives the same bits.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "cuda/cuda_engine.h"
#include "tests/cuda/engine/engine_pair.h"
#include "tests/support/mixed_batch.h"
#include "tests/support/result_bits.h"
#include "tests/support/synthetic_scene.h"

namespace voxloc {
namespace {

class WithoutClustersTest : public CudaEngineTest {
 protected:
  static void SetUpTestSuite() {
    if (!CudaDeviceError().empty()) return;
    CudaEngineOptions options;
    options.use_clusters = false;
    auto made = MakeCudaEngine(options);
    ASSERT_TRUE(made.ok()) << made.status();
    engine_ = made->release();
    const auto tile = engine_->BuildTile(SceneMap(), AllStatistics());
    ASSERT_TRUE(tile.ok()) << tile.status();
    auto map = engine_->Compose({*tile}, AllStatistics(), nullptr);
    ASSERT_TRUE(map.ok()) << map.status();
    map_ = *std::move(map);
  }
  static void TearDownTestSuite() {
    map_.reset();
    delete engine_;
  }

  // From one row of points to several columns, under both profiles, near and far.
  static std::vector<AlignJob> Jobs() {
    std::vector<AlignJob> jobs;
    for (const size_t points :
         {size_t{7}, size_t{300}, size_t{1500}, size_t{5000}, size_t{40000}}) {
      const auto scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), points));
      for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
        for (int far = 0; far < 2; ++far) {
          AlignJob job = CudaSceneJob(profile);
          job.scan = scan;
          job.map_T_base_guess = Displaced(ScenePose(), {0.2 + 0.9 * far, -0.2, 0.02}, 0.03);
          job.with_trace = far == 0;
          job.with_point_scores = true;
          jobs.push_back(job);
        }
      }
    }
    return jobs;
  }

  static std::vector<std::string> BitsWithClusters(const std::vector<AlignJob>& jobs) {
    std::vector<std::string> bits;
    for (const AlignJob& job : jobs) bits.push_back(Bits(AlignOne(CudaEngine(), job)));
    return bits;
  }

  static Engine* engine_;
  static std::shared_ptr<const ResidentMap> map_;
};

Engine* WithoutClustersTest::engine_ = nullptr;
std::shared_ptr<const ResidentMap> WithoutClustersTest::map_;

TEST_F(WithoutClustersTest, LoneJobsHaveTheBitsOfClusters) {
  const std::vector<AlignJob> jobs = Jobs();
  const std::vector<std::string> bits = BitsWithClusters(jobs);
  const std::vector<AlignJob> own = InMap(jobs, map_);
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < own.size(); ++i) {
      const AlignResult result = AlignOne(*engine_, own[i]);
      ASSERT_TRUE(result.status.ok()) << result.status;
      EXPECT_TRUE(Bits(result) == bits[i]) << "job " << i;
    }
  }
}

TEST_F(WithoutClustersTest, BatchesHaveThemToo) {
  const std::vector<AlignJob> jobs = Jobs();
  const std::vector<std::string> bits = BitsWithClusters(jobs);
  for (const size_t size : {2, 3, 8, 16, 33, 66, 132, 133, 500}) {
    std::vector<AlignJob> batch;
    for (size_t i = 0; i < size; ++i) batch.push_back(jobs[i % jobs.size()]);
    const std::vector<AlignResult> results = engine_->Align(InMap(batch, map_));
    for (size_t i = 0; i < size; ++i) {
      EXPECT_TRUE(Bits(results[i]) == bits[i % jobs.size()]) << i << " of " << size;
    }
  }
}

// Groups of all callers would not fit on the device at once, and no block may wait for one that
// cannot start.
TEST_F(WithoutClustersTest, ManyCallersDoNotBlockEachOther) {
  const std::vector<AlignJob> jobs = Jobs();
  const std::vector<std::string> bits = BitsWithClusters(jobs);
  const std::vector<AlignJob> own = InMap(jobs, map_);
  std::atomic<size_t> different{0};
  std::vector<std::thread> callers;
  for (size_t c = 0; c < 24; ++c) {
    callers.emplace_back([&, c] {
      for (size_t i = 0; i < 60; ++i) {
        AlignJob job = own[(c + i) % own.size()];
        if (c % 4 == 3) job.work_class = WorkClass::kSearching;
        if (c % 4 == 2) {
          const std::vector<AlignResult> results = engine_->Align(std::vector<AlignJob>(40, job));
          for (const AlignResult& result : results) {
            different += Bits(result) == bits[(c + i) % own.size()] ? 0 : 1;
          }
        } else {
          different += Bits(AlignOne(*engine_, job)) == bits[(c + i) % own.size()] ? 0 : 1;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(different.load(), 0U);
}

TEST_F(WithoutClustersTest, ACancelledJobEnds) {
  AlignJob job = InMap({Jobs().back()}, map_).front();
  const auto cancelled = std::make_shared<std::atomic<bool>>(true);
  job.stop.cancelled = cancelled;
  EXPECT_EQ(AlignOne(*engine_, job).termination, Termination::kCancelled);
  cancelled->store(false);
  EXPECT_NE(AlignOne(*engine_, job).termination, Termination::kCancelled);
  job.stop.deadline = absl::Now() - absl::Seconds(1);
  EXPECT_EQ(AlignOne(*engine_, job).termination, Termination::kDeadline);
}

}  // namespace
}  // namespace voxloc
