// SPDX-License-Identifier: Apache-2.0
//
// Common base of MCAP and ROS 1 bags: a file of records with chunks, an index of them at its end,
// and channels (ROS 1: connections), several of which can have one topic. If the index is missing
// or invalid, the readers scan the file from its start and use all intact records.
//
// A chunk has the messages of a short time, usually compressed. Chunks may overlap in time, and
// messages in a chunk may be out of order; Read sorts them, with only overlapping chunks in memory.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_CHUNKED_BAG_H_
#define VOXLOC_CLIENTS_DATASET_BAG_CHUNKED_BAG_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/dataset/bag/bag.h"
#include "core/cloud/io/file_bytes.h"

namespace voxloc::bag {

struct Chunk {
  uint64_t offset = 0;  // in the file
  // 0: a chunk record is at `offset`. Otherwise the size of a run of records outside of chunks.
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

class ChunkedBag : public Bag {
 public:
  [[nodiscard]] absl::StatusOr<std::unique_ptr<Cursor>> Read(
      const std::vector<size_t>& topics) const override;
  [[nodiscard]] const std::vector<Chunk>& chunks() const { return chunks_; }  // by first_ns
  // The topic of a channel; nullptr: there is no such channel.
  [[nodiscard]] const size_t* TopicOf(uint32_t channel) const {
    const auto found = topic_of_channel_.find(channel);
    return found == topic_of_channel_.end() ? nullptr : &found->second;
  }
  // The messages of a chunk, or of loose bytes. Thread-safe. Errors name the file and the place.
  [[nodiscard]] absl::StatusOr<ChunkContents> Load(const Chunk& chunk) const;

 protected:
  ChunkedBag(std::string path, RandomAccessFile file)
      : path_(std::move(path)), file_(std::move(file)) {}

  [[nodiscard]] uint64_t file_bytes() const { return file_.size(); }
  // InvalidArgument: they do not lie in the file; ResourceExhausted: over kMaxChunkBytes.
  [[nodiscard]] absl::StatusOr<std::string> ReadAt(uint64_t offset, uint64_t count) const;
  // As ReadAt, but up to the end of the file only.
  [[nodiscard]] absl::StatusOr<std::string> ReadUpTo(uint64_t offset, uint64_t count) const;

  // Ignored if the channel is already defined.
  void DefineChannel(uint32_t channel, absl::string_view topic, absl::string_view type,
                     absl::string_view encoding);
  // Does nothing where there is no such channel.
  void AddMessageCount(uint32_t channel, uint64_t messages) {
    const size_t* topic = TopicOf(channel);
    if (topic != nullptr) contents_.topics[*topic].messages += messages;
  }
  void Add(Chunk chunk) { chunks_.push_back(std::move(chunk)); }
  // Adds a chunk, or loose bytes, found by scanning the file: takes times, channels and counts from
  // its messages.
  [[nodiscard]] absl::Status AddScanned(uint64_t offset, uint64_t loose_bytes);

  // Fills the tables with `read_index`, whose error says why the index cannot be used, or else with
  // `scan`, and then adds a remark; puts the chunks in order. Errors name the file.
  [[nodiscard]] absl::Status FillTables(absl::string_view format,
                                        absl::FunctionRef<absl::Status()> read_index,
                                        absl::FunctionRef<absl::Status()> scan);
  // Call at the end of a scan of the file, with the offset reached: adds a remark if it is damaged.
  // Returns `damage` if there is no intact message.
  [[nodiscard]] absl::Status FinishScan(uint64_t offset, const absl::Status& damage);

  const std::string path_;

 private:
  // The records of the chunk at this place, decompressed.
  [[nodiscard]] virtual absl::StatusOr<std::string> ReadChunk(uint64_t offset) const = 0;
  // Defines the channels among the records.
  [[nodiscard]] virtual absl::Status DefineChannels(absl::string_view records) = 0;
  // The messages among the records.
  [[nodiscard]] virtual absl::Status ListMessages(absl::string_view records,
                                                  std::vector<ChunkEntry>* messages) const = 0;

  const RandomAccessFile file_;
  std::vector<Chunk> chunks_;
  absl::flat_hash_map<uint32_t, size_t> topic_of_channel_;
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_CHUNKED_BAG_H_
