// SPDX-License-Identifier: Apache-2.0
//
// Where tests find real LiDAR data and golden numbers: the folders named by VOXLOC_DATA_DIR and
// VOXLOC_GOLDEN_DIR when the test runs, or else ../shared/data and ../shared/golden next to the
// source tree. Nothing where there is no such folder: the test skips and says so.

#ifndef VOXLOC_TESTS_SUPPORT_REAL_DATA_H_
#define VOXLOC_TESTS_SUPPORT_REAL_DATA_H_

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace voxloc {

inline std::optional<std::string> FolderOf(const char* variable, const char* beside_sources) {
  const char* given = std::getenv(variable);
  const std::filesystem::path folder =
      given != nullptr && *given != '\0'
          ? std::filesystem::path(given)
          : std::filesystem::path(VOXLOC_SOURCE_DIR).parent_path() / beside_sources;
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return std::nullopt;
  return folder.string();
}

inline std::optional<std::string> RealDataDir() {
  return FolderOf("VOXLOC_DATA_DIR", "shared/data");
}

inline std::optional<std::string> GoldenDir() {
  return FolderOf("VOXLOC_GOLDEN_DIR", "shared/golden");
}

}  // namespace voxloc

// In a test body: `VOXLOC_REAL_DATA_OR_SKIP(data);` declares the string `data`.
#define VOXLOC_REAL_DATA_OR_SKIP(variable)                                                      \
  const std::optional<std::string> variable##_found = ::voxloc::RealDataDir();                  \
  if (!variable##_found.has_value()) {                                                          \
    GTEST_SKIP() << "no real data: set VOXLOC_DATA_DIR to its folder (default ../shared/data)"; \
  }                                                                                             \
  const std::string& variable = *variable##_found

#endif  // VOXLOC_TESTS_SUPPORT_REAL_DATA_H_
