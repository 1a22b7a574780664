// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/output/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "clients/cli/flags/option.h"

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

absl::Status CheckWritable(const std::string& path) {
  struct stat found = {};
  int error = 0;
  if (stat(path.c_str(), &found) == 0) {
    error = S_ISDIR(found.st_mode) ? EISDIR : access(path.c_str(), W_OK) == 0 ? 0 : errno;
  } else if (errno == ENOENT) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    error = path.empty() || access(folder.c_str(), W_OK | X_OK) != 0 ? errno : 0;
  } else {
    error = errno;
  }
  if (error == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, " cannot be written: ", std::strerror(error)));
}

absl::Status WriteJson(const std::string& destination, const Json& value) {
  if (destination.empty()) return absl::OkStatus();
  // Text that is not UTF-8, such as a file's name, is replaced and does not throw.
  const std::string text =
      value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  if (destination == "-") {
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
      return absl::InternalError("standard output cannot be written");
    }
    return absl::OkStatus();
  }
  return WriteTextFile(destination, text);
}

Json VectorJson(const Eigen::Vector3d& vector) {
  return Json::array({vector.x(), vector.y(), vector.z()});
}

Json PoseJson(const Pose& pose) {
  return Json::array({pose.translation.x(), pose.translation.y(), pose.translation.z(),
                      pose.rotation.x(), pose.rotation.y(), pose.rotation.z(), pose.rotation.w()});
}

CLI::Option* AddOutputFile(CLI::App* command, const std::string& name, std::string* path,
                           const std::string& help) {
  return AddOption(command, name, *path, "FILE", help)->check([](const std::string& text) {
    return text.empty() || text == "-" ? std::string() : std::string(CheckWritable(text).message());
  });
}

}  // namespace voxloc::cli
