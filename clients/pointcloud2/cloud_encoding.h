// SPDX-License-Identifier: Apache-2.0
//
// Converts a PointCloud2 into the cloud of the contract in one pass and one copy. The bytes are
// sent unchanged if the server can read them, and packed otherwise. The same pass finds the
// farthest point from the base, which Autoware's checks need, and drops points if the options say
// so. Thread-safe: no shared state.

#ifndef VOXLOC_CLIENTS_POINTCLOUD2_CLOUD_ENCODING_H_
#define VOXLOC_CLIENTS_POINTCLOUD2_CLOUD_ENCODING_H_

#include <Eigen/Core>
#include <cstddef>
#include <optional>

#include "absl/status/statusor.h"
#include "clients/pointcloud2/point_cloud2.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/cloud.pb.h"

namespace voxloc::ros {

// The contract: points whose times are farther from the stamp are dropped.
constexpr double kMaxPointTimeS = 1.0;

// How points travel. What the server computes is the same to the bit with all but kInt16.
enum class CloudEncoding {
  // As kFloat32, or as kAsIs if packing saves no bytes. Packing a wider point costs about as much
  // processor time as sending its extra bytes.
  kAuto,
  // The bytes unchanged if the server can read them (at most 1024 a point), else as kFloat32.
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
  // Points outside of this box in the base frame are dropped; its borders are inside.
  struct Box {
    Eigen::Vector3d min;
    Eigen::Vector3d max;
  };
  std::optional<Box> crop_base;

  [[nodiscard]] bool drops_points() const {
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
// ReadPointLayout. InvalidArgument also: point times that are not readable, or all more than 1 s
// from the stamp.
[[nodiscard]] absl::StatusOr<EncodedCloud> EncodeCloud(const PointCloud2View& cloud,
                                                       const std::optional<Pose>& base_T_sensor,
                                                       const CloudEncodingOptions& options);

// The cloud alone, in the frame of its points. InvalidArgument also: `options.time` takes any known
// field of times, and there is none; the message lists those that there are.
[[nodiscard]] absl::StatusOr<v1::Cloud> EncodeTimedCloud(const PointCloud2View& cloud,
                                                         const CloudEncodingOptions& options);

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_POINTCLOUD2_CLOUD_ENCODING_H_
