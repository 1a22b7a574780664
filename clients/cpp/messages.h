// SPDX-License-Identifier: Apache-2.0
//
// Between the core's values and the contract's messages. Pure functions.

#ifndef VOXLOC_CLIENTS_CPP_MESSAGES_H_
#define VOXLOC_CLIENTS_CPP_MESSAGES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/cloud.pb.h"
#include "voxloc/v1/geometry.pb.h"

namespace voxloc::client {

// Points [first, first + count) of the cloud as FLOAT32_XYZ around its origin.
void EncodePoints(const PointCloud& cloud, size_t first, size_t count, v1::Cloud* message);
inline void EncodeCloud(const PointCloud& cloud, v1::Cloud* message) {
  EncodePoints(cloud, 0, cloud.size(), message);
}

// Appends the points of a cloud of a FLOAT32 layout to `cloud`; into one without points with the
// message's origin, else around the cloud's own. Intensities are left out. `time_s`: where given,
// gets the points' times, seconds after the cloud's stamp. InvalidArgument: another layout, or one
// without times that are asked for; a stride that does not fit the data.
[[nodiscard]] absl::Status DecodePoints(const v1::Cloud& message, PointCloud* cloud,
                                        std::vector<float>* time_s = nullptr);

void EncodeVector(const Eigen::Vector3d& vector, v1::Vector3* message);
void EncodePose(const Pose& pose, v1::Pose* message);

// InvalidArgument when the quaternion is (nearly) zero or a value is not finite.
[[nodiscard]] absl::StatusOr<Pose> DecodePose(const v1::Pose& message);

// The name without its prefix: "OK", "LOW_SCORE", ...
[[nodiscard]] std::string StatusName(v1::AlignmentStatus status);
[[nodiscard]] std::string TerminationName(v1::TerminationReason reason);

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_MESSAGES_H_
