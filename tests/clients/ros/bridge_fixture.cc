// SPDX-License-Identifier: Apache-2.0

#include "tests/clients/ros/bridge_fixture.h"

#include <map>
#include <mutex>

#include "core/geometry/euler.h"
#include "tests/server/small_town.h"
#include "tests/support/eventually.h"

namespace voxloc::ros {

void BridgeFixture::StartBridge(const std::string& address) {
  parameters_.voxloc.server = address;
  parameters_.voxloc.map = "town";
  // No level of a test depends on how fast the machine is.
  parameters_.validation.critical_upper_bound_exe_time_ms = 60e3;
  Ports ports = fakes_.ports();
  ports.map_loader = map_loader_;
  auto bridge = Bridge::Create(node_name_, parameters_, ports);
  ASSERT_TRUE(bridge.ok()) << bridge.status();
  bridge_ = *std::move(bridge);
}

Pose BridgeFixture::TruthAt(int i) {
  Pose pose = server::VehiclePose();
  pose.translation += pose.rotation * Eigen::Vector3d(0.5 * i, 0.0, 0.0);
  pose.rotation = RotationFromRosAngles(0.0, 0.0, 0.01 * i) * pose.rotation;
  return pose;
}

const PointCloud& BridgeFixture::ScanAt(int i) {
  static std::mutex mutex;
  static auto* const scans = new std::map<int, PointCloud>();
  const std::lock_guard<std::mutex> lock(mutex);
  auto found = scans->find(i);
  if (found == scans->end()) {
    found = scans->emplace(i, server::ScanFrom(TruthAt(i), 1000)).first;
  }
  return found->second;
}

void BridgeFixture::SendPosesAround(int i) {
  for (const int64_t offset_ns : {-kPeriodNs / 4, kPeriodNs / 4}) {
    PoseWithCovarianceStamped pose;
    pose.header = {StampAt(i) + offset_ns, "map"};
    pose.pose = TruthAt(i);
    pose.pose.translation += Eigen::Vector3d(0.1, -0.15, 0.05);
    pose.covariance = 0.04 * Matrix6::Identity();
    bridge_->OnInitialPose(pose);
  }
}

void BridgeFixture::SendScan(int i, const std::string& frame, const Pose& base_T_sensor) {
  fakes_.clock.now_ns = StampAt(i) + kPeriodNs / 2;
  PointCloud points;
  const Pose sensor_T_base = base_T_sensor.Inverse();
  for (size_t k = 0; k < ScanAt(i).size(); ++k) {
    const Eigen::Vector3f point = (sensor_T_base * ScanAt(i).Point(k)).cast<float>();
    points.PushBack(point.x(), point.y(), point.z());
  }
  TestCloud message = MessageOf(points);
  message.header = {StampAt(i), frame};
  bridge_->OnPoints(message.View());
}

DiagnosticStatus BridgeFixture::Drive(int i) {
  SendPosesAround(i);
  SendScan(i);
  DiagnosticStatus mine;
  const std::string stamp = std::to_string(StampAt(i));
  EXPECT_TRUE(Eventually([&] {
    for (const DiagnosticStatus& status : ScanStatuses()) {
      if (ValueOf(status, "topic_time_stamp") != stamp) continue;
      mine = status;
      return true;
    }
    return false;
  })) << "scan "
      << i << " has no status";
  return mine;
}

bool BridgeFixture::AwaitStatuses(size_t count) const {
  return Eventually([this, count] { return ScanStatuses().size() >= count; });
}

bool BridgeFixture::AwaitConnection() const {
  return Eventually([this] { return bridge_->server().connection.ok(); });
}

}  // namespace voxloc::ros
