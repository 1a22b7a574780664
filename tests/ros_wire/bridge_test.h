// SPDX-License-Identifier: Apache-2.0
//
// BridgeTest: peer, bridge and voxlocd, each reached only as on a vehicle: the peer and the bridge
// over DDS, the bridge and the server over gRPC. The programs share one simulated drive, and a
// server that has its town as the map "town".

#ifndef VOXLOC_TESTS_ROS_WIRE_BRIDGE_TEST_H_
#define VOXLOC_TESTS_ROS_WIRE_BRIDGE_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tests/e2e/served_town.h"
#include "tests/ros_wire/bridge_node.h"
#include "tests/ros_wire/loopback_domain.h"
#include "tests/ros_wire/peer.h"
#include "tests/ros_wire/town_drive.h"
#include "tests/ros_wire/xyz_cloud.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::ros_wire {

inline constexpr char kBaseFrame[] = "base_link";

// The diagnostics of the node, by the end of their names.
inline constexpr char kScanStatus[] = "scan_matching_status";
inline constexpr char kServerStatus[] = "server_connection_status";

class BridgeTest : public testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] static const TownDrive& drive() { return *drive_; }
  [[nodiscard]] static const TownServer& shared_server() { return *server_; }

  // Parameters as Autoware ships them, for the shared server and the town, but without a limit on
  // the time that a scan takes: the machine of a test may be busy.
  [[nodiscard]] static ros::Parameters Defaults();

  // Starts the bridge alone. A fatal failure where it cannot.
  void StartBridge(const ros::Parameters& parameters, bool use_sim_time);
  // Starts bridge and peer, and waits until each knows the other. With voxloc.shadow the node is
  // "voxloc_shadow", and the peer also the localizer beside it. A fatal failure where it cannot.
  void Start(const ros::Parameters& parameters, bool use_sim_time);

  // With simulated time: sets it and waits until the node goes by it.
  void SetTime(int64_t now_ns);
  // Publishes a pose of the vehicle's filter, and waits until the node has it.
  void GivePose(int64_t stamp_ns, const Pose& map_T_base);
  // Publishes a cloud, and waits for the next status of a scan: that of this one, where all before
  // it have theirs. nullopt: none came.
  [[nodiscard]] std::optional<Diagnostic> SendCloud(const Cloud& cloud,
                                                    absl::Duration timeout = kTestTimeout);
  // Scan `index` of the drive at its own time (simulated time), with its guess.
  [[nodiscard]] std::optional<Diagnostic> SendScan(size_t index);
  // The same at another time, which becomes that of the node.
  [[nodiscard]] std::optional<Diagnostic> SendScanAt(size_t index, int64_t stamp_ns);
  // The same at the time that it is now, for nodes without simulated time.
  [[nodiscard]] std::optional<Diagnostic> SendScanNow(size_t index,
                                                      absl::Duration timeout = kTestTimeout);

  // How many clouds were sent: each has a status in the end.
  [[nodiscard]] size_t clouds_sent() const { return clouds_sent_; }

  // The newest status whose name is "<node>: <group>".
  [[nodiscard]] std::optional<Diagnostic> Newest(const std::string& group) const;

  // The poses that arrived, once there are so many; fewer only when no more come.
  [[nodiscard]] std::vector<StampedPose> AwaitPoses(size_t count);

  [[nodiscard]] const LoopbackDomain& domain() const { return *domain_; }
  [[nodiscard]] Peer& peer() { return *peer_; }
  [[nodiscard]] BridgeNode& node() { return *node_; }
  void StopBridge() { node_.reset(); }

 private:
  static std::unique_ptr<ScratchDir> scratch_;
  static std::unique_ptr<TownDrive> drive_;
  static std::unique_ptr<TownServer> server_;

  std::unique_ptr<LoopbackDomain> domain_;
  std::unique_ptr<JoinedDomain> peer_domain_;
  std::unique_ptr<Peer> peer_;
  std::unique_ptr<BridgeNode> node_;
  std::string node_name_;
  size_t clouds_sent_ = 0;
};

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_BRIDGE_TEST_H_
