// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/chunked_bag.h"

#include <algorithm>
#include <list>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/dataset/bag/decompress.h"
#include "core/status/try.h"

namespace voxloc::bag {
namespace {

// Chunks whose times overlap are in memory together; two of the largest.
constexpr uint64_t kMaxLoadedBytes = 2 * kMaxChunkBytes;

class ChunkCursor : public Cursor {
 public:
  // `selected`: a flag for every topic.
  ChunkCursor(const ChunkedBag& file, std::vector<bool> selected)
      : file_(file), selected_(std::move(selected)) {}

 private:
  struct LoadedChunk {
    std::string bytes;
    std::vector<ChunkEntry> messages;  // selected ones, in the order of time
    size_t next = 0;
  };

  bool IsSelected(uint32_t channel) const {
    const size_t* topic = file_.TopicOf(channel);
    return topic != nullptr && selected_[*topic];
  }

  bool HasSelectedChannel(const Chunk& chunk) const {
    return chunk.channels.empty() ||
           absl::c_any_of(chunk.channels, [this](uint32_t channel) { return IsSelected(channel); });
  }

  absl::Status LoadChunk(const Chunk& chunk) {
    VOXLOC_ASSIGN_OR_RETURN(ChunkContents contents, file_.Load(chunk));
    LoadedChunk loaded;
    for (const ChunkEntry& entry : contents.messages) {
      if (IsSelected(entry.channel)) loaded.messages.push_back(entry);
    }
    if (loaded.messages.empty()) return absl::OkStatus();
    absl::c_stable_sort(loaded.messages, [](const ChunkEntry& a, const ChunkEntry& b) {
      return a.recorded_ns < b.recorded_ns;
    });
    loaded.bytes = std::move(contents.bytes);
    uint64_t loaded_bytes = loaded.bytes.size();
    for (const LoadedChunk& other : loaded_) loaded_bytes += other.bytes.size();
    if (loaded_bytes > kMaxLoadedBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "chunks that overlap in time must have at most ", kMaxLoadedBytes, " bytes together"));
    }
    loaded_.push_back(std::move(loaded));
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Fetch(Message* message) override {
    // Chunks whose last message was given out before.
    loaded_.remove_if(
        [](const LoadedChunk& loaded) { return loaded.next == loaded.messages.size(); });
    const std::vector<Chunk>& chunks = file_.chunks();
    while (true) {
      const auto earliest =
          absl::c_min_element(loaded_, [](const LoadedChunk& a, const LoadedChunk& b) {
            return a.messages[a.next].recorded_ns < b.messages[b.next].recorded_ns;
          });
      const bool none = earliest == loaded_.end();
      if (next_chunk_ < chunks.size() &&
          (none || chunks[next_chunk_].first_ns < earliest->messages[earliest->next].recorded_ns)) {
        const Chunk& chunk = chunks[next_chunk_++];
        if (HasSelectedChannel(chunk)) VOXLOC_TRY(LoadChunk(chunk));
        continue;
      }
      if (none) return false;
      const ChunkEntry& entry = earliest->messages[earliest->next++];
      message->topic = *file_.TopicOf(entry.channel);
      message->recorded_ns = entry.recorded_ns;
      message->bytes = absl::string_view(earliest->bytes).substr(entry.offset, entry.size);
      return true;
    }
  }

