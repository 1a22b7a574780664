// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/chunked_bag.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "clients/dataset/bag/decompress.h"
#include "clients/dataset/bag/plain_cursor.h"

namespace voxloc::bag {

absl::StatusOr<std::unique_ptr<Cursor>> ChunkedBag::Read(const std::vector<size_t>& topics) const {
  std::vector<bool> wanted(contents_.topics.size(), false);
  for (const size_t topic : topics) wanted.at(topic) = true;
  return PlainCursor(contents_, std::make_unique<ChunkCursor>(*this, std::move(wanted)));
}

const size_t* ChunkedBag::TopicOf(uint32_t channel) const {
  const auto found = topic_of_channel_.find(channel);
  return found == topic_of_channel_.end() ? nullptr : &found->second;
}

absl::StatusOr<std::string> ChunkedBag::ReadAt(uint64_t offset, uint64_t count) const {
  if (offset > file_.size() || count > file_.size() - offset) {
    return absl::InvalidArgumentError(
        absl::StrCat("the file ends after ", file_.size(), " bytes, in the middle of a record"));
  }
  if (count > kMostChunkBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a record must have at most ", kMostChunkBytes, " bytes (got ", count, ")"));
  }
  std::string bytes(static_cast<size_t>(count), '\0');
  if (absl::Status status = file_.Read(offset, bytes.size(), bytes.data()); !status.ok()) {
    return status;
  }
  return bytes;
}

absl::StatusOr<std::string> ChunkedBag::ReadUpTo(uint64_t offset, uint64_t count) const {
  if (offset >= file_.size()) return std::string();
  return ReadAt(offset, std::min(count, file_.size() - offset));
}

void ChunkedBag::Define(uint32_t channel, absl::string_view topic, absl::string_view type,
                        absl::string_view encoding) {
  if (topic_of_channel_.contains(channel)) return;
  std::vector<Topic>& topics = contents_.topics;
  const auto same = absl::c_find_if(topics, [&](const Topic& known) {
    return known.name == topic && known.type == type && known.encoding == encoding;
  });
  topic_of_channel_[channel] = static_cast<size_t>(same - topics.begin());
  if (same == topics.end()) {
    topics.push_back({std::string(topic), std::string(type), std::string(encoding), 0});
  }
}

void ChunkedBag::Count(uint32_t channel, uint64_t messages) {
  const size_t* topic = TopicOf(channel);
  if (topic != nullptr) contents_.topics[*topic].messages += messages;
}

void ChunkedBag::AddWhole(Chunk chunk, const ChunkContents& contents) {
  if (contents.messages.empty()) return;
  chunk.first_ns = contents.messages.front().recorded_ns;
  chunk.last_ns = chunk.first_ns;
  for (const ChunkEntry& entry : contents.messages) {
    chunk.first_ns = std::min(chunk.first_ns, entry.recorded_ns);
    chunk.last_ns = std::max(chunk.last_ns, entry.recorded_ns);
    chunk.channels.push_back(entry.channel);
    Count(entry.channel, 1);
  }
  absl::c_sort(chunk.channels);
  chunk.channels.erase(std::unique(chunk.channels.begin(), chunk.channels.end()),
                       chunk.channels.end());
  Add(std::move(chunk));
}

void ChunkedBag::Clear() {
  contents_ = {};
  chunks_.clear();
  topic_of_channel_.clear();
}

void ChunkedBag::Finish(std::string format) {
  contents_.format = std::move(format);
  absl::c_stable_sort(chunks_,
                      [](const Chunk& a, const Chunk& b) { return a.first_ns < b.first_ns; });
  if (chunks_.empty()) return;
  contents_.first_ns = chunks_.front().first_ns;
  contents_.last_ns = chunks_.front().last_ns;
  for (const Chunk& chunk : chunks_) {
    contents_.last_ns = std::max(contents_.last_ns, chunk.last_ns);
  }
}

absl::Status ChunkedBag::ErrorAt(uint64_t offset, const absl::Status& status) const {
  return absl::Status(status.code(),
                      absl::StrCat(path_, ", byte ", offset, ": ", status.message()));
}

}  // namespace voxloc::bag
