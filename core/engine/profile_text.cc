// SPDX-License-Identifier: Apache-2.0

#include "core/engine/profile_text.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/engine/profile_fields.h"
#include "core/status/try.h"
#include "core/text/names.h"

namespace voxloc {
namespace {

constexpr size_t kMaxNameBytes = 64;

std::string TextOf(const YAML::Node& node) {
  if (node.IsScalar()) return absl::StrCat("'", absl::CEscape(node.Scalar().substr(0, 64)), "'");
  return node.IsMap() ? "a map" : node.IsSequence() ? "a list" : "nothing";
}

// Marks count from 0.
std::string PlaceOf(absl::string_view file, const YAML::Mark& mark) {
  return mark.is_null() ? std::string(file) : absl::StrCat(file, ":", mark.line + 1);
}

template <typename Number>
bool ParseNumber(const std::string& text, Number& number) {
  if constexpr (std::is_floating_point_v<Number>) {
    return absl::SimpleAtod(text, &number);
  } else {
    return absl::SimpleAtoi(text, &number);
  }
}

class ProfileReader {
 public:
  explicit ProfileReader(absl::string_view file) : file_(file) {}

  absl::StatusOr<Profile> Read(const YAML::Node& root) const {
    Profile profile;
    // The stages first: `score_stage` counts them.
    if (!root.IsMap()) return WrongError(root, "the profile", "a map of keys to values");
    VOXLOC_TRY(ReadName(root["name"], profile.name));
    const YAML::Node stages = root["stages"];
    if (!stages.IsDefined() || !stages.IsSequence() || stages.size() == 0) {
      return WrongError(stages.IsDefined() ? stages : root, "stages", "a list of maps");
    }
    for (size_t i = 0; i < stages.size(); ++i) {
      const std::string path = absl::StrCat("stages[", i, "]");
      Stage& stage = profile.stages.emplace_back();
      VOXLOC_TRY(ReadFields(stages[i], path, {"cells"},
                            [&stage](const auto& visit) { VisitStageFields(stage, visit); }));
      const YAML::Node cells = stages[i]["cells"];
      if (!cells.IsDefined()) continue;
      CellStatistics& statistics = stage.cells;
      VOXLOC_TRY(ReadFields(cells, path + ".cells", {}, [&statistics](const auto& visit) {
        VisitCellFields(statistics, visit);
      }));
    }
    VOXLOC_TRY(ReadFields(root, "", {"name", "stages"},
                          [&profile](const auto& visit) { VisitProfileFields(profile, visit); }));
    return profile;
  }

 private:
  absl::Status ErrorAt(const YAML::Node& node, absl::string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat(PlaceOf(file_, node.Mark()), ": ", message));
  }

  absl::Status WrongError(const YAML::Node& node, absl::string_view path,
                          absl::string_view required) const {
    return ErrorAt(node, absl::StrCat(path, " must be ", required, " (got ", TextOf(node), ")"));
  }

  absl::Status ReadName(const YAML::Node& node, std::string& name) const {
    if (!node.IsDefined()) {
      return absl::InvalidArgumentError(absl::StrCat(file_, ": a profile needs the key name"));
    }
    if (node.IsScalar()) name = node.Scalar();
    const bool allowed = !name.empty() && name.size() <= kMaxNameBytes &&
                         std::all_of(name.begin(), name.end(), [](unsigned char c) {
                           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
                         });
    if (allowed) return absl::OkStatus();
    return WrongError(
        node, "name",
        absl::StrCat("a text of 1 to ", kMaxNameBytes, " letters, digits, '.', '_' and '-'"));
  }

  // Reads what `visit_fields` lists from the map. Its keys are these and `others`.
  template <typename VisitFields>
  absl::Status ReadFields(const YAML::Node& map, const std::string& path,
                          std::vector<std::string> keys, const VisitFields& visit_fields) const {
    if (!map.IsMap()) return WrongError(map, path, "a map of keys to values");
    const std::string prefix = path.empty() ? "" : path + ".";
    absl::Status status;
    visit_fields([&](const char* key, auto& field, const auto&... allowed) {
      keys.emplace_back(key);
      const YAML::Node node = map[key];
      if (status.ok() && node.IsDefined()) {
        status = ReadField(node, prefix + key, field, allowed...);
      }
    });
    if (!status.ok()) return status;
    std::vector<std::string> seen;
    for (const auto& entry : map) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        const std::string nearest = NearestName(key, keys);
        return ErrorAt(
            entry.first,
            absl::StrCat("unknown key ", prefix, absl::CEscape(key.substr(0, 64)),
                         nearest.empty() ? absl::StrCat("; there are ", absl::StrJoin(keys, ", "))
                                         : absl::StrCat("; did you mean ", nearest, "?")));
      }
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
        return ErrorAt(entry.first, absl::StrCat(prefix, key, " is there twice"));
      }
      seen.push_back(key);
    }
    return absl::OkStatus();
  }

  template <typename Number>
  absl::Status ReadField(const YAML::Node& node, const std::string& path, Number& number,
                         const NumberRange& range) const {
    if (!node.IsScalar() || !ParseNumber(node.Scalar(), number)) {
      return WrongError(node, path,
                        std::is_floating_point_v<Number> ? "a number" : "a whole number");
    }
    const absl::Status status = CheckRanges({{path, number, range}});
    return status.ok() ? status : ErrorAt(node, status.message());
  }

  template <typename Value, size_t count>
  absl::Status ReadField(const YAML::Node& node, const std::string& path, Value& value,
                         const absl::string_view (&names)[count]) const {
    const auto* const found = node.IsScalar()
                                  ? std::find(std::begin(names), std::end(names), node.Scalar())
                                  : std::end(names);
    if (found == std::end(names)) {
      return WrongError(node, path, absl::StrCat("one of ", absl::StrJoin(names, ", ")));
    }
    value = static_cast<Value>(found - std::begin(names));
    return absl::OkStatus();
  }

  absl::Status ReadField(const YAML::Node& node, const std::string& path, bool& value) const {
    if (node.IsScalar() && (node.Scalar() == "true" || node.Scalar() == "false")) {
      value = node.Scalar() == "true";
      return absl::OkStatus();
    }
    return WrongError(node, path, "true or false");
  }

  const absl::string_view file_;
};

}  // namespace

absl::StatusOr<Profile> ParseProfile(absl::string_view yaml, absl::string_view file) {
  try {
    VOXLOC_ASSIGN_OR_RETURN(auto profile, ProfileReader(file).Read(YAML::Load(std::string(yaml))));
    if (const absl::Status status = ValidateProfile(profile); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(file, ": ", status.message()));
    }
    return profile;
  } catch (const YAML::Exception& error) {  // yaml-cpp reports by exception
    return absl::InvalidArgumentError(
        absl::StrCat(PlaceOf(file, error.mark), ": not YAML: ", error.msg));
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(absl::StrCat(file, ": ", error.what()));
  }
}

}  // namespace voxloc
