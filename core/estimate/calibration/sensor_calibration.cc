// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/calibration/sensor_calibration.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "core/geometry/euler.h"
#include "core/text/nearest_name.h"
#include "core/text/number_range.h"

namespace voxloc {
namespace {

constexpr size_t kMaxNameBytes = 64;
constexpr int64_t kFirstStampNs = std::numeric_limits<int64_t>::min();
constexpr int64_t kLastStampNs = std::numeric_limits<int64_t>::max();

bool IsName(absl::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  for (const char c : name) {
    const bool allowed =
        absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
    if (!allowed) return false;
  }
  return true;
}

absl::Span<const double> NumbersOf(const double& value) { return {&value, 1}; }
absl::Span<const double> NumbersOf(const Eigen::Vector3d& values) { return {values.data(), 3}; }

}  // namespace

SystematicError SensorCalibration::systematic() const {
  return {position_sigma_m.value, rotation_sigma_rad.value, time_sigma_s.value, skew_sigma_s.value};
}

Pose SensorCalibration::CorrectMount(const Pose& base_T_sensor) const {
  const Eigen::Vector3d& angles = mount_rotation_rad.value;
  return {base_T_sensor.translation + mount_offset_m.value,
          (RotationFromRosAngles(angles.x(), angles.y(), angles.z()) * base_T_sensor.rotation)
              .normalized()};
}

int64_t SensorCalibration::CorrectStamp(int64_t stamp_ns) const {
  const int64_t offset_ns = std::llround(1e9 * stamp_offset_s.value);
  // Stamps may be any number: near an end of its type there is no later, or no earlier one.
  if (offset_ns > 0) return std::min(stamp_ns, kLastStampNs - offset_ns) + offset_ns;
  return std::max(stamp_ns, kFirstStampNs - offset_ns) + offset_ns;
}

absl::Status ValidateSensorCalibration(const SensorCalibration& sensor) {
  if (!IsName(sensor.name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "name must be 1 to ", kMaxNameBytes, " letters, digits, '.', '_' and '-' (got '",
        absl::CEscape(sensor.name.substr(0, kMaxNameBytes)), "')"));
  }
  absl::Status status;
  VisitConstants(
      sensor, [&status](absl::string_view key, const auto& constant, double least, double most) {
        for (const double value : NumbersOf(constant.value)) {
          status.Update(CheckRanges({{absl::StrCat(key, ".value"), value, FromTo(least, most)}}));
        }
        if (constant.origin.empty()) {
          status.Update(absl::InvalidArgumentError(
              absl::StrCat(key, ".origin must say where the value comes from (it is empty)")));
        }
      });
  return status;
}

void SensorCalibrations::Set(SensorCalibration sensor) {
  for (SensorCalibration& known : sensors_) {
    if (known.name != sensor.name) continue;
    known = std::move(sensor);
    return;
  }
  sensors_.push_back(std::move(sensor));
}

absl::StatusOr<SensorCalibration> SensorCalibrations::Find(absl::string_view name) const {
  if (name.empty()) return sensors_.front();
  for (const SensorCalibration& sensor : sensors_) {
    if (sensor.name == name) return sensor;
  }
  const std::string nearest = NearestName(name, Names());
  return absl::NotFoundError(
      absl::StrCat("no sensor is named '", absl::CEscape(name.substr(0, kMaxNameBytes)),
                   "'; known: ", absl::StrJoin(Names(), ", "),
                   nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
}

std::vector<std::string> SensorCalibrations::Names() const {
  std::vector<std::string> names;
  for (const SensorCalibration& sensor : sensors_) names.push_back(sensor.name);
  return names;
}

}  // namespace voxloc
