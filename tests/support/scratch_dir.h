// SPDX-License-Identifier: Apache-2.0
//
// A temporary folder of a test, removed by the destructor.

#ifndef VOXLOC_TESTS_SUPPORT_SCRATCH_DIR_H_
#define VOXLOC_TESTS_SUPPORT_SCRATCH_DIR_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace voxloc {

class ScratchDir {
 public:
  ScratchDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "voxloc_test_XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  ~ScratchDir() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }

  // The path of `name` in the folder; folders on the way to it are made.
  [[nodiscard]] std::string Path(const std::string& name) const {
    const std::filesystem::path path = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(path.parent_path());
    return path.string();
  }

  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::string path = Path(name);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

 private:
  std::string path_;
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_SCRATCH_DIR_H_
