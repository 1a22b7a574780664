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

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

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

// Frames one after another, piece by piece. For one thread.
class FrameDecoder {
 public:
  // kZstd or kLz4.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<FrameDecoder>> Create(
      Compression compression);
  virtual ~FrameDecoder() = default;

  // Takes what it can off `in` and fills `out` from its start; how many bytes came out. As many as
  // `out` has: there may be more, also where `in` is empty.
  [[nodiscard]] virtual absl::StatusOr<size_t> Decode(absl::string_view* in, std::string* out) = 0;
  // The last frame has ended.
  [[nodiscard]] bool whole() const { return whole_; }

 protected:
  bool whole_ = false;
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_DECOMPRESS_H_
