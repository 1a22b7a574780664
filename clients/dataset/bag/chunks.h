// SPDX-License-Identifier: Apache-2.0
//
// Chunks: what MCAP and ROS 1 bags keep their messages in, and the order of time across them.
//
// A chunk holds the messages of a short time, usually compressed. The times of chunks may overlap,
// and messages within one may be out of order; ChunkCursor puts them right while it holds only the
// chunks that overlap.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_CHUNKS_H_
#define VOXLOC_CLIENTS_DATASET_BAG_CHUNKS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/bag.h"

namespace voxloc::bag {

struct Chunk {
  uint64_t offset = 0;  // in the file
  // 0: a chunk's record lies at `offset`. Otherwise that many bytes of records that are in none.
  uint64_t loose_bytes = 0;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  std::vector<uint32_t> channels;  // those with messages here, where the index says; empty: any
};

struct ChunkEntry {
  uint32_t channel = 0;
  int64_t recorded_ns = 0;
  size_t offset = 0;  // of the message in ChunkContents::bytes
  size_t size = 0;
};

struct ChunkContents {
  std::string bytes;
  std::vector<ChunkEntry> messages;  // in the order of the file
};

// A file of chunks. Thread-safe.
class ChunkFile {
 public:
  virtual ~ChunkFile() = default;
  [[nodiscard]] virtual absl::StatusOr<ChunkContents> Load(const Chunk& chunk) const = 0;
  [[nodiscard]] virtual const std::vector<Chunk>& chunks() const = 0;  // in the order of first_ns
  // The topic of a channel; nullptr: there is no such channel.
  [[nodiscard]] virtual const size_t* TopicOf(uint32_t channel) const = 0;
};

class ChunkCursor : public Cursor {
 public:
  // `wanted`: a flag for every topic.
  ChunkCursor(const ChunkFile& file, std::vector<bool> wanted)
      : file_(file), wanted_(std::move(wanted)) {}

  [[nodiscard]] absl::StatusOr<bool> Next(Message* message) override;

 private:
  struct Held {
    std::string bytes;
    std::vector<ChunkEntry> messages;  // wanted ones, in the order of time
    size_t next = 0;
  };

  [[nodiscard]] bool Wants(uint32_t channel) const;
  [[nodiscard]] bool MayMatter(const Chunk& chunk) const;
  [[nodiscard]] absl::Status Hold(const Chunk& chunk);

  const ChunkFile& file_;
  const std::vector<bool> wanted_;
  size_t next_chunk_ = 0;
  std::deque<Held> held_;
  uint64_t held_bytes_ = 0;
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_CHUNKS_H_
