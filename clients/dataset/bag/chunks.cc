// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/chunks.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/dataset/bag/decompress.h"

namespace voxloc::bag {
namespace {

// Chunks whose times overlap are held together; two of the largest.
constexpr uint64_t kMostHeldBytes = 2 * kMostChunkBytes;

}  // namespace

bool ChunkCursor::Wants(uint32_t channel) const {
  const size_t* topic = file_.TopicOf(channel);
  return topic != nullptr && wanted_[*topic];
}

bool ChunkCursor::MayMatter(const Chunk& chunk) const {
  return chunk.channels.empty() ||
         absl::c_any_of(chunk.channels, [this](uint32_t channel) { return Wants(channel); });
}

absl::Status ChunkCursor::Hold(const Chunk& chunk) {
  absl::StatusOr<ChunkContents> contents = file_.Load(chunk);
  if (!contents.ok()) return contents.status();
  Held held;
  for (const ChunkEntry& entry : contents->messages) {
    if (Wants(entry.channel)) held.messages.push_back(entry);
  }
  if (held.messages.empty()) return absl::OkStatus();
  absl::c_stable_sort(held.messages, [](const ChunkEntry& a, const ChunkEntry& b) {
    return a.recorded_ns < b.recorded_ns;
  });
  held.bytes = std::move(contents->bytes);
  held_bytes_ += held.bytes.size();
  if (held_bytes_ > kMostHeldBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "chunks that overlap in time must have at most ", kMostHeldBytes, " bytes together"));
  }
  held_.push_back(std::move(held));
  return absl::OkStatus();
}

absl::StatusOr<bool> ChunkCursor::Next(Message* message) {
  // Chunks whose last message was given out before.
  for (auto held = held_.begin(); held != held_.end();) {
    if (held->next < held->messages.size()) {
      ++held;
      continue;
    }
    held_bytes_ -= held->bytes.size();
    held = held_.erase(held);
  }
  const std::vector<Chunk>& chunks = file_.chunks();
  while (true) {
    Held* earliest = nullptr;
    for (Held& held : held_) {
      if (earliest == nullptr ||
          held.messages[held.next].recorded_ns < earliest->messages[earliest->next].recorded_ns) {
        earliest = &held;
      }
    }
    const bool more = next_chunk_ < chunks.size();
    if (more && (earliest == nullptr ||
                 chunks[next_chunk_].first_ns < earliest->messages[earliest->next].recorded_ns)) {
      const Chunk& chunk = chunks[next_chunk_++];
      if (!MayMatter(chunk)) continue;
      if (absl::Status status = Hold(chunk); !status.ok()) {
        next_chunk_ = chunks.size();
        held_.clear();
        return status;
      }
      continue;
    }
    if (earliest == nullptr) return false;
    const ChunkEntry& entry = earliest->messages[earliest->next++];
    message->topic = *file_.TopicOf(entry.channel);
    message->recorded_ns = entry.recorded_ns;
    message->bytes = absl::string_view(earliest->bytes).substr(entry.offset, entry.size);
    return true;
  }
}

}  // namespace voxloc::bag
