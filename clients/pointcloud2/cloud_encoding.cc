// SPDX-License-Identifier: Apache-2.0

#include "clients/pointcloud2/cloud_encoding.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/pointcloud2/point_cloud2.h"
#include "core/status/try.h"

namespace voxloc::ros {
namespace {

// Of the contract.
constexpr uint32_t kMaxStride = 1024;
constexpr uint32_t kXyzBytes = 12;
constexpr uint32_t kFloatBytes = 4;
// 10 us a unit reach 0.33 s: a LiDAR of 5 Hz takes 0.2 s for a turn.
constexpr double kInt16TimeScaleS = 1e-5;

// x, y, z as three little-endian floats in a row.
bool HasPlainXyz(const PointCloud2View& cloud, const PointLayout& layout) {
  const uint32_t x = layout.x.offset;
  return !cloud.is_bigendian && layout.x.datatype == PointField::kFloat32 &&
         layout.y.offset == x + kFloatBytes && layout.z.offset == x + 2 * kFloatBytes;
}

// The layout under which the server reads the bytes as they are; UNSPECIFIED: it cannot.
v1::CloudLayout LayoutAsIs(const PointCloud2View& cloud, const PointLayout& layout) {
  const bool has_gaps = cloud.height != 1 && cloud.row_step != cloud.width * cloud.point_step;
  if (!HasPlainXyz(cloud, layout) || layout.x.offset != 0 || has_gaps ||
      cloud.point_step > kMaxStride) {
    return v1::CLOUD_LAYOUT_UNSPECIFIED;
  }
  if (!layout.time.has_value()) return v1::CLOUD_LAYOUT_FLOAT32_XYZ;
  const ScalarField& time = layout.time->field;
  if (layout.time->zero != PointTimeZero::kCloudStamp || layout.time->unit_s != 1.0 ||
      time.datatype != PointField::kFloat32) {
    return v1::CLOUD_LAYOUT_UNSPECIFIED;
  }
  return time.offset == kXyzBytes                 ? v1::CLOUD_LAYOUT_FLOAT32_XYZT
         : time.offset == kXyzBytes + kFloatBytes ? v1::CLOUD_LAYOUT_FLOAT32_XYZIT
                                                  : v1::CLOUD_LAYOUT_UNSPECIFIED;
}

// Seconds after the cloud's stamp.
class PointTime {
 public:
  PointTime() = default;
  PointTime(const PointCloud2View& cloud, const PointTimeField& time)
      : field_(time.field), big_endian_(cloud.is_bigendian), unit_s_(time.unit_s) {
    if (time.zero == PointTimeZero::kClock) {
      // In the unit of the field, so that the large numbers cancel before they are scaled.
      zero_ = unit_s_ == 1.0 ? static_cast<double>(cloud.header.stamp_ns) * 1e-9
                             : static_cast<double>(cloud.header.stamp_ns);
    }
  }

  [[nodiscard]] double At(const uint8_t* point) const {
    return (ReadScalar(point + field_.offset, field_.datatype, big_endian_) - zero_) * unit_s_;
  }

 private:
  ScalarField field_;
  bool big_endian_ = false;
  double unit_s_ = 1.0;
  double zero_ = 0.0;
};

struct PlainReader {
  uint32_t offset;
  void operator()(const uint8_t* point, float* xyz) const {
    std::memcpy(xyz, point + offset, kXyzBytes);
  }
};

struct AnyReader {
  const PointLayout& layout;
  bool big_endian;
  [[nodiscard]] float Read(const uint8_t* point, const ScalarField& field) const {
    const uint8_t* bytes = point + field.offset;
    if (field.datatype == PointField::kFloat32) return ReadValue<float>(bytes, big_endian);
    return static_cast<float>(ReadValue<double>(bytes, big_endian));
  }
  void operator()(const uint8_t* point, float* xyz) const {
    xyz[0] = Read(point, layout.x);
    xyz[1] = Read(point, layout.y);
    xyz[2] = Read(point, layout.z);
  }
};

// Which points stay, and how far from the base they reach.
class PointCheck {
 public:
  PointCheck(const CloudPreparation& preparation, const std::optional<Pose>& base_T_sensor)
      : preparation_(preparation),
        min_squared_(preparation.min_range_m * preparation.min_range_m),
        max_squared_(preparation.max_range_m > 0.0
                         ? preparation.max_range_m * preparation.max_range_m
                         : std::numeric_limits<double>::infinity()) {
    const Pose mount = base_T_sensor.value_or(Pose());
    rotation_ = mount.rotation.toRotationMatrix();
    translation_ = mount.translation;
    // |R p + t|^2 = |p|^2 + 2 (R^T t) . p + |t|^2
    twice_origin_sensor_ = 2.0 * (rotation_.transpose() * translation_);
    origin_squared_ = translation_.squaredNorm();
  }

