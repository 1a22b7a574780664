// SPDX-License-Identifier: Apache-2.0

#include "server/config/config_input.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/text/names.h"

namespace voxloc::server {

void ConfigErrors::Add(absl::string_view where, const absl::Status& error) {
  Add({error.code(), absl::StrCat(where, ": ", error.message())});
}

void ConfigErrors::Add(const absl::Status& error) {
  if (!error.ok() && !full()) errors_.push_back(error);
}

absl::Status ConfigErrors::Status() const {
  if (errors_.empty()) return absl::OkStatus();
  std::string text = absl::StrJoin(errors_, "\n", [](std::string* line, const absl::Status& error) {
    absl::StrAppend(line, error.message());
  });
  if (full()) absl::StrAppend(&text, "\nand perhaps more: these are the first ", kMaxErrors);
  return {errors_.front().code(), text};
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t most) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(most + 1, '\0');
  if (!file || (file.read(text.data(), static_cast<std::streamsize>(text.size())), file.bad())) {
    return absl::NotFoundError(absl::StrCat(
        "cannot read ", path, errno == 0 ? "" : absl::StrCat(": ", std::strerror(errno))));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > most) {
    return absl::InvalidArgumentError(absl::StrCat(path, " must have at most ", most, " bytes"));
  }
  return text;
}

std::string DidYouMean(absl::string_view typed, const std::vector<std::string>& known) {
  const std::string nearest = NearestName(typed, known);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

FileStamp StampOf(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino, found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

}  // namespace voxloc::server
