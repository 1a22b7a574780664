// SPDX-License-Identifier: Apache-2.0
//
// A message of AlignScans, in a session that is open.

#include <optional>

#include "server/convert/options.h"
#include "server/convert/pose.h"
#include "server/session/session_setup.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/request_world.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc {
namespace server {
namespace {

absl::StatusOr<OpenedSession> Open(const v1::OpenSession& open) {
  const RequestWorld& world = RequestWorld::Get();
  static const LastPoses& last_poses = *new LastPoses(1);
  return OpenSession(world.config(), world.maps(), last_poses, open);
}

absl::Status TakePose(SessionState& state, const v1::PoseSample& sample) {
  const auto pose = StampedPoseFromProto(sample);
  return pose.ok() ? state.AddPose(*pose) : pose.status();
}

absl::Status TakeScan(const ScanSource& source, const v1::Scan& scan) {
  const absl::Status status = ReceiveScan(scan, source.recipe, source.max_points);
  if (!status.ok()) return status;
  for (const v1::PoseSample& sample : scan.poses()) (void)TakePose(*source.state, sample);
  std::optional<Pose> odom_T_base;
  if (scan.has_odom_t_base()) {
    const auto pose = PoseFromProto(scan.odom_t_base(), "odom_t_base");
    FuzzRequire(pose.ok(), "odometry has been checked");
    odom_T_base = *pose;
  }
  const SessionState::ScanPrior place = source.state->TakePrior(scan.stamp_ns(), odom_T_base);
  FuzzRequire(!place.status.ok() || place.guess_map_T_base.translation.allFinite(),
              "a guess is finite");
  return absl::OkStatus();
}

absl::Status Take(const v1::AlignScansRequest& request) {
  if (request.has_open()) {
    const auto session = Open(request.open());
    if (!session.ok()) return session.status();
    v1::Profile profile;
    ProfileToProto(session->profile_on_map, profile);
    FuzzRequire(session->source.state != nullptr, "a session has its state");
    return absl::OkStatus();
  }
  v1::OpenSession town;
  town.mutable_setup()->set_map("town");
  const auto session = Open(town);
  FuzzRequire(session.ok(), "a session of the town can be opened");
  const ScanSource& source = session->source;
  const RequestWorld& world = RequestWorld::Get();
  switch (request.request_case()) {
    case v1::AlignScansRequest::kScan:
      return TakeScan(source, request.scan());
    case v1::AlignScansRequest::kPose:
      return TakePose(*source.state, request.pose());
    case v1::AlignScansRequest::kReference: {
      const auto position = ReferenceFromProto(request.reference());
      if (!position.ok()) return position.status();
      return source.state->AddReference(request.reference().stamp_ns(), *position);
    }
    case v1::AlignScansRequest::kConfigure:
      return ConfigureSession(world.config(), world.maps(), source, request.configure()).status();
    case v1::AlignScansRequest::kActivate:
      source.state->Activate(request.activate().active());
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError("a message without a request");
  }
}

}  // namespace
}  // namespace server

absl::Status FuzzAlignScansRequest(absl::string_view bytes) {
  const auto request = server::ParseRequest<v1::AlignScansRequest>(bytes);
  return request.ok() ? server::Take(*request) : request.status();
}

}  // namespace voxloc
