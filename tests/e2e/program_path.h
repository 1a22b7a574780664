// SPDX-License-Identifier: Apache-2.0
//
// Where tests find the programs: in the folder named by VOXLOC_BIN_DIR when the test runs, or else
// where they were built.

#ifndef VOXLOC_TESTS_E2E_PROGRAM_PATH_H_
#define VOXLOC_TESTS_E2E_PROGRAM_PATH_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace voxloc {

inline std::string ProgramPath(const std::filesystem::path& built) {
  const char* folder = std::getenv("VOXLOC_BIN_DIR");
  if (folder == nullptr || *folder == '\0') return built.string();
  return (std::filesystem::path(folder) / built.filename()).string();
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_E2E_PROGRAM_PATH_H_
