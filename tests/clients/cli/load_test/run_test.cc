// SPDX-License-Identifier: Apache-2.0
//
// Whole runs against a server that answers as the test says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "clients/cli/load_test/load_run.h"
#include "clients/cli/load_test/load_stream.h"
#include "clients/cli/load_test/run_clock.h"
#include "clients/cpp/messages.h"
#include "tests/clients/cpp/fake_server.h"
#include "tests/support/eventually.h"

namespace voxloc::cli {
namespace {

using client::FakeBehaviour;
using client::FakeServer;

// The scans are told apart by the x of their point and guess.
LoadDrive DriveOf(size_t scans) {
  LoadDrive drive;
  for (size_t i = 0; i < scans; ++i) {
    PointCloud cloud;
    cloud.PushBack(static_cast<float>(i), 0.0f, 0.0f);
    client::EncodeCloud(cloud, &drive.scans.emplace_back());
    const Eigen::Vector3d position(static_cast<double>(i), 0.0, 0.0);
    drive.guesses_map_T_base.push_back({position, Eigen::Quaterniond::Identity()});
    ++drive.points;
  }
  return drive;
}

// Reads `open` and answers it; the vehicle's name, empty where there is no `open`.
std::string AnswerLoadOpen(FakeBehaviour::AlignStream* stream) {
  v1::AlignScansRequest request;
  if (!stream->Read(&request) || !request.has_open()) return "";
  v1::AlignScansResponse response;
  response.mutable_opened()->set_engine("fake");
  response.mutable_opened()->mutable_profile()->set_name("precise");
  response.mutable_opened()->set_max_message_bytes(1 << 20);
  stream->Write(response);
  return request.open().setup().vehicle();
}

void AnswerLoadScan(const v1::Scan& scan, FakeBehaviour::AlignStream* stream) {
  v1::AlignScansResponse response;
  response.mutable_result()->set_sequence(scan.sequence());
  response.mutable_result()->set_status(v1::ALIGNMENT_STATUS_OK);
  response.mutable_result()->set_accepted(true);
  response.mutable_result()->mutable_timings()->set_batch_size(1);
  stream->Write(response);
}

LoadPlan PlanFor(const FakeServer& server, size_t streams, double rate_hz) {
  LoadPlan plan;
  plan.channel.server = server.address();
  plan.timeout_s = 10.0;
  plan.timing.streams = streams;
  plan.timing.rate_hz = rate_hz;
  plan.timing.ramp_s = 0.1;
  plan.timing.steady_s = 0.5;
  plan.maps = {"town", "yard"};
  return plan;
}

LoadResult RunOf(const LoadPlan& plan, const LoadDrive& drive) {
  const std::vector<LoadDrive> drives = {drive};
  const auto run = LoadRun::Open(plan, drives);
  EXPECT_TRUE(run.ok()) << run.status();
  if (!run.ok()) return {};
  return (*run)->Run(RunClock::Monotonic_ns(), [](int64_t, uint64_t) {});
}

void ExpectOneOutcomeEach(const Tally& tally) { EXPECT_EQ(tally.sent, tally.outcomes()); }

// What the streams of a run sent, by vehicle.
class Recorder {
 public:
  FakeBehaviour behaviour() {
    FakeBehaviour behaviour;
    behaviour.align_scans = [this](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
      const std::string vehicle = AnswerLoadOpen(stream);
      v1::AlignScansRequest request;
      while (stream->Read(&request)) {
        {
          const std::lock_guard<std::mutex> lock(mutex_);
          requests_[vehicle].push_back(request);
        }
        if (request.has_scan()) AnswerLoadScan(request.scan(), stream);
      }
      return grpc::Status::OK;
    };
    return behaviour;
  }

