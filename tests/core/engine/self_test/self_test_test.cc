// SPDX-License-Identifier: Apache-2.0
//
// The self-test: passes an engine that agrees, and tells what an engine that does not has wrong.

#include "core/engine/self_test/self_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "core/engine/cpu/cpu_engine.h"
#include "core/status/try.h"
#include "tests/support/engine_test.h"
#include "tests/support/forwarding_engine.h"

namespace voxloc {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// An engine whose answers pass through the test's hands; one of the CPU unless another is given.
class TamperedEngine : public ForwardingEngine {
 public:
  using ForwardingEngine::ForwardingEngine;

  std::function<void(AlignResult&)> on_align = [](AlignResult&) {};
  std::function<void(ScoreResult&)> on_score = [](ScoreResult&) {};
  absl::Status build_status;

  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoBuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) override {
    if (!build_status.ok()) return build_status;
    return ForwardingEngine::DoBuildTile(cloud_map, statistics);
  }
  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    VOXLOC_TRY(ForwardingEngine::DoAlign(jobs, results));
    for (AlignResult& result : results) on_align(result);
    return absl::OkStatus();
  }
  absl::StatusOr<ScoreResult> DoScore(const ScoreRequest& request) override {
    auto result = ForwardingEngine::DoScore(request);
    if (result.ok()) on_score(*result);
    return result;
  }
};

class SelfTestOnEngine : public EngineTest {};
VOXLOC_INSTANTIATE_ON_ENGINES(SelfTestOnEngine);

TEST_P(SelfTestOnEngine, PassesAnEngineThatAgrees) {
  const auto reference = MakeCpuEngine({1});
  EXPECT_EQ(CheckAgreement(*reference, engine()), absl::OkStatus());
}

// What the searches of the scene end with must not hang on the last bits of a step: then engines
// whose sums differ in those would fail for nothing.
TEST_P(SelfTestOnEngine, ItsSearchesConvergeWithAMargin) {
  const auto reference = MakeCpuEngine({1});
  TamperedEngine watched(engine());
  int results = 0;
  watched.on_align = [&results](AlignResult& result) {
    ++results;
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.termination, Termination::kConverged);
    EXPECT_GT(result.before.matched_ratio(), 0.9);
    const std::vector<Stage> stages =
        result.trace.back().stage == 0 ? AutowareProfile().stages : PreciseProfile().stages;
    for (const IterationTrace& step : result.trace) {
      const double epsilon = stages[static_cast<size_t>(step.stage)].epsilon;
      const double ratio = step.newton_step_norm / epsilon;
      EXPECT_TRUE(ratio < 0.995 || ratio > 1.005) << "stage " << step.stage << ": " << ratio;
    }
  };
  EXPECT_EQ(CheckAgreement(*reference, watched), absl::OkStatus());
  EXPECT_EQ(results, 12);
}

struct Fault {
  std::string name;  // that the message has
  std::function<void(AlignResult&)> on_align;
};

TEST(SelfTest, NamesWhatAnAlignmentHasWrong) {
  const std::vector<Fault> faults = {
      {"status", [](AlignResult& r) { r.status = absl::InternalError("broken"); }},
      {"score at the guess", [](AlignResult& r) { r.before.score *= 1.0 + 3e-5; }},
      {"transform probability at the guess",
       [](AlignResult& r) { r.before.transform_probability *= 1.0 - 3e-5; }},
      {"nearest voxel likelihood at the guess",
       [](AlignResult& r) { r.before.nearest_voxel_likelihood *= 1.0 + 3e-5; }},
      {"no trace", [](AlignResult& r) { r.trace.clear(); }},
      {"score in the first iteration",
       [](AlignResult& r) { r.trace.front().score.score *= 1.0 + 3e-5; }},
      {"gradient along yaw in the first iteration",
       [](AlignResult& r) { r.trace.front().gradient[5] *= 1.01; }},
      {"Hessian of x and y in the first iteration",
       [](AlignResult& r) {
         Matrix6& hessian = r.trace.front().hessian;
         hessian(0, 1) += 1e-3 * hessian(0, 0);
       }},
      {"iterations", [](AlignResult& r) { ++r.iterations; }},
      {"termination", [](AlignResult& r) { r.termination = Termination::kMaxIterations; }},
      {"position", [](AlignResult& r) { r.map_T_base.translation.z() += 2e-3; }},
      {"rotation",
       [](AlignResult& r) {
         const Eigen::AngleAxisd turn(2e-4, Eigen::Vector3d::UnitX());
         r.map_T_base.rotation = turn * r.map_T_base.rotation;
       }},
      {"nearest voxel likelihood at the end",
       [](AlignResult& r) { r.after.nearest_voxel_likelihood *= 1.03; }},
      {"gradient along x at the end", [](AlignResult& r) { r.gradient[0] += 1e4; }},
      {"Hessian of yaw and yaw at the end", [](AlignResult& r) { r.hessian(5, 5) *= 1.05; }},
      {"position",
       [](AlignResult& r) {
         r.map_T_base.translation.x() = std::numeric_limits<double>::quiet_NaN();
       }},
  };
  const auto reference = MakeCpuEngine({1});
  for (const Fault& fault : faults) {
    TamperedEngine engine;
    engine.on_align = fault.on_align;
    const absl::Status status = CheckAgreement(*reference, engine);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << fault.name;
    const std::string message(status.message());
    EXPECT_THAT(message, HasSubstr(": " + fault.name));
    if (fault.name == "no trace") continue;
    EXPECT_THAT(message, HasSubstr("align, profile autoware, guess 0, in a batch"));
    EXPECT_THAT(message, HasSubstr("the reference has "));
    EXPECT_THAT(message, AnyOf(HasSubstr("the tolerance is "), HasSubstr("must be equal")));
  }
}

TEST(SelfTest, NamesWhatAScoreHasWrong) {
  const auto reference = MakeCpuEngine({1});
  TamperedEngine engine;
  engine.on_score = [](ScoreResult& r) { r.poses[3].nearest_voxel_likelihood *= 1.0 + 3e-5; };
  EXPECT_THAT(std::string(CheckAgreement(*reference, engine).message()),
              HasSubstr("score, profile autoware, pose 3: nearest voxel likelihood is "));
  engine.on_score = [](ScoreResult& r) { r.poses.pop_back(); };
  EXPECT_THAT(std::string(CheckAgreement(*reference, engine).message()),
              HasSubstr("not one score for every pose"));
}

TEST(SelfTest, SeesAnEngineThatFailsOnlyOutsideABatch) {
  const auto reference = MakeCpuEngine({1});
  TamperedEngine engine;
  int results = 0;
  engine.on_align = [&results](AlignResult& r) {
    if (++results == 8) r.iterations += 2;
  };
  EXPECT_THAT(std::string(CheckAgreement(*reference, engine).message()),
              HasSubstr("guess 1, alone: iterations is "));
}

TEST(SelfTest, TellsOfAnEngineThatCannotBuild) {
  const auto reference = MakeCpuEngine({1});
  TamperedEngine engine;
  engine.build_status = absl::ResourceExhaustedError("no memory left");
  EXPECT_THAT(std::string(CheckAgreement(*reference, engine).message()),
              HasSubstr("the map is not built: RESOURCE_EXHAUSTED: no memory left"));
}

}  // namespace
}  // namespace voxloc
