// SPDX-License-Identifier: Apache-2.0
//
// How readers say what is wrong with a file: its name, the place, the value and what is allowed.

#ifndef VOXLOC_CORE_CLOUD_IO_MALFORMED_H_
#define VOXLOC_CORE_CLOUD_IO_MALFORMED_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace voxloc {

// InvalidArgument: the parts, joined, behind the name of the file, and the line or byte.
template <typename... Parts>
[[nodiscard]] absl::Status Malformed(absl::string_view name, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", parts...));
}
template <typename... Parts>
[[nodiscard]] absl::Status MalformedLine(absl::string_view name, size_t line,
                                         const Parts&... parts) {
  return Malformed(name, "line ", line, ": ", parts...);
}
template <typename... Parts>
[[nodiscard]] absl::Status MalformedByte(absl::string_view name, size_t offset,
                                         const Parts&... parts) {
  return Malformed(name, "byte ", offset, ": ", parts...);
}

// A value from a file, in quotes, shortened, and with bytes that are not printable escaped.
[[nodiscard]] std::string Quoted(absl::string_view value);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_MALFORMED_H_
