// SPDX-License-Identifier: Apache-2.0
//
// Whole runs against a server that answers as the test says. In open loop the schedule says how
// many scans are due, however late they are sent. In closed loop the number that fits into a time
// depends on the machine, so that the tests end those runs after a number of scans.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/load_test/load_run.h"
#include "clients/cli/load_test/load_schedule.h"
#include "clients/cpp/messages.h"
#include "tests/clients/cpp/fake_server.h"
#include "tests/support/eventually.h"

namespace voxloc::cli {
namespace {

using client::FakeBehaviour;
using client::FakeServer;

// Nothing here takes that long, `open` on a busy machine neither.
constexpr double kLongTimeout_s = 600.0;

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
  plan.timeout_s = kLongTimeout_s;
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

// Ends the run after `count` calls of CountDown, or at the latest after 3 * kTestTimeout.
class CountdownClock : public RunClock {
 public:
  CountdownClock(const LoadTiming& timing, int count)
      : RunClock(RunClock::Monotonic_ns()), end_ns_(timing.end_ns()), left_(count) {}

  void CountDown() { --left_; }

  [[nodiscard]] bool ended() const {
    return left_ <= 0 || RunClock::Now_ns() > absl::ToInt64Nanoseconds(3 * kTestTimeout);
  }

  [[nodiscard]] int64_t Now_ns() const override {
    const int64_t now_ns = RunClock::Now_ns();
    return ended() ? std::max(now_ns, end_ns_) : std::min(now_ns, end_ns_ - 1);
  }

 private:
  const int64_t end_ns_;
  std::atomic<int> left_;
};

// A clock that the test can advance, to trigger timeouts and the end of the run.
class SkippingClock : public RunClock {
 public:
  SkippingClock() : RunClock(RunClock::Monotonic_ns()) {}
  void Skip(double seconds) { skipped_ns_ += static_cast<int64_t>(1e9 * seconds); }
  [[nodiscard]] int64_t Now_ns() const override { return RunClock::Now_ns() + skipped_ns_; }

