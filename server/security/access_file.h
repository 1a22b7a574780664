// SPDX-License-Identifier: Apache-2.0
//
// The access file: a YAML document that says who is known and may do what (docs/security.md).
// Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_SECURITY_ACCESS_FILE_H_
#define VOXLOC_SERVER_SECURITY_ACCESS_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/security/access_policy.h"

namespace voxloc::server {

// InvalidArgument: what is wrong, beginning with "NAME:LINE: ". No error repeats a digest.
[[nodiscard]] absl::StatusOr<AccessPolicy> ParseAccessPolicy(absl::string_view yaml,
                                                             absl::string_view name);

// NotFound: the file cannot be read. InvalidArgument: it is wrong, or over 1 MiB.
[[nodiscard]] absl::StatusOr<AccessPolicy> ReadAccessFile(const std::string& path);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_ACCESS_FILE_H_
