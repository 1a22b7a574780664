// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/parameter_table.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/ros/core/parameter_row.h"
#include "core/text/nearest_name.h"

namespace voxloc::ros {
namespace {

const std::vector<ParameterRow>& Rows() {
  static const std::vector<ParameterRow>* const kRows = [] {
    auto* rows = new std::vector<ParameterRow>(AutowareParameterRows());
    std::vector<ParameterRow> own = BridgeParameterRows();
    std::move(own.begin(), own.end(), std::back_inserter(*rows));
    return rows;
  }();
  return *kRows;
}

const ParameterRow* FindRow(const std::string& name) {
  for (const ParameterRow& row : Rows()) {
    if (row.info.name == name) return &row;
  }
  return nullptr;
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

const char* TypeName(const ParameterValue& value) {
  static constexpr const char* kNames[] = {"true or false", "a whole number",    "a number",
                                           "text",          "a list of numbers", "a list of texts"};
  return kNames[value.index()];
}

}  // namespace

const std::vector<ParameterInfo>& ParameterTable() {
  static const std::vector<ParameterInfo>* const kTable = [] {
    auto* table = new std::vector<ParameterInfo>();
    for (const ParameterRow& row : Rows()) table->push_back(row.info);
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
  const ParameterRow* row = FindRow(name);
  if (row == nullptr) {
    std::vector<std::string> names;
    for (const ParameterInfo& info : ParameterTable()) names.push_back(info.name);
    const std::string nearest = NearestName(name, names);
    return absl::NotFoundError(
        absl::StrCat("the node has no parameter '", name, "'",
                     nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?")));
  }
  if (row->set(value, parameters)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("parameter ", name, " must be ",
                                                 TypeName(row->info.default_value), " (got ",
                                                 ToYaml(value), ")"));
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
  if (absl::Status status = ValidateParameters(loaded.parameters); !status.ok()) return status;
  return loaded;
}

}  // namespace voxloc::ros
