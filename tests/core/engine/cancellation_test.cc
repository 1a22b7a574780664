// SPDX-License-Identifier: Apache-2.0
//
// A search that is cancelled while it runs ends at the next iteration, and its neighbors go on.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/engine/search_rules.h"
#include "tests/support/engine_test.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

class CancellationTest : public EngineTest {
 protected:
  // Steps of a millionth of a metre, and as many stages and iterations as are allowed.
  static AlignJob LongJob() {
    AlignJob job = SceneJob(AutowareProfile());
    job.map_T_base_guess = Displaced(ScenePose(), {0.5, -0.4, 0.1}, 0.05);
    job.scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), 5000));
    Stage stage = job.profile.stages[0];
    stage.max_step = 1e-6;
    stage.epsilon = 0.0;
    stage.step_floor = false;
    stage.max_iterations = 1000;
    job.profile.stages.assign(ndt::kMaxStages, stage);
    return job;
  }

  struct Cancelled {
    std::vector<AlignResult> results;
    bool on_the_way = false;  // the first job had begun, and was not at its end
  };
  // Cancels the first of these while they run, after as many alignments beside them.
  static Cancelled CancelFirst(std::vector<AlignJob> jobs, int alignments) {
    const auto cancelled = std::make_shared<std::atomic<bool>>(false);
    jobs[0].stop.cancelled = cancelled;
    Cancelled answer;
    std::thread caller([&] { answer.results = engine().Align(jobs); });
    const AlignJob other = SceneJob(PreciseProfile());
    for (int i = 0; i < alignments; ++i) (void)AlignOne(engine(), other);
    cancelled->store(true);
    caller.join();
    const AlignResult& first = answer.results[0];
    answer.on_the_way = first.status.ok() && first.iterations > 0 &&
                        static_cast<size_t>(first.iterations) < MaxIterations(jobs[0].profile);
    return answer;
  }
  // Until one is hit on the way: the machine may be busy with other things before and after.
  static Cancelled CancelFirstOnTheWay(const std::vector<AlignJob>& jobs) {
    Cancelled cancelled;
    for (int attempt = 0; attempt < 40 && !cancelled.on_the_way; ++attempt) {
      cancelled = CancelFirst(jobs, 1 + attempt % 10);
    }
    return cancelled;
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(CancellationTest);

TEST_P(CancellationTest, ASearchThatRunsIsEnded) {
  const Cancelled cancelled = CancelFirstOnTheWay({LongJob()});
  ASSERT_TRUE(cancelled.on_the_way);
  const AlignResult& result = cancelled.results[0];
  EXPECT_EQ(result.termination, Termination::kCancelled);
  EXPECT_TRUE(result.map_T_base.translation.allFinite());
}

TEST_P(CancellationTest, TheOthersOfABatchGoOn) {
  std::vector<AlignJob> jobs(6, SceneJob(PreciseProfile()));
  for (AlignJob& job : jobs) {
    job.map_T_base_guess = Displaced(ScenePose(), {0.3, -0.2, 0.05}, 0.02);
    job.stop.cancelled = std::make_shared<const std::atomic<bool>>(false);
  }
  const std::string bits = Bits(AlignOne(engine(), jobs[1]));
  jobs[0] = LongJob();
  const Cancelled cancelled = CancelFirstOnTheWay(jobs);
  ASSERT_TRUE(cancelled.on_the_way);
  EXPECT_EQ(cancelled.results[0].termination, Termination::kCancelled);
  for (size_t i = 1; i < jobs.size(); ++i) {
    ASSERT_TRUE(cancelled.results[i].status.ok()) << cancelled.results[i].status;
    EXPECT_TRUE(Bits(cancelled.results[i]) == bits) << i;
  }
}

TEST_P(CancellationTest, AJobThatIsCancelledBeforeEndsAtOnce) {
  AlignJob job = LongJob();
  job.stop.cancelled = std::make_shared<const std::atomic<bool>>(true);
  const AlignResult result = AlignOne(engine(), job);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.termination, Termination::kCancelled);
  EXPECT_EQ(result.iterations, 0);
}

}  // namespace
}  // namespace voxloc
