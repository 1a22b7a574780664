// SPDX-License-Identifier: Apache-2.0
//
// Files of a few kilobytes, read whole: tokens, certificates, keys. Included by this library's
// sources only. Thread-safe: no shared state.

#ifndef VOXLOC_CLIENTS_CPP_SMALL_FILE_H_
#define VOXLOC_CLIENTS_CPP_SMALL_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace voxloc::client {

// NotFound, PermissionDenied, FailedPrecondition: it cannot be read. InvalidArgument: it has more
// than `max_bytes`. `what` names its purpose in the message, which has the path.
[[nodiscard]] absl::StatusOr<std::string> ReadSmallFile(const std::string& path,
                                                        absl::string_view what, size_t max_bytes);

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_SMALL_FILE_H_
