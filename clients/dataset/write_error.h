// SPDX-License-Identifier: Apache-2.0
//
// How clients say that a file cannot be written.

#ifndef VOXLOC_CLIENTS_DATASET_WRITE_ERROR_H_
#define VOXLOC_CLIENTS_DATASET_WRITE_ERROR_H_

#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace voxloc {

// "drive.mcap cannot be written: No space left on device". `error`: as of errno.
[[nodiscard]] inline std::string WriteErrorText(absl::string_view path, int error) {
  return absl::StrCat(path, " cannot be written: ", std::generic_category().message(error));
}

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_WRITE_ERROR_H_
