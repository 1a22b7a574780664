// SPDX-License-Identifier: Apache-2.0

#include "server/convert/cloud.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "server/convert/pose.h"

#if !defined(ABSL_IS_LITTLE_ENDIAN)
#error "The wire's points are little endian, and so must be the host."
#endif

namespace voxloc::server {
namespace {

constexpr uint32_t kMaxStride = 1024;

// 0: not a layout.
uint32_t PointBytes(v1::CloudLayout layout) {
  switch (layout) {
    case v1::CLOUD_LAYOUT_FLOAT32_XYZ:
      return 12;
    case v1::CLOUD_LAYOUT_FLOAT32_XYZI:
      return 16;
    case v1::CLOUD_LAYOUT_INT16_XYZ:
      return 6;
    default:
      return 0;
  }
}

uint32_t StrideOf(const v1::Cloud& cloud) {
  return cloud.stride() == 0 ? PointBytes(cloud.layout()) : cloud.stride();
}

// The number of points.
absl::StatusOr<size_t> CheckCloud(const v1::Cloud& cloud) {
  if (auto origin = VectorFromProto(cloud.origin(), "cloud.origin"); !origin.ok()) {
    return origin.status();
  }
  const size_t size = cloud.data().size();
  if (size == 0) return 0;
  const uint32_t point_bytes = PointBytes(cloud.layout());
  if (point_bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cloud.layout must be FLOAT32_XYZ (1), FLOAT32_XYZI (2) or INT16_XYZ (3) (got ",
        static_cast<int>(cloud.layout()), ")"));
  }
  const uint32_t stride = StrideOf(cloud);
  if (stride < point_bytes || stride > kMaxStride) {
    return absl::InvalidArgumentError(absl::StrCat("cloud.stride must be 0 or from ", point_bytes,
                                                   " to ", kMaxStride,
                                                   " bytes for this layout (got ", stride, ")"));
  }
  if (size % stride != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cloud.data has ", size, " bytes, which is not a multiple of the stride ", stride));
  }
  if (cloud.layout() == v1::CLOUD_LAYOUT_INT16_XYZ &&
      !(cloud.scale_m() > 0.0 && cloud.scale_m() <= kMaxScanReachM)) {
    return absl::InvalidArgumentError(absl::StrCat("cloud.scale_m is ", cloud.scale_m(),
                                                   "; INT16_XYZ needs a finite value over 0"));
  }
  return size / stride;
}

// One point at a time: `read` fills three floats from the point's bytes.
template <typename Read>
void DecodePoints(absl::string_view bytes, size_t stride, float reach, const Read& read,
                  DecodedCloud& decoded) {
  const size_t count = bytes.size() / stride;
  PointCloud& cloud = decoded.cloud;
  cloud.x.resize(count);
  cloud.y.resize(count);
  cloud.z.resize(count);
  size_t kept = 0;
  const char* point = bytes.data();
  for (size_t i = 0; i < count; ++i, point += stride) {
    float xyz[3];
    read(point, xyz);
    cloud.x[kept] = xyz[0];
    cloud.y[kept] = xyz[1];
    cloud.z[kept] = xyz[2];
    // False for NaN as well.
    if (std::abs(xyz[0]) <= reach && std::abs(xyz[1]) <= reach && std::abs(xyz[2]) <= reach) {
      ++kept;
    } else if (std::isfinite(xyz[0]) && std::isfinite(xyz[1]) && std::isfinite(xyz[2])) {
      ++decoded.out_of_reach;
    } else {
      ++decoded.not_finite;
    }
  }
  cloud.x.resize(kept);
  cloud.y.resize(kept);
  cloud.z.resize(kept);
  decoded.received = count;
}

DecodedCloud Decode(const v1::Cloud& cloud, float reach) {
  DecodedCloud decoded;
  decoded.cloud.origin = {cloud.origin().x(), cloud.origin().y(), cloud.origin().z()};
  if (cloud.data().empty()) return decoded;
  if (cloud.layout() == v1::CLOUD_LAYOUT_INT16_XYZ) {
    const double scale = cloud.scale_m();
    const auto read = [scale](const char* point, float* xyz) {
      int16_t units[3];
      std::memcpy(units, point, sizeof(units));
      for (int k = 0; k < 3; ++k) xyz[k] = static_cast<float>(units[k] * scale);
    };
    DecodePoints(cloud.data(), StrideOf(cloud), reach, read, decoded);
  } else {
    const auto read = [](const char* point, float* xyz) {
      std::memcpy(xyz, point, 3 * sizeof(float));
    };
    DecodePoints(cloud.data(), StrideOf(cloud), reach, read, decoded);
  }
  return decoded;
}

}  // namespace

absl::StatusOr<size_t> CheckScanCloud(const v1::Cloud& cloud, uint64_t max_points) {
  auto count = CheckCloud(cloud);
  if (!count.ok()) return count;
  if (*count > max_points) {
    return absl::InvalidArgumentError(
        absl::StrCat("the scan must have at most ", max_points, " points (got ", *count, ")"));
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

DecodedCloud DecodeScan(const v1::Cloud& cloud) {
  return Decode(cloud, static_cast<float>(kMaxScanReachM));
}

absl::StatusOr<DecodedCloud> DecodeTilePoints(const v1::Cloud& cloud, uint64_t max_bytes) {
  if (cloud.data().size() > max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("cloud.data of a chunk must have at most ",
                                                     max_bytes, " bytes (got ", cloud.data().size(),
                                                     ")"));
  }
  auto count = CheckCloud(cloud);
  if (!count.ok()) return count.status();
  return Decode(cloud, std::numeric_limits<float>::max());
}

void EncodeCloud(const PointCloud& cloud, v1::Cloud& proto) {
  proto.set_layout(v1::CLOUD_LAYOUT_FLOAT32_XYZ);
  proto.set_stride(12);
  VectorToProto(cloud.origin, *proto.mutable_origin());
  std::string& bytes = *proto.mutable_data();
  bytes.resize(cloud.size() * 12);
  char* next = bytes.data();
  for (size_t i = 0; i < cloud.size(); ++i, next += 12) {
    const float xyz[3] = {cloud.x[i], cloud.y[i], cloud.z[i]};
    std::memcpy(next, xyz, sizeof(xyz));
  }
}

}  // namespace voxloc::server