  std::map<std::string, std::vector<v1::AlignScansRequest>> requests() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return requests_;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<v1::AlignScansRequest>> requests_;
};

TEST(LoadRun, OpenLoopSendsEveryDueScanWithItsGuess) {
  Recorder recorder;
  FakeServer server(recorder.behaviour());
  const LoadResult result = RunOf(PlanFor(server, 4, 20.0), DriveOf(8));
  EXPECT_EQ(result.engine, "fake");
  EXPECT_EQ(result.scans, 8u);
  const Tally& tally = result.tally;
  EXPECT_EQ(tally.sent, 4u * 10u);
  EXPECT_EQ(tally.answered, 40u);
  EXPECT_EQ(tally.accepted, 40u);
  EXPECT_EQ(tally.lost + tally.unsent + tally.duplicated + tally.streams_ended, 0u);
  EXPECT_EQ(tally.latency.count(), 40u);

  const auto requests = recorder.requests();
  ASSERT_EQ(requests.size(), 4u);
  std::set<double> first;
  for (const auto& [vehicle, messages] : requests) {
    const v1::Scan* previous = nullptr;
    for (const v1::AlignScansRequest& message : messages) {
      const v1::Scan& scan = message.scan();
      const double x = scan.guess_map_t_base().pose().position().x();
      if (previous == nullptr) {
        first.insert(x);
      } else {
        EXPECT_EQ(static_cast<int>(x),
                  (static_cast<int>(previous->guess_map_t_base().pose().position().x()) + 1) % 8);
        EXPECT_NEAR(static_cast<double>(scan.stamp_ns() - previous->stamp_ns()), 5e7, 2.0);
      }
      float point = -1.0f;
      std::memcpy(&point, scan.clouds(0).cloud().data().data(), sizeof(point));
      EXPECT_EQ(point, static_cast<float>(x));
      previous = &scan;
    }
  }
  EXPECT_EQ(first, (std::set<double>{0.0, 2.0, 4.0, 6.0}));
}

TEST(LoadRun, PosesComeInPlaceOfGuessesWithTheWallClocksStamps) {
  Recorder recorder;
  FakeServer server(recorder.behaviour());
  LoadPlan plan = PlanFor(server, 2, 20.0);
  plan.timing.pose_rate_hz = 100.0;
  const LoadResult result = RunOf(plan, DriveOf(5));
  EXPECT_EQ(result.tally.answered, 2u * 10u);
  EXPECT_EQ(result.tally.poses_rejected, 0u);
  size_t poses = 0;
  for (const auto& [vehicle, messages] : recorder.requests()) {
    int64_t last_stamp_ns = 0;
    double last_x = 0.0;
    for (const v1::AlignScansRequest& message : messages) {
      if (message.has_pose()) {
        ++poses;
        EXPECT_GT(message.pose().stamp_ns(), last_stamp_ns);
        last_stamp_ns = message.pose().stamp_ns();
        last_x = message.pose().map_t_base().pose().position().x();
        continue;
      }
      EXPECT_FALSE(message.scan().has_guess_map_t_base());
      EXPECT_NEAR(static_cast<double>(message.scan().stamp_ns() - last_stamp_ns), 0.0, 2.0);
      float point = -1.0f;
      std::memcpy(&point, message.scan().clouds(0).cloud().data().data(), sizeof(point));
      EXPECT_NEAR(last_x, static_cast<double>(point), 1e-6);
    }
    const int64_t now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
    EXPECT_LT(last_stamp_ns, now_ns);
    EXPECT_GT(last_stamp_ns, now_ns - int64_t{120'000'000'000});
  }
  EXPECT_EQ(result.tally.poses_sent, poses);
}

TEST(LoadRun, ClosedLoopKeepsOneScanOnItsWay) {
  Recorder recorder;
  FakeServer server(recorder.behaviour());
  const LoadResult result = RunOf(PlanFor(server, 3, 0.0), DriveOf(4));
  ExpectOneOutcomeEach(result.tally);
  EXPECT_GT(result.tally.answered, 3u);
  EXPECT_EQ(result.tally.lost + result.tally.unsent, 0u);
  EXPECT_GT(result.tally.arrivals, 0u);
}

// Holds the thread that takes the reply up where it has asked for the time to send the next scan:
// until the session is half-closed, which it must not be before that scan has its reply, or until
// some time after the end of the run.
class ClockOfASlowThread : public RunClock {
 public:
  explicit ClockOfASlowThread(int64_t end_ns)
      : RunClock(RunClock::Monotonic_ns()), end_ns_(end_ns) {}

  // The next thread that asks for the time takes the reply, and then looks whether there is time
  // for another scan.
  void ExpectReply() { calls_until_held_ = 2; }
  void EndHold() { hold_ended_ = true; }

  [[nodiscard]] int64_t Now_ns() const override {
    const int64_t now_ns = RunClock::Now_ns();
    if (calls_until_held_ == 0 || --calls_until_held_ > 0) return now_ns;
    while (!hold_ended_ && RunClock::Now_ns() < end_ns_ + 200'000'000) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return now_ns;
  }

 private:
  const int64_t end_ns_;
  mutable std::atomic<int> calls_until_held_{0};
  std::atomic<bool> hold_ended_{false};
};

TEST(LoadRun, ClosedLoopIsNotClosedBetweenAReplyAndTheNextScan) {
  const LoadDrive drive = DriveOf(2);
  LoadStreamOptions options;
  options.drive = &drive;
  options.timing.steady_s = 0.5;
  ClockOfASlowThread clock(options.timing.end_ns());
  FakeBehaviour behaviour;
  behaviour.align_scans = [&clock](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    AnswerLoadOpen(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      if (request.scan().sequence() == 1) {
        // By then the stream's own thread waits for the end of the run.
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        clock.ExpectReply();
      }
      AnswerLoadScan(request.scan(), stream);
    }
    clock.EndHold();
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  client::ChannelOptions channel;
  channel.server = server.address();
  const auto stream = LoadStream::Open(channel, options);
  ASSERT_TRUE(stream.ok()) << stream.status();
  (*stream)->Start(clock);
  const Tally tally = (*stream)->Finish();
  EXPECT_EQ(tally.streams_ended, 0u) << tally.problems.begin()->first;
  EXPECT_EQ(tally.unsent, 0u);
  EXPECT_GT(tally.sent, 0u);  // 2, but on a machine that is slower than the run is long
  EXPECT_EQ(tally.answered, tally.sent);
}

TEST(LoadRun, AProcessOpensItsShareOfTheStreams) {
  Recorder recorder;
  FakeServer server(recorder.behaviour());
  LoadPlan plan = PlanFor(server, 5, 20.0);
  plan.process = 1;
  plan.processes = 2;
  EXPECT_EQ(RunOf(plan, DriveOf(8)).tally.answered, 2u * 10u);
  std::set<std::string> vehicles;
  for (const auto& entry : recorder.requests()) vehicles.insert(entry.first);
  EXPECT_EQ(vehicles, (std::set<std::string>{"voxloc load-test 1", "voxloc load-test 3"}));
}

TEST(LoadRun, ClosedLoopGoesOnAfterAScanThatIsNotAnswered) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    AnswerLoadOpen(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      if (request.scan().sequence() % 2 == 1) AnswerLoadScan(request.scan(), stream);
    }
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  LoadPlan plan = PlanFor(server, 1, 0.0);
  plan.timeout_s = 0.1;
  plan.timing.ramp_s = 0.0;
  plan.timing.steady_s = 1.0;
  const Tally tally = RunOf(plan, DriveOf(2)).tally;
  ExpectOneOutcomeEach(tally);
  EXPECT_GE(tally.lost, 2u);
  EXPECT_GE(tally.answered, tally.lost);
}

TEST(LoadRun, OpenLoopCountsWhatIsNeverAnsweredAndWhatIsAnsweredTwice) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    AnswerLoadOpen(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      if (request.scan().sequence() % 2 == 0) continue;
      AnswerLoadScan(request.scan(), stream);
      AnswerLoadScan(request.scan(), stream);
    }
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  LoadPlan plan = PlanFor(server, 1, 20.0);
  plan.timeout_s = 1.0;
  plan.timing.ramp_s = 0.0;
  const Tally tally = RunOf(plan, DriveOf(2)).tally;
  ExpectOneOutcomeEach(tally);
  EXPECT_EQ(tally.sent, 10u);
  EXPECT_EQ(tally.answered, 5u);
  EXPECT_EQ(tally.lost, 5u);
  EXPECT_EQ(tally.duplicated, 5u);
}

TEST(LoadRun, ASessionThatTheServerEndsLeavesTheRestUnsent) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    AnswerLoadOpen(stream);
    v1::AlignScansRequest request;
    for (int i = 0; i < 3 && stream->Read(&request); ++i) AnswerLoadScan(request.scan(), stream);
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "that is all");
  };
  FakeServer server(behaviour);
  for (const double rate_hz : {20.0, 0.0}) {
    LoadPlan plan = PlanFor(server, 2, rate_hz);
    plan.timing.ramp_s = 0.0;
    const Tally tally = RunOf(plan, DriveOf(2)).tally;
    ExpectOneOutcomeEach(tally);
    EXPECT_EQ(tally.answered, 2u * 3u);
    EXPECT_EQ(tally.streams_ended, 2u);
    EXPECT_EQ(tally.problems.size(), 1u);
    EXPECT_THAT(tally.problems.begin()->first, ::testing::HasSubstr("that is all"));
    if (rate_hz > 0.0) {
      EXPECT_EQ(tally.due(), 2u * 10u);
    }
  }
}

