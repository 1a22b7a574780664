// SPDX-License-Identifier: Apache-2.0

#include "server/convert/scan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <type_traits>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "core/geometry/stamp.h"
#include "core/status/try.h"
#include "core/text/number_range.h"
#include "server/convert/pose.h"
#include "server/convert/range.h"

#if !defined(ABSL_IS_LITTLE_ENDIAN)
#error "The wire's points are little endian, and so must be the host."
#endif

namespace voxloc::server {
namespace {

constexpr uint32_t kMaxStride = 1024;

// Layout of the bytes of a point.
struct Layout {
  uint32_t point_bytes = 0;  // 0: not a layout
  uint32_t time_offset = 0;  // where its time begins; 0: it has none
  bool units = false;        // int16 in units of the cloud's scales, in place of float32
};

constexpr Layout kLayouts[] = {
    {},
    {12, 0, false},   // FLOAT32_XYZ
    {16, 0, false},   // FLOAT32_XYZI
    {6, 0, true},     // INT16_XYZ
    {16, 12, false},  // FLOAT32_XYZT
    {20, 16, false},  // FLOAT32_XYZIT
    {8, 6, true},     // INT16_XYZT
};
static_assert(std::size(kLayouts) == v1::CloudLayout_ARRAYSIZE);

Layout LayoutOf(const v1::Cloud& cloud) {
  return v1::CloudLayout_IsValid(cloud.layout()) ? kLayouts[cloud.layout()] : Layout();
}

uint32_t StrideOf(const v1::Cloud& cloud) {
  return cloud.stride() == 0 ? LayoutOf(cloud).point_bytes : cloud.stride();
}

// The number of points.
absl::StatusOr<size_t> CheckCloud(const v1::Cloud& cloud) {
  VOXLOC_TRY(VectorFromProto(cloud.origin(), "cloud.origin").status());
  const size_t size = cloud.data().size();
  if (size == 0) return 0;
  const Layout layout = LayoutOf(cloud);
  if (layout.point_bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cloud.layout must be FLOAT32_XYZ (1), FLOAT32_XYZI (2), INT16_XYZ (3), FLOAT32_XYZT (4), "
        "FLOAT32_XYZIT (5) or INT16_XYZT (6) (got ",
        static_cast<int>(cloud.layout()), ")"));
  }
  const uint32_t stride = StrideOf(cloud);
  VOXLOC_TRY(CheckRanges(
      {{"cloud.stride", stride,
        FromTo(layout.point_bytes, kMaxStride).OrZero().Unit(" bytes for this layout")}}));
  if (size % stride != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cloud.data has ", size, " bytes, which is not a multiple of the stride ", stride));
  }
  if (layout.units) {
    VOXLOC_TRY(CheckRanges({{"cloud.scale_m", cloud.scale_m(),
                             Over(0.0).AtMost(kMaxScanReachM).Unit(" for the int16 layouts")}}));
  }
  if (cloud.layout() == v1::CLOUD_LAYOUT_INT16_XYZT) {
    VOXLOC_TRY(CheckRanges({{"cloud.time_scale_s", cloud.time_scale_s(),
                             Over(0.0).AtMost(kMaxPointTimeS).Unit(" for INT16_XYZT")}}));
  }
  return size / stride;
}

