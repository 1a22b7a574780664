// SPDX-License-Identifier: Apache-2.0
//
// Writes a small text file.

#ifndef VOXLOC_CLIENTS_SIM_TEXT_FILE_H_
#define VOXLOC_CLIENTS_SIM_TEXT_FILE_H_

#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace voxloc::sim {

[[nodiscard]] inline absl::Status WriteTextFile(const std::string& path, absl::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file.fail()) return absl::InternalError(absl::StrCat(path, ": cannot write"));
  return absl::OkStatus();
}

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_TEXT_FILE_H_