 private:
  std::atomic<int64_t> skipped_ns_{0};
};

// A closed loop waits for a timeout or the end by the machine's clock, unless it may have to cancel
// a scan: then it asks the test's clock 20 times a second. So small a share cancels none.
constexpr double kNegligibleCancel_percent = 1e-9;

// All streams of the plan, with the test's clock.
Tally TallyOf(const LoadPlan& plan, const LoadDrive& drive, const RunClock& clock) {
  std::vector<std::unique_ptr<LoadStream>> streams;
  for (size_t i = 0; i < plan.timing.streams; ++i) {
    LoadStreamOptions options;
    options.stream = i;
    options.timing = plan.timing;
    options.timeout_s = plan.timeout_s;
    options.drive = &drive;
    options.open.mutable_setup()->set_vehicle(absl::StrCat(i));
    options.faults = plan.faults;
    absl::StatusOr<std::unique_ptr<LoadStream>> stream = LoadStream::Open(plan.channel, options);
    EXPECT_TRUE(stream.ok()) << stream.status();
    if (!stream.ok()) return {};
    streams.push_back(*std::move(stream));
  }
  for (const auto& stream : streams) stream->Start(clock);
  Tally tally;
  for (const auto& stream : streams) tally.Merge(stream->Finish());
  return tally;
}

absl::StatusOr<std::unique_ptr<LoadStream>> OpenStream(const FakeServer& server,
                                                       const LoadStreamOptions& options) {
  client::ChannelOptions channel;
  channel.server = server.address();
  return LoadStream::Open(channel, options);
}

// A closed loop that ends when the test's clock says so.
LoadPlan ClosedLoopPlan(size_t streams, double cancel_percent) {
  LoadPlan plan;
  plan.timeout_s = kLongTimeout_s;
  plan.timing.streams = streams;
  plan.timing.steady_s = kLongTimeout_s;
  plan.faults.cancel_percent = cancel_percent;
  return plan;
}

// A plan without a ramp.
LoadPlan SteadyPlanFor(const FakeServer& server, size_t streams, double rate_hz, double steady_s) {
  LoadPlan plan = PlanFor(server, streams, rate_hz);
  plan.timing.ramp_s = 0.0;
  plan.timing.steady_s = steady_s;
  return plan;
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
                               // Real time: stamps of replies are of this clock.
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
    // Of the wall clock, not the machine's uptime.
    EXPECT_NEAR(static_cast<double>(last_stamp_ns), static_cast<double>(now_ns), 3600e9);
  }
  EXPECT_EQ(result.tally.poses_sent, poses);
}

TEST(LoadRun, ClosedLoopKeepsOneScanOnItsWay) {
  LoadPlan plan = ClosedLoopPlan(3, kNegligibleCancel_percent);
  CountdownClock clock(plan.timing, 12);
  FakeBehaviour behaviour;
  behaviour.align_scans = [&clock](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    AnswerLoadOpen(stream);
    v1::AlignScansRequest request;
    for (uint64_t sequence = 1; stream->Read(&request); ++sequence) {
      EXPECT_EQ(request.scan().sequence(), sequence);
      clock.CountDown();
      AnswerLoadScan(request.scan(), stream);
    }
    return grpc::Status::OK;
  };
  const FakeServer server(behaviour);
  plan.channel.server = server.address();
  const Tally tally = TallyOf(plan, DriveOf(4), clock);
  ExpectOneOutcomeEach(tally);
  // Each scan but the first of a stream was sent because a reply had arrived.
  EXPECT_GE(tally.sent, 12u);
  EXPECT_EQ(tally.answered, tally.sent);
  EXPECT_GE(tally.arrivals, 12u - 3u);
  EXPECT_EQ(tally.lost + tally.unsent + tally.duplicated, 0u);
}

// Blocks the thread that handles a reply when it reads the clock to send the next scan: until
// Unblock, called when the session is half-closed (too early before that scan is answered), or
// until some time after the end of the run. The run does not end before a thread is blocked.
class BlockingClock : public RunClock {
 public:
  explicit BlockingClock(int64_t end_ns) : RunClock(RunClock::Monotonic_ns()), end_ns_(end_ns) {}

  // The next thread that asks for the time takes the reply, and then looks whether there is time
  // for another scan.
  void BlockAfterReply() { calls_until_blocked_ = 2; }
  void Unblock() { unblocked_ = true; }

