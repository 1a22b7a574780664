// SPDX-License-Identifier: Apache-2.0
//
// Searches for an initial pose beside everything else: their time, their places, and that they stay
// out of the way of tracking.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/server/gated_engine.h"
#include "tests/server/plain_calls.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"
#include "tests/support/eventually.h"
#include "tests/support/forwarding_engine.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

// While searches are endless, each one stays in the engine until it is cancelled.
class EngineOfEndlessSearches : public ForwardingEngine {
 public:
  explicit EngineOfEndlessSearches(
      std::shared_ptr<const std::atomic<bool>> endless = std::make_shared<std::atomic<bool>>(true))
      : endless_(std::move(endless)) {}

  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    const StopToken& stop = jobs.front().stop;
    if (*endless_ && stop.cancelled != nullptr) {
      EXPECT_TRUE(Eventually([&stop] { return stop.cancelled->load(); }, 2 * kTestTimeout));
    }
    return ForwardingEngine::DoAlign(jobs, results);
  }

 private:
  const std::shared_ptr<const std::atomic<bool>> endless_;
};

class PoseSearchLimits : public ::testing::Test {
 protected:
  const std::shared_ptr<std::atomic<bool>> endless_ = std::make_shared<std::atomic<bool>>(true);
  TownServer server_{[](Config& config) { config.limits.max_searches = 2; },
                     std::make_unique<EngineOfEndlessSearches>(endless_)};
};

// Finishes a search's first batch whatever the time, and holds the second until the deadline. One
// search at a time.
class EngineUntilTheDeadline : public ForwardingEngine {
 public:
  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    const absl::Time deadline = jobs.front().stop.deadline;
    if (deadline == absl::InfiniteFuture()) return ForwardingEngine::DoAlign(jobs, results);
    if (deadline_.exchange(absl::ToUnixNanos(deadline)) == absl::ToUnixNanos(deadline)) {
      // Real time: no batch ends before the deadline that the server set.
      absl::SleepFor(deadline - absl::Now());
      return ForwardingEngine::DoAlign(jobs, results);
    }
    std::vector<AlignJob> without_deadline(jobs.begin(), jobs.end());
    for (AlignJob& job : without_deadline) job.stop.deadline = absl::InfiniteFuture();
    return ForwardingEngine::DoAlign(without_deadline, results);
  }

 private:
  std::atomic<int64_t> deadline_ = 0;  // of the search whose first batch has come
};

TEST(PoseSearchServer, GivesTheBestSoFarWhenItsTimeIsUp) {
  TownServer server({}, std::make_unique<EngineUntilTheDeadline>());
  v1::EstimateInitialPoseRequest request = PriorRequest(200);
  request.mutable_search()->set_startup_trials(100);
  // More time where the machine is too busy to begin within it.
  PoseSearchReply reply;
  for (double timeout_s = 0.5; timeout_s < 60.0; timeout_s *= 2.0) {
    request.set_timeout_s(timeout_s);
    reply = Search(server, request);
    ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
    if (reply.result.candidates_aligned() > 0) break;
  }
  EXPECT_TRUE(reply.result.timed_out());
  EXPECT_GE(reply.result.candidates_aligned(), 100);
  EXPECT_LT(reply.result.candidates_aligned(), 200);
  ASSERT_GE(reply.result.hypotheses_size(), 1);
  EXPECT_LT(DistanceFromVehicle(reply.result.hypotheses(0).map_t_base().pose()), 0.1);
  EXPECT_GT(reply.result.timings().align_s(), 0.0);
}

TEST_F(PoseSearchLimits, ATimeTooShortForAnythingIsNoError) {
  v1::EstimateInitialPoseRequest request = PriorRequest();
  request.set_timeout_s(1e-9);
  const PoseSearchReply none = Search(server_, request);
  ASSERT_TRUE(none.status.ok()) << none.status.error_message();
  EXPECT_TRUE(none.result.timed_out());
  EXPECT_EQ(none.result.candidates_aligned(), 0);
  EXPECT_FALSE(none.result.reliable());
}

TEST_F(PoseSearchLimits, EndsSoonAfterTheRpcsDeadlineAndGivesNothing) {
  for (const int left_ms : {300, -1000}) {
    grpc::ClientContext context;
    // Real time: gRPC's deadlines are; the search outlasts any.
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(left_ms));
    const PoseSearchReply reply =
        Listen(*server_.localization->EstimateInitialPose(&context, PriorRequest()));
    EXPECT_EQ(reply.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_FALSE(reply.has_result);
  }
}

