// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/yaml_file.h"

#include <cmath>
#include <cstddef>
#include <exception>

#include "absl/strings/str_cat.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

constexpr size_t kMaxYamlBytes = size_t{64} << 20;

}  // namespace

absl::Status ReadYamlFile(const std::string& path,
                          absl::FunctionRef<absl::Status(const YAML::Node&)> interpret) {
  VOXLOC_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFileBytes(path, kMaxYamlBytes));
  try {
    return interpret(YAML::Load(std::string(bytes.view())));
  } catch (const YAML::Exception& error) {
    const std::string what = absl::StrCat("is not YAML: ", error.msg);
    if (error.mark.is_null()) return Malformed(path, what);
    return MalformedLine(path, static_cast<size_t>(error.mark.line) + 1, what);
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": ", error.what()));
  }
}

// yaml-cpp's own conversion follows the process's locale; this one does not.
std::optional<double> FiniteNumberOf(const YAML::Node& node) {
  double value = 0.0;
  if (!node.IsScalar() || !ParseDouble(node.Scalar(), value) || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

absl::Status YamlErrorAt(const std::string& path, const YAML::Node& node, absl::string_view what) {
  return MalformedLine(path, static_cast<size_t>(node.Mark().line) + 1, what);
}

}  // namespace voxloc
