// SPDX-License-Identifier: Apache-2.0
//
// From a PointCloud2 to the cloud of the contract, in one pass and one copy: the bytes as they are
// where the server can read them as they are, else packed. On the way the farthest point from the
// base is found, which Autoware's checks want to know, and points that nobody needs are left out
// where that is asked for. Thread-safe: no shared state.

#ifndef VOXLOC_CLIENTS_POINTCLOUD2_CLOUD_ENCODING_H_
#define VOXLOC_CLIENTS_POINTCLOUD2_CLOUD_ENCODING_H_

#include <Eigen/Core>
#include <cstddef>
#include <optional>

#include "absl/status/statusor.h"
#include "clients/pointcloud2/point_cloud2.h"
#include "clients/pointcloud2/point_layout.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/cloud.pb.h"

namespace voxloc::ros {

// How points travel. What the server computes is the same to the bit with all but kInt16.
enum class CloudEncoding {
  // Packed as kFloat32, or the bytes as they are where packing would save none: packing a wider
  // point takes about the processor time that its bytes would take on their way into the system.
  kAuto,
  // The bytes as they are wherever the server can read them (up to 1024 a point), else as kFloat32.
  kAsIs,
  // 12 bytes a point, 16 with times.
  kFloat32,
  // 6 bytes a point, 8 with times: coordinates rounded to `int16_scale_m`, times to 10 us. Points
  // beyond 32767 units on an axis are left out.
  kInt16
};

// What is left out before sending. The default leaves nothing out: points that are not finite are
// then dropped and counted by the server.
struct CloudPreparation {
  bool drop_not_finite = false;
  double min_range_m = 0.0;  // from the sensor; >= 0
  double max_range_m = 0.0;  // from the sensor; 0: no limit
  // A box in the base frame, borders included, of what is kept.
  struct Box {
    Eigen::Vector3d min;
    Eigen::Vector3d max;
  };
  std::optional<Box> crop_base;

  [[nodiscard]] bool leaves_out() const {
    return drop_not_finite || min_range_m > 0.0 || max_range_m > 0.0 || crop_base.has_value();
  }
};

struct CloudEncodingOptions {
  CloudEncoding encoding = CloudEncoding::kAuto;
  // Metres per unit of kInt16: 5 mm reach 163 m, and round by a tenth of a LiDAR's noise of 2 cm.
  double int16_scale_m = 0.005;
  PointTimeChoice time;
  CloudPreparation preparation;
};

struct EncodedCloud {
  v1::Cloud cloud;
  size_t received = 0;    // points of the message
  size_t sent = 0;        // points of `cloud`
  size_t left_out = 0;    // received - sent
  size_t not_finite = 0;  // of the received
  // Of the finite points, left out or not, from the base's origin; 0 without any.
  double max_distance_m = 0.0;
  bool has_times = false;
  bool as_is = false;  // the bytes were taken as they are
};

// `base_T_sensor`: nullopt where the cloud is in the base frame. Errors are those of
// ReadPointLayout. InvalidArgument also: times of points that cannot be told, or are more than 1 s
// from the stamp for all points.
[[nodiscard]] absl::StatusOr<EncodedCloud> EncodeCloud(const PointCloud2View& cloud,
                                                       const std::optional<Pose>& base_T_sensor,
                                                       const CloudEncodingOptions& options);

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_POINTCLOUD2_CLOUD_ENCODING_H_