TEST(LoadRun, EveryScanHasAnOutcomeWhenTheServerRestarts) {
  Recorder recorder;
  FakeServer server(recorder.behaviour());
  LoadPlan plan = PlanFor(server, 3, 50.0);
  plan.timing.ramp_s = 0.0;
  plan.timing.steady_s = 2.0;
  const std::vector<LoadDrive> drives = {DriveOf(4)};
  const auto run = LoadRun::Open(plan, drives);
  ASSERT_TRUE(run.ok()) << run.status();
  LoadResult result;
  std::atomic<uint64_t> answers{0};
  std::thread running([&] {
    result = (*run)->Run(RunClock::Monotonic_ns(),
                         [&answers](int64_t, uint64_t so_far) { answers = so_far; });
  });
  EXPECT_TRUE(Eventually([&answers] { return answers > 0; }));
  server.Stop();
  server.Start();
  running.join();
  ExpectOneOutcomeEach(result.tally);
  EXPECT_EQ(result.tally.due(), 3u * 100u);
  const Tally& tally = result.tally;
  EXPECT_EQ(tally.answered + tally.local_stale + tally.local_superseded, tally.sent);
  EXPECT_EQ(tally.lost + tally.unsent + tally.duplicated, 0u);
  EXPECT_EQ(tally.latency.count(), tally.answered);
  EXPECT_GE(result.tally.reconnects, 3u);
}