  const ChunkedBag& file_;
  const std::vector<bool> selected_;
  size_t next_chunk_ = 0;
  std::list<LoadedChunk> loaded_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Cursor>> ChunkedBag::Read(const std::vector<size_t>& topics) const {
  std::vector<bool> selected(contents_.topics.size(), false);
  for (const size_t topic : topics) selected.at(topic) = true;
  return MakeDecompressingCursor(contents_,
                                 std::make_unique<ChunkCursor>(*this, std::move(selected)));
}

absl::StatusOr<std::string> ChunkedBag::ReadAt(uint64_t offset, uint64_t count) const {
  if (offset > file_.size() || count > file_.size() - offset) {
    return absl::InvalidArgumentError(
        absl::StrCat("the file ends after ", file_.size(), " bytes, in the middle of a record"));
  }
  if (count > kMaxChunkBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a record must have at most ", kMaxChunkBytes, " bytes (got ", count, ")"));
  }
  std::string bytes(static_cast<size_t>(count), '\0');
  VOXLOC_TRY(file_.Read(offset, bytes.size(), bytes.data()));
  return bytes;
}

absl::StatusOr<std::string> ChunkedBag::ReadUpTo(uint64_t offset, uint64_t count) const {
  if (offset >= file_.size()) return std::string();
  return ReadAt(offset, std::min(count, file_.size() - offset));
}

void ChunkedBag::DefineChannel(uint32_t channel, absl::string_view topic, absl::string_view type,
                               absl::string_view encoding) {
  if (topic_of_channel_.contains(channel)) return;
  topic_of_channel_[channel] =
      contents_.AddTopic({std::string(topic), std::string(type), std::string(encoding), 0});
}

absl::Status ChunkedBag::AddScanned(uint64_t offset, uint64_t loose_bytes) {
  Chunk chunk;
  chunk.offset = offset;
  chunk.loose_bytes = loose_bytes;
  VOXLOC_ASSIGN_OR_RETURN(const ChunkContents contents, Load(chunk));
  VOXLOC_TRY(DefineChannels(contents.bytes));
  if (contents.messages.empty()) return absl::OkStatus();
  chunk.first_ns = contents.messages.front().recorded_ns;
  chunk.last_ns = chunk.first_ns;
  for (const ChunkEntry& entry : contents.messages) {
    chunk.first_ns = std::min(chunk.first_ns, entry.recorded_ns);
    chunk.last_ns = std::max(chunk.last_ns, entry.recorded_ns);
    chunk.channels.push_back(entry.channel);
    AddMessageCount(entry.channel, 1);
  }
  absl::c_sort(chunk.channels);
  chunk.channels.erase(std::unique(chunk.channels.begin(), chunk.channels.end()),
                       chunk.channels.end());
  Add(std::move(chunk));
  return absl::OkStatus();
}

absl::Status ChunkedBag::FillTables(absl::string_view format,
                                    absl::FunctionRef<absl::Status()> read_index,
                                    absl::FunctionRef<absl::Status()> scan) {
  if (const absl::Status index = read_index(); !index.ok()) {
    contents_ = {};
    chunks_.clear();
    topic_of_channel_.clear();
    if (absl::Status status = scan(); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(path_, ": ", status.message()));
    }
    contents_.remarks.push_back(absl::StrCat(
        path_, " has no index that could be used and was read whole to list its messages: ",
        index.message()));
  }
  contents_.format = std::string(format);
  absl::c_stable_sort(chunks_,
                      [](const Chunk& a, const Chunk& b) { return a.first_ns < b.first_ns; });
  if (chunks_.empty()) return absl::OkStatus();
  contents_.first_ns = chunks_.front().first_ns;
  contents_.last_ns = chunks_.front().last_ns;
  for (const Chunk& chunk : chunks_) {
    contents_.last_ns = std::max(contents_.last_ns, chunk.last_ns);
  }
  return absl::OkStatus();
}

absl::Status ChunkedBag::FinishScan(uint64_t offset, const absl::Status& damage) {
  if (!damage.ok()) {
    contents_.remarks.push_back(absl::StrCat(path_, " is whole up to byte ", offset, " of ",
                                             file_.size(),
                                             ", and is read up to there: ", damage.message()));
  }
  return contents_.messages() > 0 ? absl::OkStatus() : damage;
}

absl::StatusOr<ChunkContents> ChunkedBag::Load(const Chunk& chunk) const {
  absl::StatusOr<std::string> bytes =
      chunk.loose_bytes > 0 ? ReadAt(chunk.offset, chunk.loose_bytes) : ReadChunk(chunk.offset);
  absl::Status status = bytes.status();
  ChunkContents contents;
  if (status.ok()) {
    contents.bytes = *std::move(bytes);
    status = ListMessages(contents.bytes, &contents.messages);
  }
  if (status.ok()) return contents;
  return absl::Status(status.code(),
                      absl::StrCat(path_, ", byte ", chunk.offset, ": ", status.message()));
}

}  // namespace voxloc::bag
