// SPDX-License-Identifier: Apache-2.0
//
// Writing a text file as a whole.

#ifndef VOXLOC_CLIENTS_CLI_TEXT_FILE_H_
#define VOXLOC_CLIENTS_CLI_TEXT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace voxloc::cli {

// The error names the file and the system's reason.
[[nodiscard]] absl::Status WriteTextFile(const std::string& path, absl::string_view text);

// Whether WriteTextFile may work later: before work whose result it is to write. Creates and
// changes nothing. The error names the file and the system's reason.
[[nodiscard]] absl::Status CheckWritable(const std::string& path);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_TEXT_FILE_H_
