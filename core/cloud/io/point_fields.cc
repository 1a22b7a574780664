// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/point_fields.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/malformed.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

absl::Status FindOne(const std::vector<std::string>& names, absl::string_view wanted,
                     std::optional<size_t>& index) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (!absl::EqualsIgnoreCase(names[i], wanted)) continue;
    if (index.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("field '", wanted, "' is named twice"));
    }
    index = i;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PointFields> FindPointFields(const std::vector<std::string>& names) {
  if (names.size() > kMaxPointFields) {
    return absl::InvalidArgumentError(absl::StrCat("the number of fields must be 3 to ",
                                                   kMaxPointFields, " (got ", names.size(), ")"));
  }
  std::optional<size_t> coordinates[3];
  constexpr absl::string_view kAxes[3] = {"x", "y", "z"};
  for (size_t axis = 0; axis < 3; ++axis) {
    VOXLOC_TRY(FindOne(names, kAxes[axis], coordinates[axis]));
    if (!coordinates[axis].has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no field '", kAxes[axis], "'; the fields are ",
                       Quoted(absl::StrJoin(names, " ")), ", needed are x, y and z"));
    }
  }
  PointFields fields{*coordinates[0], *coordinates[1], *coordinates[2], std::nullopt};
  for (const absl::string_view name : {"intensity", "scalar_intensity"}) {
    if (fields.intensity.has_value()) break;
    VOXLOC_TRY(FindOne(names, name, fields.intensity));
  }
  return fields;
}

}  // namespace voxloc
