// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "clients/cli/load_test/load_schedule.h"

namespace voxloc::cli {
namespace {

LoadTiming Timing(size_t streams, double rate_hz, double pose_rate_hz, double ramp_s) {
  LoadTiming timing;
  timing.streams = streams;
  timing.rate_hz = rate_hz;
  timing.pose_rate_hz = pose_rate_hz;
  timing.ramp_s = ramp_s;
  timing.steady_s = 2.0;
  return timing;
}

std::vector<DueMessage> AllDue(const LoadTiming& timing, size_t stream) {
  StreamSchedule schedule(timing, stream);
  std::vector<DueMessage> due;
  while (const auto next = schedule.Next()) due.push_back(*next);
  return due;
}

TEST(StreamSchedule, ScansOfAllStreamsComeAtEvenTimesInTheSteadyPart) {
  const LoadTiming timing = Timing(8, 10.0, 0.0, 1.0);
  std::multiset<int64_t> times;
  for (size_t s = 0; s < timing.streams; ++s) {
    for (const DueMessage& due : AllDue(timing, s)) {
      if (timing.IsSteady(due.due_ns)) times.insert(due.due_ns);
    }
  }
  ASSERT_EQ(times.size(), 8u * 10u * 2u);
  int64_t previous = *times.begin() - 12'500'000;
  for (const int64_t time : times) {
    EXPECT_EQ(time - previous, 12'500'000);  // 1 s / (8 * 10)
    previous = time;
  }
}

TEST(StreamSchedule, StreamsStartOneAfterAnotherOverTheRamp) {
  const LoadTiming timing = Timing(5, 20.0, 0.0, 3.0);
  for (size_t s = 0; s < timing.streams; ++s) {
    const auto share_ns = static_cast<int64_t>(s) * 600'000'000;  // 3 s / 5
    EXPECT_EQ(StreamSchedule(timing, s).start_ns(), share_ns);
    const int64_t first_ns = AllDue(timing, s).front().due_ns;
    EXPECT_GE(first_ns, share_ns);
    EXPECT_LT(first_ns, share_ns + 50'000'000);  // a period later at most
  }
}

TEST(StreamSchedule, EveryScanIsOnePeriodAfterTheLastAndNoneIsAtTheEnd) {
  for (const double rate_hz : {0.7, 3.0, 10.0, 313.0}) {
    const LoadTiming timing = Timing(3, rate_hz, 0.0, 0.0);
    const std::vector<DueMessage> due = AllDue(timing, 1);
    ASSERT_FALSE(due.empty());
    for (size_t i = 0; i < due.size(); ++i) {
      EXPECT_EQ(due[i].position, static_cast<double>(i));
      EXPECT_NEAR(static_cast<double>(due[i].due_ns - due[0].due_ns),
                  1e9 * static_cast<double>(i) / rate_hz, 2.0);
    }
    EXPECT_LT(due.back().due_ns, timing.end_ns());
    EXPECT_GE(static_cast<double>(due.back().due_ns) + 1e9 / rate_hz,
              static_cast<double>(timing.end_ns()) - 2.0);
  }
}

TEST(StreamSchedule, APoseComesBeforeEachScanOfItsTimeAndTwoBeforeTheFirst) {
  for (const double rate_hz : {10.0, 3.0, 7.0}) {
    const LoadTiming timing = Timing(4, rate_hz, 5.0 * rate_hz, 0.5);
    const std::vector<DueMessage> due = AllDue(timing, 3);
    ASSERT_GT(due.size(), 8u);
    size_t poses = 0;
    size_t scans = 0;
    for (size_t i = 0; i < due.size(); ++i) {
      if (due[i].kind == DueMessage::Kind::kPose) {
        ++poses;
        continue;
      }
      if (scans == 0) {
        EXPECT_GE(poses, 2u);
      } else {
        EXPECT_EQ(poses, 5u);
      }
      EXPECT_EQ(due[i - 1].kind, DueMessage::Kind::kPose);
      EXPECT_NEAR(static_cast<double>(due[i - 1].due_ns), static_cast<double>(due[i].due_ns), 2.0);
      EXPECT_NEAR(due[i - 1].position, due[i].position, 1e-6);
      poses = 0;
      ++scans;
    }
    EXPECT_GT(scans, 3u);
  }
}

TEST(StreamSchedule, PosesOfAnyRateComeInTheOrderOfTime) {
  const std::vector<DueMessage> due = AllDue(Timing(2, 10.0, 23.0, 0.0), 1);
  EXPECT_TRUE(std::is_sorted(due.begin(), due.end(), [](const DueMessage& a, const DueMessage& b) {
    return a.due_ns < b.due_ns;
  }));
  const auto poses = std::count_if(due.begin(), due.end(), [](const DueMessage& message) {
    return message.kind == DueMessage::Kind::kPose;
  });
  EXPECT_NEAR(static_cast<double>(poses), 2.0 * 23.0, 2.0);
}

TEST(StreamAssignment, SpreadsTheStreamsOfADriveOverItsScans) {
  const std::vector<size_t> drives = {100, 30};
  std::multiset<size_t> first, second;
  for (size_t s = 0; s < 7; ++s) {
    const StreamAssignment assignment = AssignStream(s, 7, drives, 3);
    EXPECT_EQ(assignment.drive, s % 2);
    EXPECT_EQ(assignment.map, s % 3);
    (assignment.drive == 0 ? first : second).insert(assignment.first_scan);
  }
  EXPECT_EQ(first, (std::multiset<size_t>{0, 25, 50, 75}));
  EXPECT_EQ(second, (std::multiset<size_t>{0, 10, 20}));
  // More streams than scans.
  for (size_t s = 0; s < 50; ++s) EXPECT_LT(AssignStream(s, 50, {3}, 1).first_scan, 3u);
}

TEST(LoadDrive, GuessesLieBetweenThoseOfTheScansAndRepeat) {
  LoadDrive drive;
  drive.scans.resize(3);
  for (const double x : {0.0, 10.0, 14.0}) {
    const Eigen::AngleAxisd turn(0.1 * x, Eigen::Vector3d::UnitZ());
    drive.guesses_map_T_base.push_back({Eigen::Vector3d(x, 1.0, 0.0), Eigen::Quaterniond(turn)});
  }
  const auto expect_at = [&drive](double position, double x) {
    const Pose pose = drive.GuessAt(position);
    EXPECT_NEAR(pose.translation.x(), x, 1e-9) << position;
    const Eigen::AngleAxisd turn(0.1 * x, Eigen::Vector3d::UnitZ());
    EXPECT_NEAR(pose.rotation.angularDistance(Eigen::Quaterniond(turn)), 0.0, 1e-7) << position;
  };
  expect_at(0.0, 0.0);
  expect_at(0.25, 2.5);
  expect_at(1.5, 12.0);
  expect_at(3.0, 0.0);
  expect_at(7.5, 12.0);
  expect_at(-1.5, 12.0);
  // No way leads from the end to the beginning.
  expect_at(2.4, 14.0);
  expect_at(2.6, 0.0);
  expect_at(-0.1, 0.0);
}

}  // namespace
}  // namespace voxloc::cli
