// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/parameter_table.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/cpp/channel.h"
#include "core/status/try.h"
#include "core/text/names.h"

namespace voxloc::ros {
namespace {

// The contract's limits of offsets, clouds and names.
constexpr size_t kMaxOffsets = 64;
constexpr size_t kMaxExtraTopics = 15;
constexpr size_t kCovarianceValues = 36;
constexpr size_t kMaxVehicleBytes = 128;

// An empty list in YAML has no element type.
bool IsEmptyList(const ParameterValue& value) {
  const auto* numbers = std::get_if<std::vector<double>>(&value);
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  return (numbers != nullptr && numbers->empty()) || (texts != nullptr && texts->empty());
}

// False: the value is of another type.
bool Assign(const ParameterValue& value, const ParameterRow& row) {
  const auto assign = [&value](auto* target) {
    using Value = std::remove_pointer_t<decltype(target)>;
    if (const auto* same = std::get_if<Value>(&value)) {
      *target = *same;
      return true;
    }
    if constexpr (std::is_same_v<Value, double>) {
      const auto* whole = std::get_if<int64_t>(&value);
      if (whole != nullptr) *target = static_cast<double>(*whole);
      return whole != nullptr;
    }
    if constexpr (std::is_same_v<Value, std::vector<double>> ||
                  std::is_same_v<Value, std::vector<std::string>>) {
      if (!IsEmptyList(value)) return false;
      target->clear();
      return true;
    }
    return false;
  };
  return std::visit(assign, row.target);
}

std::string NumberText(double value) {
  std::string text = absl::StrCat(value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

struct YamlText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(double value) const { return NumberText(value); }
  std::string operator()(const std::string& value) const { return absl::StrCat("\"", value, "\""); }
  template <typename Value>
  std::string operator()(const std::vector<Value>& values) const {
    return absl::StrCat("[",
                        absl::StrJoin(values, ", ",
                                      [this](std::string* out, const Value& value) {
                                        absl::StrAppend(out, (*this)(value));
                                      }),
                        "]");
  }
};

absl::Status Invalid(absl::string_view what) { return absl::InvalidArgumentError(what); }

absl::Status CheckRange(const char* name, double value, const Range& range) {
  const bool above = range.open ? value > range.min : value >= range.min;
  if (std::isfinite(value) && above && value <= range.max) return absl::OkStatus();
  const std::string upper = range.max < kInfinity ? absl::StrCat(" and at most ", range.max) : "";
  return Invalid(absl::StrCat("parameter ", name, " must be ", range.open ? "over " : "at least ",
                              range.min, upper, " (got ", value, ")"));
}

absl::Status CheckRows(const std::vector<ParameterRow>& rows) {
  for (const ParameterRow& row : rows) {
    if (row.limits.range.has_value()) {
      const auto* const* whole = std::get_if<int64_t*>(&row.target);
      const double value =
          whole != nullptr ? static_cast<double>(**whole) : *std::get<double*>(row.target);
      VOXLOC_TRY(CheckRange(row.name, value, *row.limits.range));
    }
    if (row.limits.choices == nullptr) continue;
    const std::string& value = *std::get<std::string*>(row.target);
    const std::vector<std::string> choices = absl::StrSplit(row.limits.choices, ", ");
    if (std::find(choices.begin(), choices.end(), value) != choices.end()) continue;
    return Invalid(absl::StrCat("parameter ", row.name, " must be one of ", row.limits.choices,
                                " (got '", value, "')"));
  }
  return absl::OkStatus();
}

absl::Status CheckLists(const Parameters& parameters) {
  const CovarianceParameters& covariance = parameters.covariance;
  if (covariance.output_pose_covariance.size() != kCovarianceValues) {
    return Invalid(
        absl::StrCat("parameter covariance.output_pose_covariance must have 36 values "
                     "(got ",
                     covariance.output_pose_covariance.size(), ")"));
  }
  const size_t offsets = covariance.initial_pose_offset_model_x.size();
  if (offsets != covariance.initial_pose_offset_model_y.size() || offsets > kMaxOffsets) {
    return Invalid(absl::StrCat(
        "parameters covariance.covariance_estimation.initial_pose_offset_model_x and _y must have "
        "the same number of values, at most ",
        kMaxOffsets, " (got ", offsets, " and ", covariance.initial_pose_offset_model_y.size(),
        ")"));
  }
  const BridgeParameters& own = parameters.voxloc;
  if (own.points_crop_min.size() != own.points_crop_max.size() ||
      (!own.points_crop_min.empty() && own.points_crop_min.size() != 3)) {
    return Invalid(absl::StrCat(
        "parameters voxloc.points.crop_min and crop_max must both have 3 values or none (got ",
        own.points_crop_min.size(), " and ", own.points_crop_max.size(), ")"));
  }
  for (size_t i = 0; i < own.points_crop_min.size(); ++i) {
    if (own.points_crop_min[i] <= own.points_crop_max[i]) continue;
    return Invalid(absl::StrCat("parameter voxloc.points.crop_max[", i, "] must be at least ",
                                own.points_crop_min[i], ", as crop_min (got ",
                                own.points_crop_max[i], ")"));
  }
  if (own.points_extra_topics.size() > kMaxExtraTopics) {
    return Invalid(absl::StrCat("parameter voxloc.points.extra_topics must have at most ",
                                kMaxExtraTopics, " topics (got ", own.points_extra_topics.size(),
                                ")"));
  }
  return absl::OkStatus();
}

absl::Status CheckCombinations(const Parameters& parameters) {
  const BridgeParameters& own = parameters.voxloc;
  const Range radius = {own.recovery_initial_radius_m, kInfinity, false};
  VOXLOC_TRY(CheckRange("voxloc.recovery.max_radius_m", own.recovery_max_radius_m, radius));
  for (const auto& [name, value] :
       {std::pair<const char*, const std::string&>{"frame.base_frame", parameters.frame.base_frame},
        {"frame.ndt_base_frame", parameters.frame.ndt_base_frame},
        {"frame.map_frame", parameters.frame.map_frame},
        {"voxloc.server", own.server},
        {"voxloc.map", own.map},
        {"voxloc.map_feeder.map", own.map_feeder_map}}) {
    if (value.empty()) return Invalid(absl::StrCat("parameter ", name, " must not be empty"));
  }
  if (const absl::Status server = client::Channel::CheckServer(own.server); !server.ok()) {
    return Invalid(absl::StrCat("parameter voxloc.server: ", server.message()));
  }
  if (own.vehicle.size() > kMaxVehicleBytes) {
    return Invalid(absl::StrCat("parameter voxloc.vehicle must have at most ", kMaxVehicleBytes,
                                " bytes (got ", own.vehicle.size(), ")"));
  }
  if (own.pointcloud_map && own.map_feeder_enable && own.map == own.map_feeder_map) {
    return Invalid(
        absl::StrCat("parameter voxloc.map_feeder.map must be another map than voxloc.map, which "
                     "voxloc.pointcloud_map replaces (got '",
                     own.map, "' for both)"));
  }
  const bool needs_odometry = own.fusion || own.tf_output == "odom" ||
                              own.guess_source == "odometry" || own.twist_source == "odometry";
  if (needs_odometry && own.odom_frame.empty()) {
    return Invalid(
        absl::StrCat("parameter voxloc.odom_frame must be set for voxloc.fusion, for "
                     "voxloc.tf_output = odom and for voxloc.guess_source or voxloc.twist_source = "
                     "odometry (got '', ",
                     own.fusion ? "true" : "false", ", ", own.tf_output, ", ", own.guess_source,
                     " and ", own.twist_source, ")"));
  }
  return absl::OkStatus();
}

// Of the alternative of ParameterValue, and of ParameterRow::target.
const char* TypeName(size_t index) {
  static constexpr const char* kNames[] = {"true or false", "a whole number",    "a number",
                                           "text",          "a list of numbers", "a list of texts"};
  return kNames[index];
}

}  // namespace

const std::vector<ParameterInfo>& ParameterTable() {
  static const std::vector<ParameterInfo>* const kTable = [] {
    auto* table = new std::vector<ParameterInfo>();
    Parameters defaults;
    for (const ParameterRow& row : ParameterRows(defaults)) {
      const auto value = [](const auto* target) { return ParameterValue(*target); };
      table->push_back({row.name, std::visit(value, row.target), row.acts_on, row.meaning});
    }
    return table;
  }();
  return *kTable;
}

const char* ToString(ActsOn acts_on) {
  switch (acts_on) {
    case ActsOn::kVehicle:
      return "vehicle";
    case ActsOn::kServer:
      return "server";
    case ActsOn::kNotNeeded:
      return "not needed";
  }
  return "";
}

std::string ToYaml(const ParameterValue& value) { return std::visit(YamlText(), value); }

absl::Status SetParameter(const std::string& name, const ParameterValue& value,
                          Parameters& parameters) {
  std::vector<std::string> names;
  for (const ParameterRow& row : ParameterRows(parameters)) {
    if (row.name == name) {
      if (Assign(value, row)) return absl::OkStatus();
      return Invalid(absl::StrCat("parameter ", name, " must be ", TypeName(row.target.index()),
                                  " (got ", ToYaml(value), ")"));
    }
    names.push_back(row.name);
  }
  const std::string nearest = NearestName(name, names);
  return absl::NotFoundError(
      absl::StrCat("the node has no parameter '", name, "'",
                   nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?")));
}

absl::Status ValidateParameters(const Parameters& parameters) {
  Parameters values = parameters;
  VOXLOC_TRY(CheckRows(ParameterRows(values)));
  VOXLOC_TRY(CheckLists(parameters));
  return CheckCombinations(parameters);
}

absl::StatusOr<LoadedParameters> LoadParameters(
    const std::map<std::string, ParameterValue>& given) {
  LoadedParameters loaded;
  for (const auto& [name, value] : given) {
    const absl::Status status = SetParameter(name, value, loaded.parameters);
    if (absl::IsNotFound(status)) {
      loaded.warnings.emplace_back(status.message());
    } else if (!status.ok()) {
      return status;
    }
  }
  VOXLOC_TRY(ValidateParameters(loaded.parameters));
  return loaded;
}

}  // namespace voxloc::ros
