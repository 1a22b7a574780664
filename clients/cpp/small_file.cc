// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/small_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace voxloc::client {
namespace {

absl::Status CannotRead(const std::string& path, absl::string_view what, int error) {
  const std::string text = absl::StrCat(what, " ", path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(text);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(text);
  return absl::FailedPreconditionError(text);
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, absl::string_view what,
                                          size_t max_bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (file == nullptr) return CannotRead(path, what, errno);
  std::string text(max_bytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return CannotRead(path, what, errno);
  if (text.size() > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " ", path, " must have at most ", max_bytes, " bytes (it has more)"));
  }
  return text;
}

}  // namespace voxloc::client
