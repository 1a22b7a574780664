// SPDX-License-Identifier: Apache-2.0
//
// The compressions of recorded chunks, messages and files. Pure functions, and a decoder.

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
constexpr uint64_t kMostChunkBytes = uint64_t{512} << 20;

enum class Compression { kNone, kBz2, kLz4, kZstd };

// By the names of ROS 1 bags and MCAP: "", "none", "bz2", "lz4", "zstd". InvalidArgument: another.
[[nodiscard]] absl::StatusOr<Compression> CompressionNamed(absl::string_view name);

// The bytes that `stored` stands for. LZ4 is the frame format. Memory grows with what comes out,
// not with what was declared. InvalidArgument: damaged, or not exactly `size` bytes;
// ResourceExhausted: `size` is over kMostChunkBytes.
[[nodiscard]] absl::StatusOr<std::string> Decompress(Compression compression,
                                                     absl::string_view stored, uint64_t size);

// What a message of CDR, or a file, that is compressed as a whole begins with: zstd (as rosbag2
// writes) or lz4. nullopt: neither. No serialized message of CDR begins so.
[[nodiscard]] std::optional<Compression> FrameCompressionOf(absl::string_view bytes);

// Frames of unknown size, at most kMostChunkBytes.
[[nodiscard]] absl::StatusOr<std::string> DecompressFrame(Compression compression,
                                                          absl::string_view stored);

// Frames of zstd or lz4 one after another, or one of bz2, piece by piece. For one thread.
class FrameDecoder {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<FrameDecoder>> Create(
      Compression compression);
  virtual ~FrameDecoder() = default;

  // Takes what it can off `in`, and puts at most `room` bytes to `out`; how many they are. All of
  // the room: there may be more, also where `in` is empty.
  [[nodiscard]] virtual absl::StatusOr<size_t> Decode(absl::string_view* in, char* out,
                                                      size_t room) = 0;
  // The last frame has ended.
  [[nodiscard]] bool whole() const { return whole_; }
  [[nodiscard]] absl::Status Damaged(absl::string_view reason) const;

 protected:
  explicit FrameDecoder(const char* library) : library_(library) {}

  const char* const library_;
  bool has_memory_ = true;
  bool whole_ = false;
};

// The most bytes that may come out of a file: a day of the densest recordings.
constexpr uint64_t kMostDecompressedBytes = uint64_t{4} << 40;

// A recording that is compressed as a whole, decompressed for as long as it is read: a file of its
// own name in the system's directory for temporary files. It is gone when this is;
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

// Messages that were compressed one by one (rosbag2's compression mode MESSAGE, in either storage),
// decompressed as they are read. `contents`, of the bag that the cursor reads, must outlive what is
// returned.
[[nodiscard]] std::unique_ptr<Cursor> PlainCursor(const BagContents& contents,
                                                  std::unique_ptr<Cursor> cursor);

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_DECOMPRESS_H_
