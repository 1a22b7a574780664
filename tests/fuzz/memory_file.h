// SPDX-License-Identifier: Apache-2.0
//
// MemoryFile: bytes under a path, without a disk, for readers that take paths.

#ifndef VOXLOC_TESTS_FUZZ_MEMORY_FILE_H_
#define VOXLOC_TESTS_FUZZ_MEMORY_FILE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {

// Gone with the object.
class MemoryFile {
 public:
  explicit MemoryFile(absl::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    FuzzRequire(descriptor_ >= 0, "a file in memory can be made");
    const auto written = ::write(descriptor_, bytes.data(), bytes.size());
    FuzzRequire(written == static_cast<ssize_t>(bytes.size()), "a file in memory takes the bytes");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  [[nodiscard]] std::string path() const { return absl::StrCat("/proc/self/fd/", descriptor_); }

 private:
  const int descriptor_;
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_FUZZ_MEMORY_FILE_H_
