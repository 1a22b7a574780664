// SPDX-License-Identifier: Apache-2.0
//
// Small files that the server is configured with: their text, and whether they have changed.
// Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONFIG_TEXT_FILE_H_
#define VOXLOC_SERVER_CONFIG_TEXT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>

#include "absl/status/statusor.h"

namespace voxloc::server {

// NotFound: the file cannot be read, with why. InvalidArgument: it has more bytes than `most`.
[[nodiscard]] absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t most);

// Device, inode, size, time of the last change in seconds and nanoseconds: equal for a file that
// has not changed. All 0: there is none.
using FileStamp = std::tuple<uint64_t, uint64_t, int64_t, int64_t, int64_t>;
[[nodiscard]] FileStamp StampOf(const std::string& path);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_TEXT_FILE_H_
