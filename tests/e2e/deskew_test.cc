// SPDX-License-Identifier: Apache-2.0
//
// A simulated drive with scans that are taken while the vehicle moves, through a live server: point
// times make the answers more accurate, and wrong times or a wrong motion are reported.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "clients/sim/drive.h"
#include "clients/sim/lidar.h"
#include "clients/sim/map_sampler.h"
#include "clients/sim/scenes.h"
#include "clients/sim/world.h"
#include "core/geometry/twist.h"
#include "server/convert/pose.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"
#include "tests/support/simulated.h"

namespace voxloc::server {
namespace {

constexpr int kScans = 40;
constexpr double kSweepS = 0.1;

struct SweptScan {
  sim::Sweep sweep;
  Pose map_T_base;  // at its first ray, the scan's stamp
  Twist base_twist;
  double stamp_s = 0.0;
};

struct SweptDrive {
  PointCloud map;
  std::vector<SweptScan> scans;
};

// A town of 100 m and a drive of 4 s through it, ten scans a second.
SweptDrive SimulateDrive() {
  SweptDrive drive;
  sim::TownOptions town;
  town.seed = 7;
  town.size_m = 100.0;
  const sim::World world = *sim::BuildTown(town);
  sim::MapSamplingOptions sampling;
  sampling.spacing_m = 0.2;
  drive.map = *sim::SampleMap(world, sampling, 2);
  sim::DriveOptions options;
  options.seed = 7;
  options.scans = kScans;
  options.tail_s = kSweepS;
  const sim::Drive way = *sim::Drive::Plan(world, options);
  sim::LidarOptions sensor;
  sensor.rings = 16;
  sensor.azimuth_steps = 360;
  const sim::Lidar lidar(sensor);
  const sim::RayCaster caster(world.scene, {});
  uint64_t number = 0;
  for (const sim::DrivePose& first : way.Scans()) {
    const auto pose_at = [&](double time_s) {
      return way.At(first.stamp_s + time_s).world_T_sensor;
    };
    SweptScan& scan = drive.scans.emplace_back();
    scan.sweep = lidar.ScanWhileMoving(
        [&](double time_s) -> sim::SweepMoment {
          return {pose_at(time_s), &caster};
        },
        kSweepS, number++);
    scan.map_T_base = first.world_T_sensor;
    scan.base_twist = MeanTwist(pose_at(0.0), pose_at(kSweepS), kSweepS);
    scan.stamp_s = first.stamp_s;
  }
  return drive;
}

const SweptDrive& SharedDrive() {
  static const SweptDrive drive = SimulateDrive();
  return drive;
}

// What a client does to a scan before it sends it.
using ScanEdit = std::function<void(SweptScan&)>;

v1::Scan Message(const SweptScan& scan, uint64_t sequence) {
  v1::Scan message;
  message.set_sequence(sequence);
  message.set_stamp_ns(1 + std::llround(scan.stamp_s * 1e9));
  v1::Cloud& cloud = *message.add_clouds()->mutable_cloud();
  const bool timed = !scan.sweep.time_s.empty();
  cloud.set_layout(timed ? v1::CLOUD_LAYOUT_FLOAT32_XYZT : v1::CLOUD_LAYOUT_FLOAT32_XYZ);
  std::string& data = *cloud.mutable_data();
  const PointCloud& points = scan.sweep.cloud;
  for (size_t i = 0; i < points.size(); ++i) {
    const float record[4] = {points.x[i], points.y[i], points.z[i],
                             timed ? scan.sweep.time_s[i] : 0.0F};
    data.append(reinterpret_cast<const char*>(record), (timed ? 4 : 3) * sizeof(float));
  }
  Pose guess = scan.map_T_base;
  guess.translation += Eigen::Vector3d(0.15, -0.1, 0.02);
  *message.mutable_guess_map_t_base()->mutable_pose() = PoseOf(guess);
  *message.mutable_odom_t_base() = PoseOf(scan.map_T_base);  // of odometry without an error
  VectorToProto(scan.base_twist.linear_m_s, *message.mutable_base_twist()->mutable_linear());
  VectorToProto(scan.base_twist.angular_rad_s, *message.mutable_base_twist()->mutable_angular());
  return message;
}

class SweptDriveTest : public EngineTest {
 protected:
  void SetUp() override {
    TestUpdate update(server_);
    update.Write(BeginRequest("town"));
    ASSERT_TRUE(update.Read().has_begun());
    update.Write(TileRequest("all", SharedDrive().map));
    ASSERT_TRUE(update.Read().has_tile_added());
    update.Write(CommitRequest());
    ASSERT_TRUE(update.Read().has_committed());
    ASSERT_TRUE(update.Finish().ok());
  }