TEST_F(PoseSearchLimits, CancellingEndsItAndFreesItsPlace) {
  // Both places are taken by searches that do not end by themselves.
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<PoseSearchReader>> readers;
  for (int i = 0; i < 2; ++i) {
    contexts.push_back(TestServer::NewContext());
    readers.push_back(
        server_.localization->EstimateInitialPose(contexts.back().get(), PriorRequest()));
    v1::EstimateInitialPoseResponse response;
    ASSERT_TRUE(readers.back()->Read(&response));
  }
  const PoseSearchReply refused = Search(server_, PriorRequest());
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.status.error_message(), HasSubstr("2 searches"));
  EXPECT_EQ(ReasonOf(refused.status), "TOO_MANY_SEARCHES");
  EXPECT_EQ(ErrorInfoOf(refused.status).metadata().at("limit"), "2");
  for (int i = 0; i < 2; ++i) {
    contexts[i]->TryCancel();
    EXPECT_EQ(Listen(*readers[i]).status.error_code(), grpc::StatusCode::CANCELLED);
  }
  *endless_ = false;
  PoseSearchReply reply;
  // The client knows of its cancellation before the server does.
  EXPECT_TRUE(Eventually([&] {
    reply = Search(server_, PriorRequest(20));
    return reply.status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED;
  }));
  EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
}

class PoseSearchLoad : public EngineTest {
 protected:
  TownServer server_{[](Config& config) { config.limits.max_searches = 2; }, EngineHandle()};
};
VOXLOC_INSTANTIATE_ON_ENGINES(PoseSearchLoad);

TEST_P(PoseSearchLoad, TrackingGoesOnBesideSearches) {
  std::vector<std::thread> searches;
  for (int i = 0; i < 2; ++i) {
    searches.emplace_back([this] {
      const PoseSearchReply reply = Search(server_, PriorRequest(150));
      ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
      EXPECT_LT(DistanceFromVehicle(reply.result.hypotheses(0).map_t_base().pose()), 0.1);
    });
  }
  std::vector<std::thread> vehicles;
  for (int i = 0; i < 2; ++i) {
    vehicles.emplace_back([this] {
      TestSession session(server_, "town");
      for (uint64_t sequence = 1; sequence <= 20; ++sequence) {
        EXPECT_EQ(session.Align(GoodScan(sequence)).status(), v1::ALIGNMENT_STATUS_OK);
      }
    });
  }
  for (std::thread& vehicle : vehicles) vehicle.join();
  for (std::thread& search : searches) search.join();
}

TEST(PoseSearchServer, CountsSearchesAndTellsItsLimits) {
  TownServer server([](Config& config) {
    config.metrics_listen = "127.0.0.1:0";
    config.limits.max_particles = 50;
  });
  EXPECT_EQ(ServerInfoOf(server).limits().max_particles(), 50);
  ASSERT_TRUE(Search(server, PriorRequest(50)).status.ok());
  auto metrics = MetricsOf(server);
  EXPECT_EQ(metrics["voxloc_searches_total{found=\"reliable\"}"] +
                metrics["voxloc_searches_total{found=\"ambiguous\"}"],
            1.0);
  EXPECT_EQ(metrics["voxloc_search_candidates_aligned_total"], 50.0);
  EXPECT_EQ(metrics["voxloc_search_duration_seconds_count"], 1.0);
  EXPECT_EQ(metrics["voxloc_rpc_started_total{method=\"EstimateInitialPose\"}"], 1.0);
}

TEST(PoseSearchServer, ASearchHoldsNeitherTrackingNorScoringUp) {
  const auto gate = std::make_shared<Gate>();
  TownServer server({}, std::make_unique<GatedEngine>(gate));
  const auto context = TestServer::NewContext();
  gate->Close();
  const auto reader = server.localization->EstimateInitialPose(context.get(), PriorRequest(20));
  gate->AwaitBatches(1);  // the search is inside the engine, and stays
  v1::ScorePosesRequest request;
  request.mutable_setup()->mutable_setup()->set_map("town");
  *request.mutable_setup()->mutable_scan() = GoodScan();
  const auto scoring_context = TestServer::NewContext();
  const auto scoring = server.localization->ScorePoses(scoring_context.get());
  ASSERT_TRUE(scoring->Write(request));
  v1::ScorePosesResponse response;
  EXPECT_TRUE(scoring->Read(&response));
  EXPECT_TRUE(response.has_ready());
  TestSession session(server, "town");
  session.Send(GoodScan());
  gate->AwaitBatches(2);  // tracking has come to the engine, past the search
  gate->Open();
  EXPECT_EQ(session.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_TRUE(Listen(*reader).status.ok());
}

TEST(PoseSearchServer, StopsWithSearchesUnderWay) {
  TownServer server({}, std::make_unique<EngineOfEndlessSearches>());
  std::vector<std::thread> searches;
  for (int i = 0; i < 3; ++i) {
    searches.emplace_back([&server] { EXPECT_FALSE(Search(server, PriorRequest()).status.ok()); });
  }
  const auto context = TestServer::NewContext();
  const auto reader = server.localization->EstimateInitialPose(context.get(), PriorRequest());
  v1::EstimateInitialPoseResponse response;
  EXPECT_TRUE(reader->Read(&response));
  server.server().Drain();
  EXPECT_FALSE(Listen(*reader).status.ok());
  for (std::thread& search : searches) search.join();
}

}  // namespace
}  // namespace voxloc::server
