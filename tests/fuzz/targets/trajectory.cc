// SPDX-License-Identifier: Apache-2.0
//
// Trajectories, in both formats.

#include "clients/dataset/trajectory_file.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/memory_file.h"

namespace voxloc {
namespace {

absl::Status Read(const std::string& path, TrajectoryFormat format) {
  const auto poses = ReadTrajectory(path, format);
  if (!poses.ok()) return poses.status();
  FuzzRequire(!poses->empty(), "a trajectory has a pose");
  for (const StampedPose& pose : *poses) {
    FuzzRequire(pose.pose.translation.allFinite(), "a position is finite");
    FuzzRequire(pose.pose.rotation.coeffs().allFinite(), "a rotation is finite");
    FuzzRequire(NanosecondsFromSeconds(SecondsFromNanoseconds(pose.stamp_ns)) == pose.stamp_ns,
                "a stamp comes back from its text");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FuzzTrajectory(absl::string_view bytes) {
  const MemoryFile file(bytes);
  const absl::Status kitti = Read(file.path(), TrajectoryFormat::kKitti);
  const absl::Status tum = Read(file.path(), TrajectoryFormat::kTum);
  return kitti.ok() ? kitti : tum;
}

}  // namespace voxloc
