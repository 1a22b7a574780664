// SPDX-License-Identifier: Apache-2.0
//
// Where the tests find real data and the reference's numbers. Neither is part of the project: a test
// that needs them skips, saying so, where they are absent.

#ifndef VOXLOC_TESTS_SUPPORT_REAL_DATA_H_
#define VOXLOC_TESTS_SUPPORT_REAL_DATA_H_

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace voxloc {

// The directory named by the environment variable, else `fallback`; nullopt where it does not exist.
inline std::optional<std::string> DirectoryFrom(const char* variable, const std::string& fallback) {
  const char* named = std::getenv(variable);
  const std::string directory = named != nullptr && *named != '\0' ? named : fallback;
  if (!std::filesystem::is_directory(directory)) return std::nullopt;
  return directory;
}

// Real scans, maps and poses: VOXLOC_DATA_DIR, else ../shared/data beside the source tree.
inline std::optional<std::string> RealDataDir() {
  return DirectoryFrom("VOXLOC_DATA_DIR", VOXLOC_SOURCE_DIR "/../shared/data");
}

// Golden sets: VOXLOC_GOLDEN_DIR, else ../shared/golden beside the source tree.
inline std::optional<std::string> GoldenDir() {
  return DirectoryFrom("VOXLOC_GOLDEN_DIR", VOXLOC_SOURCE_DIR "/../shared/golden");
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_REAL_DATA_H_