// Answers each scan after a while, so that some are on their way when their session is cancelled.
FakeBehaviour AnswersAfter(std::chrono::milliseconds delay) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [delay](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    AnswerLoadOpen(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      std::this_thread::sleep_for(delay);
      if (request.has_scan()) AnswerLoadScan(request.scan(), stream);
    }
    return grpc::Status::OK;
  };
  return behaviour;
}

TEST(LoadRun, CancelsTheStatedShareOfTheScansWithTheirSessions) {
  FakeServer server(AnswersAfter(std::chrono::milliseconds(2)));
  for (const double rate_hz : {50.0, 0.0}) {
    LoadPlan plan = PlanFor(server, 4, rate_hz);
    plan.timing.ramp_s = 0.0;
    plan.timing.steady_s = 2.0;
    plan.faults.cancel_percent = 20.0;
    const Tally tally = RunOf(plan, DriveOf(4)).tally;
    EXPECT_EQ(tally.sent, tally.outcomes());
    EXPECT_EQ(tally.lost + tally.unsent + tally.duplicated, 0u);
    EXPECT_EQ(tally.streams_ended, 0u) << tally.problems.begin()->first;
    EXPECT_EQ(tally.reconnects, 0u) << "a session that was cancelled is not one that was lost";
    // A scan whose reply was faster is followed by another one; the last may be owed.
    EXPECT_NEAR(static_cast<double>(tally.cancelled), 0.2 * static_cast<double>(tally.sent),
                4.0 + 0.05 * static_cast<double>(tally.sent))
        << rate_hz;
    EXPECT_GE(tally.cancelled, tally.sessions_cancelled);
    EXPECT_GT(tally.sessions_cancelled, 4u);
    EXPECT_EQ(tally.latency.count(), tally.answered);
  }
}

TEST(LoadRun, SlowReadersAreCancelledLikeOthers) {
  FakeServer server(AnswersAfter(std::chrono::milliseconds(1)));
  for (const double rate_hz : {100.0, 0.0}) {
    LoadPlan plan = PlanFor(server, 2, rate_hz);
    plan.timing.ramp_s = 0.0;
    plan.timing.steady_s = 1.0;
    plan.faults.cancel_percent = 25.0;
    plan.faults.slow_readers = 2;
    plan.faults.read_delay_s = 0.02;
    const Tally tally = RunOf(plan, DriveOf(4)).tally;
    ExpectOneOutcomeEach(tally);
    EXPECT_EQ(tally.lost + tally.duplicated + tally.streams_ended, 0u);
    EXPECT_GT(tally.cancelled, 4u) << rate_hz;
    EXPECT_EQ(tally.latency.count(), 0u);
  }
}

TEST(LoadRun, SlowReadersHoldNobodyElseUp) {
  Recorder recorder;
  FakeServer server(recorder.behaviour());
  LoadPlan plan = PlanFor(server, 3, 50.0);
  plan.timing.ramp_s = 0.0;
  plan.timing.steady_s = 1.0;
  plan.faults.slow_readers = 1;
  plan.faults.read_delay_s = 60.0;  // until the end of the run
  const Tally tally = RunOf(plan, DriveOf(4)).tally;
  EXPECT_EQ(tally.sent, 3u * 50u);
  EXPECT_EQ(tally.answered, 150u) << "after the run it reads on";
  EXPECT_EQ(tally.latency.count(), 100u);
  EXPECT_LE(tally.arrivals, 100u + 1u);
}

TEST(LoadRun, AServerThatDoesNotAnswerIsAnError) {
  LoadPlan plan;
  plan.channel.server = "127.0.0.1:1";
  plan.timeout_s = 5.0;
  plan.maps = {"town"};
  const std::vector<LoadDrive> drives = {DriveOf(1)};
  EXPECT_EQ(LoadRun::Open(plan, drives).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace voxloc::cli