  struct Outcome {
    double error_m = 0.0;  // mean of the accepted
    int accepted = 0;
    v1::SweepCheck last;
    int suspect = 0;
    bool deskewed = false;
    uint32_t joined = 0;
  };
  Outcome Drive(const ScanEdit& edit, uint32_t joined_scans = 0) {
    TestSession session(server_);
    v1::OpenSession open;
    open.mutable_setup()->set_map("town");
    open.mutable_setup()->mutable_filter()->set_min_range_m(1.0);
    open.mutable_setup()->mutable_filter()->set_max_points(2000);
    if (joined_scans > 0) open.mutable_accumulation()->set_scans(joined_scans);
    session.Open(open);
    Outcome outcome;
    for (size_t i = 0; i < SharedDrive().scans.size(); ++i) {
      SweptScan scan = SharedDrive().scans[i];
      edit(scan);
      session.Send(Message(scan, i + 1));
      const v1::AlignmentResult result = session.ReadResult();
      outcome.deskewed = result.points().deskewed();
      outcome.joined = result.points().joined_scans();
      if (!result.accepted()) continue;
      ++outcome.accepted;
      const auto pose = PoseFromProto(result.map_t_base().pose(), "map_t_base");
      EXPECT_TRUE(pose.ok());
      outcome.error_m += TranslationDistance(*pose, SharedDrive().scans[i].map_T_base);
      EXPECT_EQ(result.sweep_check().suspect(), !result.sweep_check().detail().empty());
      if (result.has_sweep_check()) outcome.last = result.sweep_check();
      outcome.suspect += result.sweep_check().suspect() ? 1 : 0;
    }
    outcome.error_m /= std::max(1, outcome.accepted);
    return outcome;
  }

  TestServer server_{{}, EngineHandle()};
};
VOXLOC_INSTANTIATE_ON_ENGINES(SweptDriveTest);

TEST_P(SweptDriveTest, TimesOfPointsMakeTheErrorSmaller) {
  const Outcome with_times = Drive([](SweptScan& /*scan*/) {});
  const Outcome without = Drive([](SweptScan& scan) { scan.sweep.time_s.clear(); });
  EXPECT_TRUE(with_times.deskewed);
  EXPECT_FALSE(without.deskewed);
  EXPECT_EQ(with_times.accepted, kScans);
  EXPECT_LT(with_times.error_m, 0.1);
  EXPECT_GT(without.error_m, 3.0 * with_times.error_m);
  // Without times, there is nothing to check.
  EXPECT_EQ(without.last.scans(), 0U);
}

TEST_P(SweptDriveTest, RightTimesAreNotSuspect) {
  const Outcome right = Drive([](SweptScan& /*scan*/) {});
  EXPECT_EQ(right.suspect, 0);
  EXPECT_GE(right.last.scans(), 25U);
  EXPECT_LT(std::abs(right.last.unexplained_motion()), 0.15);
  EXPECT_GT(right.last.sigma(), 0.0);
}

TEST_P(SweptDriveTest, OfJointScansTheNewestIsChecked) {
  const Outcome right = Drive([](SweptScan& /*scan*/) {}, 3);
  EXPECT_EQ(right.joined, 3U);
  EXPECT_LT(right.error_m, 0.1);
  EXPECT_EQ(right.suspect, 0);
  EXPECT_GE(right.last.scans(), 25U);
  const Outcome half = Drive(
      [](SweptScan& scan) {
        for (float& time_s : scan.sweep.time_s) time_s *= 0.5F;
      },
      3);
  EXPECT_GT(half.last.unexplained_motion(), 0.2);
}

TEST_P(SweptDriveTest, AReversedMotionIsSuspect) {
  const Outcome reversed = Drive([](SweptScan& scan) {
    scan.base_twist.linear_m_s = -scan.base_twist.linear_m_s;
    scan.base_twist.angular_rad_s = -scan.base_twist.angular_rad_s;
  });
  EXPECT_GT(reversed.suspect, 0);
  EXPECT_LT(reversed.last.unexplained_motion(), -0.2);
}

TEST_P(SweptDriveTest, TimesInAnotherUnitAreSuspect) {
  const Outcome half = Drive([](SweptScan& scan) {
    for (float& time_s : scan.sweep.time_s) time_s *= 0.5F;
  });
  EXPECT_GT(half.suspect, 0);
  EXPECT_GT(half.last.unexplained_motion(), 0.2);
}

TEST_P(SweptDriveTest, PointsThatHadBeenDeskewedBeforeAreSuspect) {
  const Outcome twice = Drive([](SweptScan& scan) {
    PointCloud& cloud = scan.sweep.cloud;
    for (size_t i = 0; i < cloud.size(); ++i) {
      const double time_s = static_cast<double>(scan.sweep.time_s[i]);
      const Eigen::Vector3f point =
          (IntegrateTwist(scan.base_twist, time_s) * cloud.Point(i)).cast<float>();
      cloud.x[i] = point.x();
      cloud.y[i] = point.y();
      cloud.z[i] = point.z();
    }
  });
  EXPECT_GT(twice.suspect, 0);
  EXPECT_LT(twice.last.unexplained_motion(), -0.2);
}

// A sweep whose times begin in its middle: those of one half are a turn too late.
TEST_P(SweptDriveTest, TimesThatAreShiftedWithinTheSweepAreSuspect) {
  const Outcome shifted = Drive([](SweptScan& scan) {
    for (float& time_s : scan.sweep.time_s) {
      time_s += static_cast<float>(0.5 * kSweepS);
      if (time_s > static_cast<float>(kSweepS)) time_s -= static_cast<float>(kSweepS);
    }
  });
  EXPECT_GT(shifted.suspect, 0);
}

}  // namespace
}  // namespace voxloc::server