// `Unit`: the type of the layout's numbers.
template <typename Unit>
void DecodePoints(const v1::Cloud& proto, float reach, DecodedCloud& decoded) {
  const auto read = [](const char* bytes, [[maybe_unused]] double scale) {
    Unit unit;
    std::memcpy(&unit, bytes, sizeof(unit));
    if constexpr (std::is_same_v<Unit, float>) {
      return unit;
    } else {
      return static_cast<float>(unit * scale);
    }
  };
  const double scale_m = proto.scale_m();
  const double time_scale_s = proto.time_scale_s();
  const uint32_t time_offset = LayoutOf(proto).time_offset;
  const size_t stride = StrideOf(proto);
  const size_t count = proto.data().size() / stride;
  PointCloud& cloud = decoded.cloud;
  const auto resize = [&](size_t size) {
    for (std::vector<float>* axis : {&cloud.x, &cloud.y, &cloud.z}) axis->resize(size);
    if (time_offset > 0) decoded.time_s.resize(size);
  };
  resize(count);
  size_t kept = 0;
  const char* point = proto.data().data();
  for (size_t i = 0; i < count; ++i, point += stride) {
    const float x = cloud.x[kept] = read(point, scale_m);
    const float y = cloud.y[kept] = read(point + sizeof(Unit), scale_m);
    const float z = cloud.z[kept] = read(point + 2 * sizeof(Unit), scale_m);
    if (time_offset > 0) {
      decoded.time_s[kept] = read(point + time_offset, time_scale_s);
      if (!(std::abs(decoded.time_s[kept]) <= kMaxPointTimeS)) {
        ++decoded.not_finite;
        continue;
      }
    }
    // False for NaN as well.
    if (std::abs(x) <= reach && std::abs(y) <= reach && std::abs(z) <= reach) {
      ++kept;
    } else if (std::isfinite(x) && std::isfinite(y) && std::isfinite(z)) {
      ++decoded.out_of_reach;
    } else {
      ++decoded.not_finite;
    }
  }
  resize(kept);
  decoded.received = count;
}

DecodedCloud Decode(const v1::Cloud& cloud, float reach) {
  DecodedCloud decoded;
  decoded.cloud.origin = {cloud.origin().x(), cloud.origin().y(), cloud.origin().z()};
  if (cloud.data().empty()) return decoded;
  if (LayoutOf(cloud).units) {
    DecodePoints<int16_t>(cloud, reach, decoded);
  } else {
    DecodePoints<float>(cloud, reach, decoded);
  }
  return decoded;
}

absl::StatusOr<size_t> CheckSensorCloud(const v1::Scan& scan, const v1::SensorCloud& cloud,
                                        uint64_t max_points) {
  VOXLOC_ASSIGN_OR_RETURN(auto count, CheckScanCloud(cloud.cloud(), max_points));
  if (cloud.has_base_t_sensor()) {
    VOXLOC_TRY(MountFromProto(cloud.base_t_sensor()).status());
  }
  const double offset_s = CloudOffsetS(scan, cloud);
  if (std::abs(offset_s) <= kMaxCloudOffsetS) return count;
  return absl::InvalidArgumentError(absl::StrCat("stamp_ns must be at most ", kMaxCloudOffsetS,
                                                 " s from the scan's stamp (got ", offset_s,
                                                 " s)"));
}

}  // namespace

absl::StatusOr<size_t> CheckScanClouds(const v1::Scan& scan, uint64_t max_points) {
  if (scan.clouds_size() > kMaxClouds) {
    return absl::InvalidArgumentError(absl::StrCat("the scan must have at most ", kMaxClouds,
                                                   " clouds (got ", scan.clouds_size(), ")"));
  }
  size_t points = 0;
  for (int i = 0; i < scan.clouds_size(); ++i) {
    const auto count = CheckSensorCloud(scan, scan.clouds(i), max_points);
    if (!count.ok()) {
      if (scan.clouds_size() == 1) return count;
      return absl::InvalidArgumentError(
          absl::StrCat("clouds[", i, "]: ", count.status().message()));
    }
    points += *count;
  }
  if (points > max_points) {
    return absl::InvalidArgumentError(absl::StrCat("the clouds of the scan must have at most ",
                                                   max_points, " points (got ", points, ")"));
  }
  return points;
}

absl::StatusOr<size_t> CheckScanCloud(const v1::Cloud& cloud, uint64_t max_points) {
  VOXLOC_ASSIGN_OR_RETURN(auto count, CheckCloud(cloud));
  if (count > max_points) {
    return absl::InvalidArgumentError(
        absl::StrCat("the scan must have at most ", max_points, " points (got ", count, ")"));
  }
  const v1::Vector3& origin = cloud.origin();
  for (const double value : {origin.x(), origin.y(), origin.z()}) {
    if (std::abs(value) > kMaxScanReachM) {
      return absl::InvalidArgumentError(
          absl::StrCat("each component of cloud.origin of a scan must be at most ", kMaxScanReachM,
                       " m (got ", value, " m)"));
    }
  }
  return count;
}

