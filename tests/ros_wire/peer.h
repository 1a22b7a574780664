// SPDX-License-Identifier: Apache-2.0
//
// Autoware's side of ndt_scan_matcher, on the wire: a vehicle that publishes what the node reads,
// reads what the node publishes, calls its services and offers the map loader. It knows nothing of
// the bridge but the names and types of ROS 2, and shares no code with it.
//
// Thread-safe. What was received is kept until it is taken; see
// inbox.h.

#ifndef VOXLOC_TESTS_ROS_WIRE_PEER_H_
#define VOXLOC_TESTS_ROS_WIRE_PEER_H_

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/geometry/twist.h"
#include "tests/ros_wire/debug_values.h"
#include "tests/ros_wire/node.h"
#include "tests/ros_wire/values.h"

namespace voxloc::ros_wire {

struct AlignAnswer {
  bool success = false;
  bool reliable = false;
  StampedPose pose;
};

struct TriggerAnswer {
  bool success = false;
  std::string message;
};

// A tile of the map, and what the map loader is asked.
struct MapCell {
  std::string id;
  Cloud cloud;
  std::array<float, 4> min_x_min_y_max_x_max_y{};
};
struct MapQuestion {
  double center_x = 0.0;
  double center_y = 0.0;
  double radius_m = 0.0;
  std::vector<std::string> cached_ids;
};
struct MapAnswer {
  std::vector<MapCell> added;
  std::vector<std::string> removed_ids;
};

inline constexpr char kSecondLidarTopic[] = "right/points";

class Peer {
 public:
  // In a domain of Cyclone. Clouds are offered as reliable, which those who ask for best effort get
  // as best effort. `prefix`: of the node's topics and services, such as "/shadow"; the peer then
  // also is the localizer beside which the node runs.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Peer>> Create(dds_domainid_t domain,
                                                                    const std::string& prefix = "");
  ~Peer();

  // Whether somebody reads clouds and poses of a filter or of a person. A node has both services
  // too, which the peer finds only with rmw_cyclonedds.
  [[nodiscard]] bool AwaitReaders(absl::Duration timeout);
  [[nodiscard]] bool AwaitNode(absl::Duration timeout);
  // Whether somebody reads the second LiDAR, or twists of both types.
  [[nodiscard]] bool AwaitReaderOfSecondLidar(absl::Duration timeout);
  [[nodiscard]] bool AwaitReaderOfTwists(absl::Duration timeout);

  // What the node reads. The clock is simulated time, for nodes that go by it.
  void PublishClock(int64_t now_ns);
  void Publish(const Cloud& cloud);
  // Of a second LiDAR, on kSecondLidarTopic.
  void PublishOfSecondLidar(const Cloud& cloud);
  void PublishMap(const Cloud& cloud);  // pointcloud_map, also for nodes that come later
  void PublishEkfPose(const StampedPose& map_T_base);
  void PublishGnssPose(const StampedPose& map_T_base);
  void PublishIncumbentPose(const StampedPose& map_T_base);  // only with a prefix
  void PublishInitialPose(const StampedPose& frame_T_base);  // initialpose, of a person
  void PublishTwist(int64_t stamp_ns, const std::string& base_frame, const Twist& base_twist);
  void PublishTwistWithCovariance(int64_t stamp_ns, const std::string& base_frame,
                                  const Twist& base_twist);
  void PublishTransform(const StampedTransform& transform);
  void PublishStaticTransform(const StampedTransform& transform);

  // See Node.
  [[nodiscard]] std::set<std::string> TopicsOfOthers() const;

  // Answers those who ask for the map from now on. Once.
  void OfferMap(std::function<MapAnswer(const MapQuestion&)> loader);

  // nullopt: no answer in time.
  [[nodiscard]] std::optional<AlignAnswer> CallAlign(const StampedPose& pose,
                                                     absl::Duration timeout);
  [[nodiscard]] std::optional<TriggerAnswer> CallTrigger(bool activate, absl::Duration timeout);
  [[nodiscard]] bool CallReinitialize(absl::Duration timeout);

  // What the node published since the last call, in the order of arrival.
  [[nodiscard]] std::vector<StampedPose> TakePoses();                // ndt_pose
  [[nodiscard]] std::vector<StampedPose> TakePosesWithCovariance();  // ndt_pose_with_covariance
  [[nodiscard]] std::vector<StampedPose> TakeInitialPoses();         // initial_pose_with_covariance
  [[nodiscard]] std::vector<StampedTransform> TakeTransforms();      // /tf
  [[nodiscard]] std::vector<Diagnostic> TakeDiagnostics();
  // Of a metric topic, "exe_time_ms" or "iteration_num" for example.
  [[nodiscard]] std::vector<StampedNumber> TakeNumbers(const std::string& topic);
  // Of points_aligned and ndt_marker, and after ListenToDebugTopics of points_aligned_no_ground,
  // voxel_score_points, debug/loaded_pointcloud_map, multi_ndt_pose, multi_initial_pose and
  // monte_carlo_initial_pose_marker.
  [[nodiscard]] std::vector<Cloud> TakeClouds(const std::string& topic);
  [[nodiscard]] std::vector<StampedArrows> TakeArrows(const std::string& topic);
  [[nodiscard]] std::vector<StampedPoses> TakePoseArrays(const std::string& topic);
  [[nodiscard]] std::vector<StampedPose> TakeRelativePoses();  // initial_to_result_relative_pose
  [[nodiscard]] std::vector<StampedPose> TakeDifferences();    // incumbent_to_result_relative_pose
  // Subscribes to what costs the node more; to be called once.
  void ListenToDebugTopics();
  // The newest diagnostic of that name ("ndt_scan_matcher: scan_matching_status") since the peer
  // began, also when it was taken.
  [[nodiscard]] std::optional<Diagnostic> NewestDiagnostic(const std::string& name) const;
  // How many poses and statuses of scan_matching_status came since the peer began.
  [[nodiscard]] size_t poses_received() const;
  [[nodiscard]] size_t scan_statuses_received() const;

 private:
  struct Parts;
  explicit Peer(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// The topics of numbers that the node publishes: those of Float32Stamped, then iteration_num.
[[nodiscard]] const std::vector<std::string>& NumberTopics();

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_PEER_H_
