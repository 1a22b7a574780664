// SPDX-License-Identifier: Apache-2.0
//
// Whole files in and out. Errors name the path: NotFound, InvalidArgument (a directory or another
// thing that is not a file), ResourceExhausted (over the limit, no memory, no space), Unavailable
// (the system refused).

#ifndef VOXLOC_CORE_CLOUD_IO_FILE_BYTES_H_
#define VOXLOC_CORE_CLOUD_IO_FILE_BYTES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace voxloc {

// Owns what was read.
class FileBytes {
 public:
  FileBytes(std::unique_ptr<char[]> data, size_t size) : data_(std::move(data)), size_(size) {}
  [[nodiscard]] absl::string_view view() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<char[]> data_;
  size_t size_;
};

[[nodiscard]] absl::StatusOr<FileBytes> ReadFileBytes(const std::string& path, size_t max_bytes);

// Writes next to `path`, syncs and renames: readers of `path` see the old file or the whole new
// file.
[[nodiscard]] absl::Status WriteFileBytes(const std::string& path, absl::string_view bytes);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_FILE_BYTES_H_
