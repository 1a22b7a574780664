// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/input_notes.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_format.h"

namespace voxloc::cli {

void PrintNotes(const InputNotes& notes) {
  for (const std::string& remark : notes.remarks) absl::FPrintF(stderr, "%s\n", remark);
  for (const std::string& doubt : notes.doubts) absl::FPrintF(stderr, "warning: %s\n", doubt);
}

}  // namespace voxloc::cli
