// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/server/engines/fake_gpu.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

class ReadinessTest : public ::testing::Test {
 protected:
  std::string Check() { return std::string(readiness_.Check().message()); }

  const std::shared_ptr<GpuFaults> faults_ = std::make_shared<GpuFaults>();
  const FakeGpu engine_{faults_};
  const Metrics metrics_;
  WorkQueue queue_{"mapping", 8, QueueMetrics()};
  ResidentMaps maps_{8, metrics_, queue_};
  ServerLifecycle life_;
  Readiness readiness_{engine_, maps_, life_};
};

TEST_F(ReadinessTest, WaitsForTheListenerAndTheMapsOfTheStart) {
  ASSERT_TRUE(maps_.Register("yard").ok());
  ASSERT_TRUE(maps_.Register("town").ok());
  EXPECT_THAT(Check(), HasSubstr("starting: the server does not listen yet"));
  EXPECT_EQ(readiness_.state(), ServerState::kStarting);
  readiness_.Begin({"yard", "town"});
  EXPECT_THAT(Check(), HasSubstr("starting: loading map town (0 %) and 1 more"));
  maps_.Open("town");
  EXPECT_THAT(Check(), HasSubstr("starting: loading map yard (0 %)"));
  EXPECT_EQ(readiness_.state(), ServerState::kStarting);
  maps_.Open("yard");
  EXPECT_TRUE(readiness_.Check().ok());
  EXPECT_EQ(readiness_.state(), ServerState::kServing);
}

TEST_F(ReadinessTest, DoesNotWaitForMapsThatCannotBeLoadedOrComeLater) {
  ASSERT_TRUE(maps_.Register("broken").ok());
  readiness_.Begin({"broken"});
  EXPECT_FALSE(readiness_.Check().ok());
  maps_.Fail("broken", absl::DataLossError("tile x is damaged"));
  EXPECT_TRUE(readiness_.Check().ok());
  EXPECT_THAT(std::string(readiness_.CheckMap("broken").message()), HasSubstr("tile x is damaged"));
  ASSERT_TRUE(maps_.Register("late").ok());
  EXPECT_TRUE(readiness_.Check().ok());
  EXPECT_EQ(readiness_.CheckMap("late").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(readiness_.CheckMap("none").code(), absl::StatusCode::kNotFound);
}

TEST_F(ReadinessTest, FollowsTheEngineAndEndsWithTheDrain) {
  readiness_.Begin({});
  EXPECT_TRUE(readiness_.Check().ok());
  faults_->dead = true;
  EXPECT_THAT(Check(), HasSubstr("no engine: "));
  EXPECT_EQ(readiness_.state(), ServerState::kServing);
  faults_->dead = false;
  EXPECT_TRUE(readiness_.Check().ok());
  EXPECT_TRUE(life_.Advance(ServerState::kDraining));
  EXPECT_THAT(Check(), HasSubstr("draining"));
  EXPECT_EQ(readiness_.state(), ServerState::kDraining);
  EXPECT_FALSE(life_.Advance(ServerState::kServing));
  EXPECT_FALSE(life_.Advance(ServerState::kDraining));
  EXPECT_EQ(life_.state(), ServerState::kDraining);
}

TEST_F(ReadinessTest, IsWatchedOnceSomebodyAsksAServerThatWasReady) {
  readiness_.RecordProbe();
  EXPECT_FALSE(readiness_.probed_recently());
  readiness_.Begin({});
  EXPECT_TRUE(readiness_.Check().ok());
  EXPECT_TRUE(readiness_.probed_recently());
  ServerLifecycle lifecycle;
  Readiness unasked(engine_, maps_, lifecycle);
  unasked.Begin({});
  EXPECT_TRUE(unasked.Check().ok());
  EXPECT_FALSE(unasked.probed_recently());
}

}  // namespace
}  // namespace voxloc::server