  // Of a point in the sensor's frame. False: it is not to be sent.
  bool Keep(const float* xyz) {
    const double x = static_cast<double>(xyz[0]);
    const double y = static_cast<double>(xyz[1]);
    const double z = static_cast<double>(xyz[2]);
    const double squared = x * x + y * y + z * z;
    if (!(squared <= std::numeric_limits<double>::max())) {
      ++not_finite_;
      return !preparation_.drop_not_finite;
    }
    const double from_base = squared + twice_origin_sensor_.x() * x + twice_origin_sensor_.y() * y +
                             twice_origin_sensor_.z() * z;
    if (from_base > farthest_) farthest_ = from_base;
    any_ = true;
    if (squared < min_squared_ || squared > max_squared_) return false;
    if (!preparation_.crop_base.has_value()) return true;
    const Eigen::Vector3d base = rotation_ * Eigen::Vector3d(x, y, z) + translation_;
    return (base.array() >= preparation_.crop_base->min.array()).all() &&
           (base.array() <= preparation_.crop_base->max.array()).all();
  }

  [[nodiscard]] size_t not_finite() const { return not_finite_; }
  [[nodiscard]] double max_distance_m() const {
    return any_ ? std::sqrt(std::max(0.0, farthest_ + origin_squared_)) : 0.0;
  }

 private:
  const CloudPreparation& preparation_;
  double min_squared_;
  double max_squared_;
  Eigen::Matrix3d rotation_;
  Eigen::Vector3d translation_;
  Eigen::Vector3d twice_origin_sensor_;
  double origin_squared_ = 0.0;
  double farthest_ = -std::numeric_limits<double>::infinity();
  bool any_ = false;
  size_t not_finite_ = 0;
};

class FloatWriter {
 public:
  static constexpr v1::CloudLayout kLayout = v1::CLOUD_LAYOUT_FLOAT32_XYZ;
  static constexpr v1::CloudLayout kTimedLayout = v1::CLOUD_LAYOUT_FLOAT32_XYZT;
  static constexpr size_t kBytes = kXyzBytes;
  static constexpr size_t kTimeBytes = kFloatBytes;

  bool Write(const float* xyz, char* out) const {
    std::memcpy(out, xyz, kBytes);
    return true;
  }
  bool WriteTime(double time_s, char* out) const {
    const auto value = static_cast<float>(time_s);
    std::memcpy(out, &value, sizeof(value));
    return true;
  }
};

class Int16Writer {
 public:
  static constexpr v1::CloudLayout kLayout = v1::CLOUD_LAYOUT_INT16_XYZ;
  static constexpr v1::CloudLayout kTimedLayout = v1::CLOUD_LAYOUT_INT16_XYZT;
  static constexpr size_t kBytes = 3 * sizeof(int16_t);
  static constexpr size_t kTimeBytes = sizeof(int16_t);

  explicit Int16Writer(double scale_m) : units_per_m_(1.0 / scale_m) {}

  bool Write(const float* xyz, char* out) const {
    for (size_t i = 0; i < 3; ++i) {
      if (!WriteUnits(static_cast<double>(xyz[i]) * units_per_m_, out + i * sizeof(int16_t))) {
        return false;
      }
    }
    return true;
  }
  bool WriteTime(double time_s, char* out) const {
    return WriteUnits(time_s / kInt16TimeScaleS, out);
  }

 private:
  // False also for what is not finite, which has no place in these layouts.
  static bool WriteUnits(double units, char* out) {
    if (!(std::abs(units) <= std::numeric_limits<int16_t>::max())) return false;
    const auto value = static_cast<int16_t>(std::lround(units));
    std::memcpy(out, &value, sizeof(value));
    return true;
  }