bool HasPointData(const v1::Scan& scan) {
  return std::any_of(scan.clouds().begin(), scan.clouds().end(),
                     [](const v1::SensorCloud& cloud) { return !cloud.cloud().data().empty(); });
}

bool HasPointTimes(const v1::Scan& scan) {
  return std::any_of(scan.clouds().begin(), scan.clouds().end(), [&](const v1::SensorCloud& cloud) {
    return CloudHasTimes(cloud.cloud()) || CloudOffsetS(scan, cloud) != 0.0;
  });
}

double CloudOffsetS(const v1::Scan& scan, const v1::SensorCloud& cloud) {
  if (cloud.stamp_ns() == 0) return 0.0;
  return SecondsBetween(scan.stamp_ns(), cloud.stamp_ns());
}

absl::StatusOr<ScanHints> ScanHintsFromProto(const v1::Scan& scan) {
  ScanHints hints;
  if (scan.has_guess_map_t_base()) {
    const v1::PoseWithCovariance& guess = scan.guess_map_t_base();
    VOXLOC_ASSIGN_OR_RETURN(hints.guess_covariance,
                            CovarianceFromProto(guess.covariance(), "guess_map_t_base.covariance"));
    VOXLOC_ASSIGN_OR_RETURN(hints.guess_map_T_base,
                            PoseFromProto(guess.pose(), "guess_map_t_base.pose"));
  }
  VOXLOC_ASSIGN_OR_RETURN(hints.motion_covariance,
                          CovarianceFromProto(scan.motion_covariance(), "motion_covariance"));
  if (scan.has_odom_t_base()) {
    VOXLOC_ASSIGN_OR_RETURN(hints.odom_T_base, PoseFromProto(scan.odom_t_base(), "odom_t_base"));
  }
  if (scan.has_base_twist()) {
    VOXLOC_ASSIGN_OR_RETURN(hints.base_twist, TwistFromProto(scan.base_twist(), "base_twist"));
  }
  if (scan.has_reference_position()) {
    VOXLOC_ASSIGN_OR_RETURN(hints.reference_map,
                            VectorFromProto(scan.reference_position(), "reference_position"));
  }
  VOXLOC_TRY(CheckSeconds("timeout_s", scan.timeout_s()));
  VOXLOC_TRY(CheckSeconds("age_s", scan.age_s()));
  hints.has_point_times = HasPointTimes(scan);
  hints.timeout_s = scan.timeout_s();
  hints.age_s = scan.age_s();
  return hints;
}

bool CloudHasTimes(const v1::Cloud& cloud) { return LayoutOf(cloud).time_offset > 0; }

DecodedCloud DecodeScan(const v1::Cloud& cloud) {
  return Decode(cloud, static_cast<float>(kMaxScanReachM));
}

absl::StatusOr<DecodedCloud> DecodeTilePoints(const v1::Cloud& cloud, uint64_t max_bytes) {
  if (cloud.data().size() > max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("cloud.data of a chunk must have at most ",
                                                     max_bytes, " bytes (got ", cloud.data().size(),
                                                     ")"));
  }
  VOXLOC_TRY(CheckCloud(cloud).status());
  if (CloudHasTimes(cloud)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cloud.layout of a chunk must be one without times (got ",
                     v1::CloudLayout_Name(cloud.layout()), ")"));
  }
  return Decode(cloud, std::numeric_limits<float>::max());
}

void EncodeCloud(const PointCloud& cloud, v1::Cloud& proto, size_t first, size_t most) {
  proto.set_layout(v1::CLOUD_LAYOUT_FLOAT32_XYZ);
  proto.set_stride(12);
  VectorToProto(cloud.origin, *proto.mutable_origin());
  std::string& bytes = *proto.mutable_data();
  const size_t end = first + std::min(most, cloud.size() - first);
  bytes.resize((end - first) * 12);
  char* next = bytes.data();
  for (size_t i = first; i < end; ++i, next += 12) {
    const float xyz[3] = {cloud.x[i], cloud.y[i], cloud.z[i]};
    std::memcpy(next, xyz, sizeof(xyz));
  }
}

}  // namespace voxloc::server