  [[nodiscard]] int64_t Now_ns() const override {
    if (blocked_) return RunClock::Now_ns();
    const int64_t now_ns = std::min(RunClock::Now_ns(), end_ns_ - 1);
    if (calls_until_blocked_ == 0 || --calls_until_blocked_ > 0) return now_ns;
    blocked_ = true;
    while (!unblocked_ && RunClock::Now_ns() < end_ns_ + 200'000'000) {
      // Real time: the thread that is held looks again.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return now_ns;
  }

 private:
  const int64_t end_ns_;
  mutable std::atomic<int> calls_until_blocked_{0};
  mutable std::atomic<bool> blocked_{false};
  std::atomic<bool> unblocked_{false};
};

TEST(LoadRun, ClosedLoopIsNotClosedBetweenAReplyAndTheNextScan) {
  const LoadDrive drive = DriveOf(2);
  LoadStreamOptions options;
  options.drive = &drive;
  options.timing.steady_s = 0.5;
  options.timeout_s = kLongTimeout_s;
  BlockingClock clock(options.timing.end_ns());
  FakeBehaviour behaviour;
  behaviour.align_scans = [&clock](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    AnswerLoadOpen(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      if (request.scan().sequence() == 1) {
        // Real time: by then the stream's own thread waits for the end of the run.
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        clock.BlockAfterReply();
      }
      AnswerLoadScan(request.scan(), stream);
    }
    clock.Unblock();
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  const auto stream = OpenStream(server, options);
  ASSERT_TRUE(stream.ok()) << stream.status();
  (*stream)->Start(clock);
  const Tally tally = (*stream)->Finish();
  EXPECT_EQ(tally.streams_ended, 0u) << tally.problems.begin()->first;
  EXPECT_EQ(tally.unsent, 0u);
  EXPECT_GT(tally.sent, 0u);
  EXPECT_EQ(tally.answered, tally.sent);
}

TEST(LoadRun, ClosedLoopGoesOnAfterAScanThatIsNotAnswered) {
  LoadPlan plan;
  plan.timeout_s = 1000.0;
  plan.timing.steady_s = 10'000.0;
  plan.faults.cancel_percent = kNegligibleCancel_percent;
  SkippingClock clock;
  FakeBehaviour behaviour;
  behaviour.align_scans = [&](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    AnswerLoadOpen(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      if (request.scan().sequence() % 2 == 1) AnswerLoadScan(request.scan(), stream);
      if (request.scan().sequence() % 2 == 0) clock.Skip(plan.timeout_s);
      if (request.scan().sequence() == 5) clock.Skip(plan.timing.steady_s + plan.timeout_s);
    }
    return grpc::Status::OK;
  };
  const FakeServer server(behaviour);
  plan.channel.server = server.address();
  const Tally tally = TallyOf(plan, DriveOf(2), clock);
  ExpectOneOutcomeEach(tally);
  EXPECT_GE(tally.sent, 5u);
  EXPECT_GE(tally.lost, 2u) << "the second and the fourth";
  EXPECT_GE(tally.answered, 2u) << "the first and the third; the fifth may come after the end";
  EXPECT_EQ(tally.answered + tally.lost, tally.sent);
}

TEST(LoadRun, OpenLoopCountsWhatIsNeverAnsweredAndWhatIsAnsweredTwice) {
  constexpr uint64_t kScans = 11;
  FakeBehaviour behaviour;
  behaviour.align_scans = [](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    AnswerLoadOpen(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      if (request.scan().sequence() % 2 == 0) continue;
      AnswerLoadScan(request.scan(), stream);
      // All replies have come when the last scan has its only one.
      if (request.scan().sequence() < kScans) AnswerLoadScan(request.scan(), stream);
    }
    return grpc::Status::OK;
  };
  const FakeServer server(behaviour);
  LoadStreamOptions options;
  options.timing.rate_hz = 20.0;
  options.timing.steady_s = 0.05 * static_cast<double>(kScans);
  options.timeout_s = kLongTimeout_s;
  const LoadDrive drive = DriveOf(2);
  options.drive = &drive;
  const auto stream = OpenStream(server, options);
  ASSERT_TRUE(stream.ok()) << stream.status();
  SkippingClock clock;
  (*stream)->Start(clock);
  EXPECT_TRUE(Eventually([&] { return (*stream)->replies() == 6; }));
  clock.Skip(options.timing.steady_s + options.timeout_s);
  const Tally tally = (*stream)->Finish();
  ExpectOneOutcomeEach(tally);
  EXPECT_EQ(tally.sent, kScans);
  EXPECT_EQ(tally.answered, 6u);
  EXPECT_EQ(tally.lost, 5u);
  EXPECT_EQ(tally.duplicated, 5u);
}

TEST(LoadRun, ASessionThatTheServerEndsLeavesTheRestUnsent) {
  for (const double rate_hz : {20.0, 0.0}) {
    LoadPlan plan;
    plan.timeout_s = kLongTimeout_s;
    plan.timing.streams = 2;
    plan.timing.rate_hz = rate_hz;
    plan.timing.steady_s = rate_hz > 0.0 ? 0.5 : kLongTimeout_s;
    const CountdownClock clock(plan.timing, 1);  // the sessions end, and not the run
    FakeBehaviour behaviour;
    behaviour.align_scans = [](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
      AnswerLoadOpen(stream);
      v1::AlignScansRequest request;
      for (int i = 0; i < 3 && stream->Read(&request); ++i) AnswerLoadScan(request.scan(), stream);
      return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "that is all");
    };
    const FakeServer server(behaviour);
    plan.channel.server = server.address();
    const Tally tally = TallyOf(plan, DriveOf(2), clock);
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
  // Before the restart, each stream has a scan that is not answered: it has to connect again.
  std::atomic<int> waiting{0};
  std::atomic<bool> restarted{false};
  FakeBehaviour behaviour;
  behaviour.align_scans = [&](grpc::ServerContext* context, FakeBehaviour::AlignStream* stream) {
    AnswerLoadOpen(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      if (restarted || request.scan().sequence() == 1) {
        AnswerLoadScan(request.scan(), stream);
        continue;
      }
      ++waiting;
      EXPECT_TRUE(Eventually([context] { return context->IsCancelled(); }, 4 * kTestTimeout));
      break;
    }
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  LoadPlan plan = SteadyPlanFor(server, 3, 50.0, 2.0);
  const std::vector<LoadDrive> drives = {DriveOf(4)};
  const auto run = LoadRun::Open(plan, drives);
  ASSERT_TRUE(run.ok()) << run.status();
  LoadResult result;
  std::thread running(
      [&] { result = (*run)->Run(RunClock::Monotonic_ns(), [](int64_t, uint64_t) {}); });
  EXPECT_TRUE(Eventually([&waiting] { return waiting == 3; }));
  restarted = true;
  server.Stop();
  server.Start();
  running.join();
  const Tally& tally = result.tally;
  ExpectOneOutcomeEach(tally);
  EXPECT_EQ(tally.due(), 3u * 100u);
  EXPECT_EQ(tally.answered + tally.local_stale + tally.local_superseded, tally.sent);
  EXPECT_EQ(tally.lost + tally.unsent + tally.duplicated, 0u);
  EXPECT_EQ(tally.latency.count(), tally.answered);
  EXPECT_GE(tally.reconnects, 3u);
}

// Answers no scan of a vehicle's first session, so that there is something to cancel, and all later
// ones.
class SilentAtFirst {
 public:
  FakeBehaviour behaviour() {
    FakeBehaviour behaviour;
    behaviour.align_scans = [this](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
      const std::string vehicle = AnswerLoadOpen(stream);
      bool first = false;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        first = vehicles_.insert(vehicle).second;
      }
      v1::AlignScansRequest request;
      while (stream->Read(&request)) {
        if (!first) AnswerLoadScan(request.scan(), stream);
      }
      return grpc::Status::OK;
    };
    return behaviour;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> vehicles_;
};

// Of each session, answers three scans and no fourth one before the end of the run: where a quarter
// of the scans is to be cancelled, it is cancelled at the latest. Counts those.
FakeBehaviour AnswersNoFourthScan(CountdownClock* clock) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [clock](grpc::ServerContext* context,
                                  FakeBehaviour::AlignStream* stream) {
    AnswerLoadOpen(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      if (request.scan().sequence() == 4) {
        clock->CountDown();
        EXPECT_TRUE(
            Eventually([&] { return context->IsCancelled() || clock->ended(); }, 4 * kTestTimeout));
      }
      AnswerLoadScan(request.scan(), stream);
    }
    return grpc::Status::OK;
  };
  return behaviour;
}

void ExpectOnlyCancelledSessions(const Tally& tally) {
  ExpectOneOutcomeEach(tally);
  EXPECT_EQ(tally.lost + tally.unsent + tally.duplicated, 0u);
  EXPECT_EQ(tally.streams_ended, 0u) << tally.problems.begin()->first;
  EXPECT_EQ(tally.reconnects, 0u) << "a session that was cancelled is not one that was lost";
  EXPECT_GE(tally.cancelled, tally.sessions_cancelled);
}

TEST(LoadRun, OpenLoopCancelsScansWithTheirSessions) {
  SilentAtFirst silent;
  const FakeServer server(silent.behaviour());
  LoadPlan plan = SteadyPlanFor(server, 4, 50.0, 1.0);
  plan.faults.cancel_percent = 20.0;
  const Tally tally = RunOf(plan, DriveOf(4)).tally;
  ExpectOnlyCancelledSessions(tally);
  EXPECT_EQ(tally.sent, 4u * 50u);
  EXPECT_GE(tally.sessions_cancelled, 4u) << "the first of each stream";
  EXPECT_EQ(tally.latency.count(), tally.answered);
}

TEST(LoadRun, ClosedLoopCancelsTheStatedShareOfTheScansWithTheirSessions) {
  LoadPlan plan = ClosedLoopPlan(4, 25.0);
  CountdownClock clock(plan.timing, 24);
  const FakeServer server(AnswersNoFourthScan(&clock));
  plan.channel.server = server.address();
  const Tally tally = TallyOf(plan, DriveOf(4), clock);
  ExpectOnlyCancelledSessions(tally);
  EXPECT_EQ(tally.cancelled, tally.sessions_cancelled) << "one is on its way at a time";
  // The last one of each stream may have been answered at the end of the run.
  EXPECT_GE(tally.cancelled, 24u - 4u);
  // A stream owes a part of a scan when it begins. A scan whose reply was faster is followed by
  // another one, so that there is no lower bound.
  EXPECT_LE(static_cast<double>(tally.cancelled), 0.25 * static_cast<double>(tally.sent) + 4.0);
  EXPECT_EQ(tally.latency.count(), tally.answered);
}

TEST(LoadRun, SlowReadersAreCancelledLikeOthers) {
  LoadPlan plan = ClosedLoopPlan(2, 25.0);
  plan.faults.slow_readers = 2;
  plan.faults.read_delay_s = 0.02;
  CountdownClock clock(plan.timing, 6);
  const FakeServer closed_loop(AnswersNoFourthScan(&clock));
  plan.channel.server = closed_loop.address();
  const Tally tally = TallyOf(plan, DriveOf(4), clock);
  ExpectOnlyCancelledSessions(tally);
  EXPECT_GE(tally.cancelled, 6u - 2u);
  EXPECT_EQ(tally.latency.count(), 0u);

  SilentAtFirst silent;
  const FakeServer open_loop(silent.behaviour());
  plan.channel.server = open_loop.address();
  plan.maps = {"town"};
  plan.timing.rate_hz = 100.0;
  plan.timing.steady_s = 1.0;
  const Tally open_tally = RunOf(plan, DriveOf(4)).tally;
  ExpectOnlyCancelledSessions(open_tally);
  EXPECT_EQ(open_tally.sent, 2u * 100u);
  EXPECT_GE(open_tally.sessions_cancelled, 2u);
  EXPECT_EQ(open_tally.latency.count(), 0u);
}

TEST(LoadRun, SlowReadersHoldNobodyElseUp) {
  Recorder recorder;
  FakeServer server(recorder.behaviour());
  LoadPlan plan = SteadyPlanFor(server, 3, 50.0, 1.0);
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
  plan.timeout_s = kLongTimeout_s;
  plan.maps = {"town"};
  const std::vector<LoadDrive> drives = {DriveOf(1)};
  EXPECT_EQ(LoadRun::Open(plan, drives).status().code(), absl::StatusCode::kUnavailable);
}

// Far from the end of the run; with and without a schedule.
TEST(LoadRun, AStopKeepsWhatWasMeasuredAndEndsTheSending) {
  FakeBehaviour behaviour;
  behaviour.align_scans = [](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    AnswerLoadOpen(stream);
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      if (request.has_scan()) AnswerLoadScan(request.scan(), stream);
    }
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  const std::vector<LoadDrive> drives = {DriveOf(3)};
  for (const double rate_hz : {0.0, 50.0}) {
    LoadPlan plan = PlanFor(server, 2, rate_hz);
    plan.timing.steady_s = 10'000.0;
    const auto run = LoadRun::Open(plan, drives);
    ASSERT_TRUE(run.ok()) << run.status();
    uint64_t answers = 0;
    const LoadResult result = (*run)->Run(
        RunClock::Monotonic_ns(), [&answers](int64_t, uint64_t so_far) { answers = so_far; },
        [&answers] { return answers >= 20; });
    EXPECT_TRUE(result.interrupted);
    EXPECT_LT(result.steady_s, plan.timing.steady_s);
    EXPECT_EQ(result.tally.sent, result.tally.answered);
    EXPECT_EQ(result.tally.lost, 0u);
    EXPECT_EQ(result.tally.unsent, 0u) << "what was due after the end was not due";
  }
}

}  // namespace
}  // namespace voxloc::cli
