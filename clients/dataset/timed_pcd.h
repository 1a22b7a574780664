// SPDX-License-Identifier: Apache-2.0
//
// Binary PCD files whose points have times, for servers that deskew them. Thread-safe: no shared
// state.

#ifndef VOXLOC_CLIENTS_DATASET_TIMED_PCD_H_
#define VOXLOC_CLIENTS_DATASET_TIMED_PCD_H_

#include <string>

#include "absl/status/statusor.h"
#include "clients/pointcloud2/point_cloud2.h"
#include "core/cloud/io/cloud_file.h"
#include "voxloc/v1/cloud.pb.h"

namespace voxloc {

// The cloud with the times that are chosen. Errors are those of ReadCloud and EncodeCloud.
// InvalidArgument also: a file that is no PCD of DATA binary, one whose VIEWPOINT moves its points,
// and one without a field of times, whose fields the message lists.
[[nodiscard]] absl::StatusOr<v1::Cloud> ReadTimedPcd(const std::string& path,
                                                     const ros::PointTimeChoice& times,
                                                     const CloudReadOptions& limits = {});

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_TIMED_PCD_H_
