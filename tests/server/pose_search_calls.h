// SPDX-License-Identifier: Apache-2.0
//
// Calls of EstimateInitialPose in the small town. Expectations inside fail the test. Thread-safe:
// no shared state.

#ifndef VOXLOC_TESTS_SERVER_POSE_SEARCH_CALLS_H_
#define VOXLOC_TESTS_SERVER_POSE_SEARCH_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <vector>

#include "tests/server/test_server.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::server {

using PoseSearchReader = grpc::ClientReader<v1::EstimateInitialPoseResponse>;

// Around a prior two metres beside VehiclePose(), turned away from it, of a scan from there.
[[nodiscard]] v1::EstimateInitialPoseRequest PriorRequest(uint32_t particles = 100);

// The same scan, anywhere in the map; and in a box around the vehicle.
[[nodiscard]] v1::EstimateInitialPoseRequest WholeMapRequest();
[[nodiscard]] v1::EstimateInitialPoseRequest RegionRequest();

// What came of a search: all its messages.
struct PoseSearchReply {
  std::vector<v1::SearchProgress> progress;
  v1::SearchResult result;
  bool has_result = false;
  grpc::Status status;
};

// To the end. The result must be the last message.
[[nodiscard]] PoseSearchReply Listen(PoseSearchReader& reader);
[[nodiscard]] PoseSearchReply Search(TestServer& server,
                                     const v1::EstimateInitialPoseRequest& request);

// From VehiclePose(), metres and radians.
[[nodiscard]] double DistanceFromVehicle(const v1::Pose& pose);
[[nodiscard]] double AngleFromVehicle(const v1::Pose& pose);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_POSE_SEARCH_CALLS_H_
