// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/calibration/sensor_calibration.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "core/geometry/euler.h"
#include "core/status/try.h"
#include "core/text/names.h"
#include "core/text/number_range.h"

namespace voxloc {
namespace {

constexpr size_t kMaxNameBytes = 64;
constexpr int64_t kFirstStampNs = std::numeric_limits<int64_t>::min();
constexpr int64_t kLastStampNs = std::numeric_limits<int64_t>::max();

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
                  c == '-';
         });
}

absl::Span<const double> NumbersOf(const double& value) { return {&value, 1}; }
absl::Span<const double> NumbersOf(const Eigen::Vector3d& values) { return {values.data(), 3}; }

// Keys keep their order.
using Json = nlohmann::ordered_json;

template <typename... Parts>
absl::Status Wrong(absl::string_view path, const Parts&... what) {
  return absl::InvalidArgumentError(absl::StrCat(path, " ", what...));
}

absl::Status CheckKeys(const Json& object, absl::string_view path,
                       const std::vector<std::string>& known) {
  if (!object.is_object()) return Wrong(path, "must be an object (got ", object.type_name(), ")");
  for (const auto& entry : object.items()) {
    if (std::find(known.begin(), known.end(), entry.key()) != known.end()) continue;
    const std::string nearest = NearestName(entry.key(), known);
    return Wrong(path, "has an unknown key '", entry.key(), "'",
                 nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"));
  }
  return absl::OkStatus();
}

absl::Status ReadValue(const Json& json, absl::string_view path, double& value) {
  if (!json.is_number()) return Wrong(path, "must be a number (got ", json.type_name(), ")");
  value = json.get<double>();
  return absl::OkStatus();
}

absl::Status ReadValue(const Json& json, absl::string_view path, Eigen::Vector3d& value) {
  if (!json.is_array() || json.size() != 3) return Wrong(path, "must be a list of three numbers");
  for (size_t i = 0; i < 3; ++i) {
    VOXLOC_TRY(
        ReadValue(json[i], absl::StrCat(path, "[", i, "]"), value[static_cast<Eigen::Index>(i)]));
  }
  return absl::OkStatus();
}

absl::Status ReadText(const Json& object, const std::string& key, absl::string_view path,
                      std::string& text) {
  if (!object.contains(key)) return Wrong(path, "needs the key '", key, "'");
  if (!object[key].is_string()) {
    return Wrong(absl::StrCat(path, ".", key), "must be a text (got ", object[key].type_name(),
                 ")");
  }
  text = object[key].get<std::string>();
  return absl::OkStatus();
}

template <typename Value>
absl::Status ReadConstant(const Json& json, absl::string_view path,
                          CalibratedConstant<Value>& constant) {
  VOXLOC_TRY(CheckKeys(json, path, {"value", "origin"}));
  if (!json.contains("value")) return Wrong(path, "needs the key 'value'");
  VOXLOC_TRY(ReadValue(json["value"], absl::StrCat(path, ".value"), constant.value));
  return ReadText(json, "origin", path, constant.origin);
}

absl::StatusOr<SensorCalibration> ReadSensor(const Json& json, const std::string& path) {
  SensorCalibration sensor;
  std::vector<std::string> known = {"name"};
  VisitConstants(sensor, [&known](const char* key, const auto& /*constant*/, double /*least*/,
                                  double /*most*/) { known.emplace_back(key); });
  VOXLOC_TRY(CheckKeys(json, path, known));
  absl::Status status = ReadText(json, "name", path, sensor.name);
  VisitConstants(sensor, [&](const char* key, auto& constant, double /*least*/, double /*most*/) {
    if (!status.ok() || !json.contains(key)) return;
    status = ReadConstant(json[key], absl::StrCat(path, ".", key), constant);
  });
  if (!status.ok()) return status;
  status = ValidateSensorCalibration(sensor);
  if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ".", status.message()));
  return sensor;
}

absl::StatusOr<SensorCalibrations> ReadSensors(const Json& root) {
  VOXLOC_TRY(CheckKeys(root, "the file", {"sensors"}));
  if (!root.contains("sensors") || !root["sensors"].is_array()) {
    return Wrong("the file", "needs the key 'sensors' with a list");
  }
  SensorCalibrations calibrations;
  std::set<std::string> names;
  for (size_t i = 0; i < root["sensors"].size(); ++i) {
    const std::string path = absl::StrCat("sensors[", i, "]");
    VOXLOC_ASSIGN_OR_RETURN(SensorCalibration sensor, ReadSensor(root["sensors"][i], path));
    if (!names.insert(sensor.name).second) {
      return Wrong(absl::StrCat(path, ".name"), "'", sensor.name, "' occurs twice");
    }
    calibrations.Set(std::move(sensor));
  }
  return calibrations;
}

Json ValueJson(double value) { return value; }
Json ValueJson(const Eigen::Vector3d& value) { return {value.x(), value.y(), value.z()}; }

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

absl::StatusOr<SensorCalibrations> ReadCalibrationFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  std::ostringstream text;
  if (!(text << file.rdbuf())) return absl::UnavailableError(absl::StrCat("cannot read ", path));
  return ParseCalibrations(text.str(), path);
}

absl::StatusOr<SensorCalibrations> ParseCalibrations(absl::string_view json,
                                                     absl::string_view name) {
  absl::StatusOr<SensorCalibrations> calibrations;
  try {
    calibrations = ReadSensors(Json::parse(json.begin(), json.end()));
  } catch (const std::exception& error) {  // nlohmann reports by exception
    calibrations = absl::InvalidArgumentError(error.what());
  }
  if (calibrations.ok()) return calibrations;
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", calibrations.status().message()));
}

std::string CalibrationsText(const SensorCalibrations& calibrations) {
  Json sensors = Json::array();
  for (const SensorCalibration& sensor : calibrations.sensors()) {
    Json json = {{"name", sensor.name}};
    VisitConstants(
        sensor, [&json](const char* key, const auto& constant, double /*least*/, double /*most*/) {
          json[key] = {{"value", ValueJson(constant.value)}, {"origin", constant.origin}};
        });
    sensors.push_back(std::move(json));
  }
  return absl::StrCat(Json{{"sensors", std::move(sensors)}}.dump(2), "\n");
}

}  // namespace voxloc
