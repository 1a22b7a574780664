// SPDX-License-Identifier: Apache-2.0
//
// Whole files in and out, and parts of one. Errors name the path: NotFound, InvalidArgument (a
// directory or another thing that is not a file), ResourceExhausted (over the limit, no memory, no
// space), Unavailable (the system refused).

#ifndef VOXLOC_CORE_CLOUD_IO_FILE_BYTES_H_
#define VOXLOC_CORE_CLOUD_IO_FILE_BYTES_H_

#include <cstddef>
#include <cstdint>
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

// A file that is read in parts. Any number of threads may read one.
class RandomAccessFile {
 public:
  [[nodiscard]] static absl::StatusOr<RandomAccessFile> Open(const std::string& path);
  RandomAccessFile(RandomAccessFile&& other) noexcept
      : path_(std::move(other.path_)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        size_(other.size_) {}
  RandomAccessFile& operator=(RandomAccessFile&&) = delete;
  ~RandomAccessFile();

  // When it was opened, bytes.
  [[nodiscard]] uint64_t size() const { return size_; }

  // Fills `out` with `count` bytes from `offset` on. Unavailable: the file has become shorter.
  [[nodiscard]] absl::Status Read(uint64_t offset, size_t count, char* out) const;

 private:
  RandomAccessFile(std::string path, int descriptor, uint64_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

  std::string path_;
  int descriptor_;
  uint64_t size_;
};

// ResourceExhausted: a file of `bytes` is over the limit.
[[nodiscard]] absl::Status CheckFileSize(absl::string_view path, uint64_t bytes,
                                         uint64_t max_bytes);

[[nodiscard]] absl::StatusOr<FileBytes> ReadFileBytes(const std::string& path, size_t max_bytes);

// Writes next to `path`, to a name that ends with kPartSuffix, syncs and renames: readers of `path`
// see the old file or the whole new file. `mode`: its permissions, less the umask.
inline constexpr absl::string_view kPartSuffix = ".part";
[[nodiscard]] absl::Status WriteFileBytes(const std::string& path, absl::string_view bytes,
                                          unsigned mode = 0666);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_FILE_BYTES_H_
