// SPDX-License-Identifier: Apache-2.0
//
// The names that maps may have. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_MAP_MAP_NAME_H_
#define VOXLOC_CORE_MAP_MAP_NAME_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace voxloc {

constexpr size_t kMaxMapNameBytes = 64;

// A name has 1 to 64 letters, digits, '.', '_' and '-', and begins with a letter or digit.
// InvalidArgument says which character is wrong.
[[nodiscard]] absl::Status ValidateMapName(absl::string_view name);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_MAP_NAME_H_
