// SPDX-License-Identifier: Apache-2.0
//
// A recording that is compressed as a whole, decompressed for as long as it is read.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_COMPRESSED_FILE_H_
#define VOXLOC_CLIENTS_DATASET_BAG_COMPRESSED_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/decompress.h"

namespace voxloc::bag {

// The most bytes that may come out of a file: a day of the densest recordings.
constexpr uint64_t kMostDecompressedBytes = uint64_t{4} << 40;

// A file of its own name in the system's directory for temporary files. It is gone when this is;
// who has opened it can still read it.
class DecompressedFile {
 public:
  // Decompresses zstd or lz4 frames one after another with a few megabytes of memory.
  // InvalidArgument: damaged; ResourceExhausted: the disk is full, or over kMostDecompressedBytes.
  // Errors name `path`.
  [[nodiscard]] static absl::StatusOr<DecompressedFile> Create(const std::string& path,
                                                               Compression compression);
  DecompressedFile(DecompressedFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), bytes_(other.bytes_) {}
  DecompressedFile& operator=(DecompressedFile&&) = delete;
  ~DecompressedFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  explicit DecompressedFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
  uint64_t bytes_ = 0;
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_COMPRESSED_FILE_H_
