// SPDX-License-Identifier: Apache-2.0
//
// The compressions of recorded chunks, messages and files.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_DECOMPRESS_H_
#define VOXLOC_CLIENTS_DATASET_BAG_DECOMPRESS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/dataset/bag/bag.h"

namespace voxloc::bag {

// The most bytes that a chunk or a message may have. Recorders begin a new chunk at about 1 MB, so
// that only a single large message makes a larger one: a cloud of ten million points of 48 bytes,
// the point of an Ouster, has 480 MB.
constexpr uint64_t kMaxChunkBytes = uint64_t{512} << 20;

enum class Compression { kNone, kBz2, kLz4, kZstd };

// By the names of ROS 1 bags and MCAP: "", "none", "bz2", "lz4", "zstd". InvalidArgument: another.
[[nodiscard]] absl::StatusOr<Compression> CompressionNamed(absl::string_view name);

// Decompresses `stored`. LZ4: the frame format. Memory grows with the actual output, not with the
// declared size. InvalidArgument: damaged, or not exactly `size` bytes;
// ResourceExhausted: `size` is over kMaxChunkBytes.
[[nodiscard]] absl::StatusOr<std::string> Decompress(Compression compression,
                                                     absl::string_view stored, uint64_t size);

// Detects a compressed CDR message or file by its magic number: zstd (written by rosbag2) or lz4.
// nullopt: neither. Uncompressed CDR never starts with these bytes.
[[nodiscard]] std::optional<Compression> FrameCompressionOf(absl::string_view bytes);

// A temporary file with the decompressed contents of a compressed recording. It is deleted by the
// destructor; open descriptors stay readable.
class DecompressedFile {
 public:
  // Decompresses zstd or lz4 frames one after another with a few megabytes of memory.
  // InvalidArgument: damaged; ResourceExhausted: the disk is full, or over 4 TiB.
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

// Messages that were compressed one by one (rosbag2's compression mode MESSAGE, in either storage),
// decompressed as they are read. `contents`, of the bag that the cursor reads, must outlive what is
// returned.
[[nodiscard]] std::unique_ptr<Cursor> MakeDecompressingCursor(const BagContents& contents,
                                                              std::unique_ptr<Cursor> cursor);

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_DECOMPRESS_H_
