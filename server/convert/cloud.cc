// SPDX-License-Identifier: Apache-2.0

#include "server/convert/cloud.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "server/convert/pose.h"

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

Layout LayoutOf(v1::CloudLayout layout) {
  switch (layout) {
    case v1::CLOUD_LAYOUT_FLOAT32_XYZ:
      return {12, 0, false};
    case v1::CLOUD_LAYOUT_FLOAT32_XYZI:
      return {16, 0, false};
    case v1::CLOUD_LAYOUT_INT16_XYZ:
      return {6, 0, true};
    case v1::CLOUD_LAYOUT_FLOAT32_XYZT:
      return {16, 12, false};
    case v1::CLOUD_LAYOUT_FLOAT32_XYZIT:
      return {20, 16, false};
    case v1::CLOUD_LAYOUT_INT16_XYZT:
      return {8, 6, true};
    default:
      return {};
  }
}

uint32_t StrideOf(const v1::Cloud& cloud) {
  return cloud.stride() == 0 ? LayoutOf(cloud.layout()).point_bytes : cloud.stride();
}

// The number of points.
absl::StatusOr<size_t> CheckCloud(const v1::Cloud& cloud) {
  if (auto origin = VectorFromProto(cloud.origin(), "cloud.origin"); !origin.ok()) {
    return origin.status();
  }
  const size_t size = cloud.data().size();
  if (size == 0) return 0;
  const Layout layout = LayoutOf(cloud.layout());
  if (layout.point_bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cloud.layout must be FLOAT32_XYZ (1), FLOAT32_XYZI (2), INT16_XYZ (3), FLOAT32_XYZT (4), "
        "FLOAT32_XYZIT (5) or INT16_XYZT (6) (got ",
        static_cast<int>(cloud.layout()), ")"));
  }
  const uint32_t stride = StrideOf(cloud);
  if (stride < layout.point_bytes || stride > kMaxStride) {
    return absl::InvalidArgumentError(absl::StrCat("cloud.stride must be 0 or from ",
                                                   layout.point_bytes, " to ", kMaxStride,
                                                   " bytes for this layout (got ", stride, ")"));
  }
  if (size % stride != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cloud.data has ", size, " bytes, which is not a multiple of the stride ", stride));
  }
  if (layout.units && !(cloud.scale_m() > 0.0 && cloud.scale_m() <= kMaxScanReachM)) {
    return absl::InvalidArgumentError(absl::StrCat("cloud.scale_m must be over 0 and at most ",
                                                   kMaxScanReachM, " for the int16 layouts (got ",
                                                   cloud.scale_m(), ")"));
  }
  if (cloud.layout() == v1::CLOUD_LAYOUT_INT16_XYZT &&
      !(cloud.time_scale_s() > 0.0 && cloud.time_scale_s() <= kMaxPointTimeS)) {
    return absl::InvalidArgumentError(absl::StrCat("cloud.time_scale_s must be over 0 and at most ",
                                                   kMaxPointTimeS, " for INT16_XYZT (got ",
                                                   cloud.time_scale_s(), ")"));
  }
  return size / stride;
}

// One point at a time: `read` fills three floats, and `read_time` gives the time, from the point's
// bytes.
template <typename Read, typename ReadTime>
void DecodePoints(absl::string_view bytes, size_t stride, float reach, const Read& read,
                  const ReadTime* read_time, DecodedCloud& decoded) {
  const size_t count = bytes.size() / stride;
  PointCloud& cloud = decoded.cloud;
  cloud.x.resize(count);
  cloud.y.resize(count);
  cloud.z.resize(count);
  if (read_time != nullptr) decoded.time_s.resize(count);
  size_t kept = 0;
  const char* point = bytes.data();
  for (size_t i = 0; i < count; ++i, point += stride) {
    float xyz[3];
    read(point, xyz);
    cloud.x[kept] = xyz[0];
    cloud.y[kept] = xyz[1];
    cloud.z[kept] = xyz[2];
    if (read_time != nullptr) {
      const float time_s = (*read_time)(point);
      if (!(std::abs(time_s) <= kMaxPointTimeS)) {
        ++decoded.not_finite;
        continue;
      }
      decoded.time_s[kept] = time_s;
    }
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
  if (read_time != nullptr) decoded.time_s.resize(kept);
  decoded.received = count;
}

DecodedCloud Decode(const v1::Cloud& cloud, float reach) {
  DecodedCloud decoded;
  decoded.cloud.origin = {cloud.origin().x(), cloud.origin().y(), cloud.origin().z()};
  if (cloud.data().empty()) return decoded;
  const Layout layout = LayoutOf(cloud.layout());
  const uint32_t time_offset = layout.time_offset;
  if (layout.units) {
    const double scale = cloud.scale_m();
    const auto read = [scale](const char* point, float* xyz) {
      int16_t units[3];
      std::memcpy(units, point, sizeof(units));
      for (int k = 0; k < 3; ++k) xyz[k] = static_cast<float>(units[k] * scale);
    };
    const auto read_time = [time_offset, unit_s = cloud.time_scale_s()](const char* point) {
      int16_t units = 0;
      std::memcpy(&units, point + time_offset, sizeof(units));
      return static_cast<float>(units * unit_s);
    };
    DecodePoints(cloud.data(), StrideOf(cloud), reach, read, time_offset > 0 ? &read_time : nullptr,
                 decoded);
  } else {
    const auto read = [](const char* point, float* xyz) {
      std::memcpy(xyz, point, 3 * sizeof(float));
    };
    const auto read_time = [time_offset](const char* point) {
      float time_s = 0.0F;
      std::memcpy(&time_s, point + time_offset, sizeof(time_s));
      return time_s;
    };
    DecodePoints(cloud.data(), StrideOf(cloud), reach, read, time_offset > 0 ? &read_time : nullptr,
                 decoded);
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

bool CloudHasTimes(const v1::Cloud& cloud) { return LayoutOf(cloud.layout()).time_offset > 0; }

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
