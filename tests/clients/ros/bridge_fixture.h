// SPDX-License-Identifier: Apache-2.0
//
// A vehicle in the small town with a bridge and the real server in this process.

#ifndef VOXLOC_TESTS_CLIENTS_ROS_BRIDGE_FIXTURE_H_
#define VOXLOC_TESTS_CLIENTS_ROS_BRIDGE_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "clients/ros/core/bridge.h"
#include "tests/clients/ros/cloud_messages.h"
#include "tests/clients/ros/fake_ports.h"

namespace voxloc::ros {

inline constexpr int64_t kPeriodNs = 100'000'000;
inline constexpr int64_t kFirstStampNs = 1'000 * kPeriodNs;

class BridgeFixture : public ::testing::Test {
 protected:
  // Simulated time, the map "town" of a server at `address`.
  void StartBridge(const std::string& address);
  [[nodiscard]] Bridge& bridge() { return *bridge_; }

  // Where the vehicle is at scan i: it drives half a metre a scan.
  [[nodiscard]] static Pose TruthAt(int i);
  [[nodiscard]] static int64_t StampAt(int i) { return kFirstStampNs + i * kPeriodNs; }
  // What the LiDAR sees there, in the base frame.
  [[nodiscard]] static const PointCloud& ScanAt(int i);

  // Poses of the filter around scan i, 0.2 m off the truth.
  void SendPosesAround(int i);
  // In frame `frame`, where the sensor sits at `base_T_sensor`.
  void SendScan(int i, const std::string& frame = "base_link", const Pose& base_T_sensor = Pose());
  // Poses, the scan, and its status, which has come when this returns.
  DiagnosticStatus Drive(int i);

  [[nodiscard]] std::vector<DiagnosticStatus> ScanStatuses() const {
    return fakes_.output.Statuses("scan_matching_status");
  }
  // Waits until as many scans have their status.
  [[nodiscard]] bool AwaitStatuses(size_t count) const;
  [[nodiscard]] bool AwaitConnection() const;

  std::string node_name_ = "ndt_scan_matcher";
  Parameters parameters_;
  FakePorts fakes_;
  MapLoader* map_loader_ = nullptr;
  std::unique_ptr<Bridge> bridge_;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_TESTS_CLIENTS_ROS_BRIDGE_FIXTURE_H_
