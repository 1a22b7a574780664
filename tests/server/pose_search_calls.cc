// SPDX-License-Identifier: Apache-2.0

#include "tests/server/pose_search_calls.h"

#include <gtest/gtest.h>

#include "core/geometry/euler.h"
#include "tests/server/small_town.h"

namespace voxloc::server {
namespace {

void SetCovariance(const std::vector<double>& sigmas, v1::PoseWithCovariance* prior) {
  prior->clear_covariance();
  for (size_t i = 0; i < 36; ++i) {
    prior->add_covariance(i % 7 == 0 ? sigmas[i / 7] * sigmas[i / 7] : 0.0);
  }
}

}  // namespace

v1::EstimateInitialPoseRequest PriorRequest(uint32_t particles) {
  v1::EstimateInitialPoseRequest request;
  request.mutable_setup()->set_map("town");
  request.mutable_setup()->set_vehicle("test");
  *request.mutable_scan() = GoodScan();
  Pose mean = VehiclePose();
  mean.translation += Eigen::Vector3d(1.5, -1.5, 0.1);
  mean.rotation = RotationFromRosAngles(0.0, 0.0, 2.0);
  *request.mutable_prior()->mutable_pose() = PoseOf(mean);
  SetCovariance({1.5, 1.5, 0.2, 0.02, 0.02, 1.0}, request.mutable_prior());
  request.mutable_search()->set_particles(particles);
  request.mutable_scan()->set_stamp_ns(77);
  return request;
}

v1::EstimateInitialPoseRequest WholeMapRequest() {
  v1::EstimateInitialPoseRequest request = PriorRequest();
  request.clear_search();
  request.mutable_whole_map();
  return request;
}

v1::EstimateInitialPoseRequest RegionRequest() {
  v1::EstimateInitialPoseRequest request = WholeMapRequest();
  const auto set = [](double x, double y, double z, v1::Vector3* corner) {
    corner->set_x(x);
    corner->set_y(y);
    corner->set_z(z);
  };
  v1::Box& box = *request.mutable_region()->mutable_box();
  set(-6.0, -8.0, 0.0, box.mutable_min());
  set(9.0, 7.0, 4.0, box.mutable_max());
  return request;
}

PoseSearchReply Listen(PoseSearchReader& reader) {
  PoseSearchReply reply;
  v1::EstimateInitialPoseResponse response;
  while (reader.Read(&response)) {
    EXPECT_FALSE(reply.has_result) << "the result is the last message";
    if (response.has_progress()) {
      reply.progress.push_back(response.progress());
    } else {
      reply.has_result = response.has_result();
      reply.result = response.result();
    }
  }
  reply.status = reader.Finish();
  return reply;
}

PoseSearchReply Search(TestServer& server, const v1::EstimateInitialPoseRequest& request) {
  const auto context = TestServer::NewContext();
  return Listen(*server.localization->EstimateInitialPose(context.get(), request));
}

double DistanceFromVehicle(const v1::Pose& pose) {
  const Eigen::Vector3d position(pose.position().x(), pose.position().y(), pose.position().z());
  return (position - VehiclePose().translation).norm();
}

double AngleFromVehicle(const v1::Pose& pose) {
  const v1::Quaternion& q = pose.orientation();
  return RotationDistance({Eigen::Vector3d::Zero(), {q.w(), q.x(), q.y(), q.z()}},
                          {Eigen::Vector3d::Zero(), VehiclePose().rotation});
}

}  // namespace voxloc::server
