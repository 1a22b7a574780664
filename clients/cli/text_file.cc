// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/text_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace voxloc::cli {

absl::Status WriteTextFile(const std::string& path, absl::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " cannot be written: ", std::strerror(errno)));
  }
  const size_t written = std::fwrite(text.data(), 1, text.size(), file);
  const int write_error = written == text.size() ? 0 : errno;
  const int close_error = std::fclose(file) == 0 ? 0 : errno;
  const int error = write_error != 0 ? write_error : close_error;
  if (error != 0) {
    return absl::InternalError(absl::StrCat(path, " cannot be written: ", std::strerror(error)));
  }
  return absl::OkStatus();
}

}  // namespace voxloc::cli
