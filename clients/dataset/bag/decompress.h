// SPDX-License-Identifier: Apache-2.0
//
// The compressions of recorded chunks and messages. Pure functions.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_DECOMPRESS_H_
#define VOXLOC_CLIENTS_DATASET_BAG_DECOMPRESS_H_

#include <cstddef>
#include <cstdint>
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

// Whether a message was compressed by rosbag2's compression mode MESSAGE. No serialized message
// begins as a zstd frame does.
[[nodiscard]] bool IsZstdFrame(absl::string_view bytes);

// A zstd frame of unknown size.
[[nodiscard]] absl::StatusOr<std::string> DecompressZstdFrame(absl::string_view stored);

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_DECOMPRESS_H_
