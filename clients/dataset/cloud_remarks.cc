// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/cloud_remarks.h"

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/cloud/io/cloud_inspection.h"
#include "core/geometry/angles.h"

namespace voxloc {
namespace {

bool Moves(const Pose& pose) {
  return !pose.translation.isZero(0.0) || RotationDistance(pose, Pose()) > 0.0;
}

const char* ReasonText(RecordReason reason) {
  switch (reason) {
    case RecordReason::kTold:
      return "as told";
    case RecordReason::kName:
      return "by the file's name";
    case RecordReason::kSize:
      return "by the file's size";
    case RecordReason::kValues:
      break;
  }
  return "by the file's values (--record-floats tells otherwise)";
}

}  // namespace

std::vector<std::string> RemarksOnClouds(const std::vector<std::string>& paths,
                                         const CloudReadOptions& options) {
  size_t moved = 0;
  std::string first_moved;
  std::string first_bin;
  for (const std::string& path : paths) {
    const bool bin = CloudFormatOf(path).value_or(CloudFormat::kPcd) == CloudFormat::kKittiBin;
    if (bin && !first_bin.empty()) continue;
    const absl::StatusOr<CloudFileInfo> info = InspectCloud(path, options);
    if (!info.ok()) continue;
    if (info->record.has_value() && first_bin.empty()) {
      first_bin = absl::StrCat("points of .bin files have ", info->record->floats,
                               " float32 each, ", ReasonText(info->record->reason), ": ", path);
    }
    if (!Moves(info->viewpoint)) continue;
    if (++moved > 1) continue;
    const Eigen::Vector3d& position = info->viewpoint.translation;
    first_moved = absl::StrFormat("%s by %g %g %g m and %.4g deg", path, position.x(), position.y(),
                                  position.z(),
                                  RotationDistance(info->viewpoint, Pose()) * kDegreesPerRadian);
  }
  std::vector<std::string> remarks;
  if (!first_bin.empty()) remarks.push_back(first_bin);
  if (moved > 0) {
    remarks.push_back(absl::StrCat("VIEWPOINT moves the points of ", moved, " of ", paths.size(),
                                   " clouds, first ", first_moved));
  }
  return remarks;
}

}  // namespace voxloc