  double units_per_m_;
};

// Calls `visit` with the first byte of each point.
template <typename Visit>
void ForEachPoint(const PointCloud2View& cloud, const Visit& visit) {
  for (uint32_t row = 0; row < cloud.height; ++row) {
    const uint8_t* point = cloud.data.data() + size_t{row} * cloud.row_step;
    for (uint32_t column = 0; column < cloud.width; ++column, point += cloud.point_step) {
      visit(point);
    }
  }
}

template <typename Reader, typename Writer>
void Pack(const PointCloud2View& cloud, const PointLayout& layout, const Reader& read,
          const Writer& writer, PointCheck& check, EncodedCloud& encoded) {
  const bool timed = layout.time.has_value();
  const PointTime time = timed ? PointTime(cloud, *layout.time) : PointTime();
  const size_t bytes = Writer::kBytes + (timed ? Writer::kTimeBytes : 0);
  std::string data(layout.points * bytes, '\0');
  char* out = data.data();
  ForEachPoint(cloud, [&](const uint8_t* point) {
    float xyz[3];
    read(point, xyz);
    if (!check.Keep(xyz) || !writer.Write(xyz, out)) return;
    if (timed && !writer.WriteTime(time.At(point), out + Writer::kBytes)) return;
    out += bytes;
  });
  data.resize(static_cast<size_t>(out - data.data()));
  encoded.sent = data.size() / bytes;
  encoded.cloud.set_data(std::move(data));
  encoded.cloud.set_layout(timed ? Writer::kTimedLayout : Writer::kLayout);
}

template <typename Reader>
void PackAs(const PointCloud2View& cloud, const PointLayout& layout, const Reader& read,
            const CloudEncodingOptions& options, PointCheck& check, EncodedCloud& encoded) {
  if (options.encoding != CloudEncoding::kInt16) {
    Pack(cloud, layout, read, FloatWriter(), check, encoded);
    return;
  }
  Pack(cloud, layout, read, Int16Writer(options.int16_scale_m), check, encoded);
  encoded.cloud.set_scale_m(options.int16_scale_m);
  if (layout.time.has_value()) encoded.cloud.set_time_scale_s(kInt16TimeScaleS);
}

template <typename Reader>
void CopyAsIs(const PointCloud2View& cloud, v1::CloudLayout wire_layout, const Reader& read,
              PointCheck& check, EncodedCloud& encoded) {
  ForEachPoint(cloud, [&](const uint8_t* point) {
    float xyz[3];
    read(point, xyz);
    check.Keep(xyz);
  });
  const auto* bytes = reinterpret_cast<const char*>(cloud.data.data());
  encoded.cloud.set_data(std::string(bytes, encoded.received * cloud.point_step));
  encoded.cloud.set_layout(wire_layout);
  encoded.cloud.set_stride(cloud.point_step);
  encoded.sent = encoded.received;
  encoded.as_is = true;
}

// With a clock other than the stamp's, every point is out of range.
absl::Status CheckTimes(const PointCloud2View& cloud, const PointTimeField& field) {
  const PointTime time(cloud, field);
  bool any = false;
  ForEachPoint(cloud, [&](const uint8_t* point) {
    any = any || std::abs(time.At(point)) <= kMaxPointTimeS;
  });
  if (any) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the times of points in field '", field.name, "' must be within ", kMaxPointTimeS,
      " s of the cloud's stamp (got ", time.At(cloud.data.data()), " s for the first point)"));
}

}  // namespace

absl::StatusOr<EncodedCloud> EncodeCloud(const PointCloud2View& cloud,
                                         const std::optional<Pose>& base_T_sensor,
                                         const CloudEncodingOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(const PointLayout layout, ReadPointLayout(cloud, options.time));
  EncodedCloud encoded;
  encoded.received = layout.points;
  if (layout.points == 0) return encoded;
  encoded.has_times = layout.time.has_value();
  if (encoded.has_times) {
    VOXLOC_TRY(CheckTimes(cloud, *layout.time));
  }
  PointCheck check(options.preparation, base_T_sensor);
  const PlainReader plain{layout.x.offset};
  const v1::CloudLayout as_is = LayoutAsIs(cloud, layout);
  const bool small_enough = options.encoding == CloudEncoding::kAsIs ||
                            (options.encoding == CloudEncoding::kAuto &&
                             cloud.point_step <= kXyzBytes + (encoded.has_times ? kFloatBytes : 0));
  if (as_is != v1::CLOUD_LAYOUT_UNSPECIFIED && small_enough &&
      !options.preparation.drops_points()) {
    CopyAsIs(cloud, as_is, plain, check, encoded);
  } else if (HasPlainXyz(cloud, layout)) {
    PackAs(cloud, layout, plain, options, check, encoded);
  } else {
    PackAs(cloud, layout, AnyReader{layout, cloud.is_bigendian}, options, check, encoded);
  }
  encoded.left_out = encoded.received - encoded.sent;
  encoded.not_finite = check.not_finite();
  encoded.max_distance_m = check.max_distance_m();
  return encoded;
}

absl::StatusOr<v1::Cloud> EncodeTimedCloud(const PointCloud2View& cloud,
                                           const CloudEncodingOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(EncodedCloud encoded,
                          EncodeCloud(cloud, /*base_T_sensor=*/std::nullopt, options));
  if (options.time.any && !encoded.has_times) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the cloud must have a field with the times of its points (got ",
        absl::StrJoin(
            cloud.fields, ", ",
            [](std::string* out, const PointField& field) { absl::StrAppend(out, field.name); }),
        ")"));
  }
  return std::move(encoded.cloud);
}

}  // namespace voxloc::ros
