// SPDX-License-Identifier: Apache-2.0
//
// What MCAP and ROS 1 bags have in common: a file of records, chunks in it, an index of them at its
// end, and channels (ROS 1: connections), several of which can be of one topic. Where the index is
// missing or does not fit, the readers go through the file from its start and take what is whole.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_CHUNKED_BAG_H_
#define VOXLOC_CLIENTS_DATASET_BAG_CHUNKED_BAG_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/dataset/bag/bag.h"
#include "clients/dataset/bag/chunks.h"
#include "core/cloud/io/file_bytes.h"

namespace voxloc::bag {

class ChunkedBag : public Bag, public ChunkFile {
 public:
  [[nodiscard]] const BagContents& contents() const override { return contents_; }
  [[nodiscard]] absl::StatusOr<std::unique_ptr<Cursor>> Read(
      const std::vector<size_t>& topics) const override;
  [[nodiscard]] const std::vector<Chunk>& chunks() const override { return chunks_; }
  [[nodiscard]] const size_t* TopicOf(uint32_t channel) const override;

 protected:
  ChunkedBag(std::string path, FileParts file) : path_(std::move(path)), file_(std::move(file)) {}

  [[nodiscard]] uint64_t file_bytes() const { return file_.size(); }
  // InvalidArgument: they do not lie in the file; ResourceExhausted: over kMostChunkBytes.
  [[nodiscard]] absl::StatusOr<std::string> ReadAt(uint64_t offset, uint64_t count) const;
  // As ReadAt, but up to the end of the file only.
  [[nodiscard]] absl::StatusOr<std::string> ReadUpTo(uint64_t offset, uint64_t count) const;

  // The first meaning of a channel stays.
  void Define(uint32_t channel, absl::string_view topic, absl::string_view type,
              absl::string_view encoding);
  void Count(uint32_t channel, uint64_t messages);  // nothing where there is no such channel
  void Add(Chunk chunk) { chunks_.push_back(std::move(chunk)); }
  // A chunk, or loose bytes, as a walk through the file meets it: times, channels and counts are
  // those of its messages.
  void AddWhole(Chunk chunk, const ChunkContents& contents);
  void Remark(std::string text) { contents_.remarks.push_back(std::move(text)); }
  // Forgets all chunks and channels.
  void Clear();
  // After the last chunk: puts them in order and sets the times of the contents.
  void Finish(std::string format);

  // The error with the file's name and the place in it.
  [[nodiscard]] absl::Status ErrorAt(uint64_t offset, const absl::Status& status) const;

  const std::string path_;

 private:
  const FileParts file_;
  BagContents contents_;
  std::vector<Chunk> chunks_;
  absl::flat_hash_map<uint32_t, size_t> topic_of_channel_;
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_CHUNKED_BAG_H_
