// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/mcap_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "clients/dataset/bag/mcap_format.h"
#include "clients/dataset/write_error.h"

namespace voxloc::bag {
namespace {

// A chunk is written when its records have reached this size: as large as those that rosbag2
// writes.
constexpr size_t kChunkBytes = size_t{768} << 10;

std::string McapRecordOf(McapKind kind, absl::string_view content) {
  ByteWriter out;
  out.Write(static_cast<uint8_t>(kind));
  out.Write(uint64_t{content.size()});
  out.Bytes(content);
  return out.Take();
}

}  // namespace

absl::StatusOr<std::unique_ptr<McapWriter>> McapWriter::Create(const std::string& path,
                                                               absl::string_view library) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    return absl::InvalidArgumentError(WriteErrorText(path, errno));
  }
  std::unique_ptr<McapWriter> writer(new McapWriter(path, file));
  writer->Put(kMcapMagic);
  ByteWriter header;
  header.String("ros2");
  header.String(library);
  writer->Put(McapRecordOf(McapKind::kHeader, header.bytes()));
  return writer;
}

McapWriter::~McapWriter() {
  if (file_ != nullptr) std::fclose(file_);
}

void McapWriter::Put(absl::string_view bytes) {
  offset_ += bytes.size();
  if (!status_.ok() || std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size()) return;
  status_ = absl::InternalError(WriteErrorText(path_, errno));
}

uint16_t McapWriter::AddChannel(absl::string_view topic, absl::string_view type,
                                absl::string_view definition) {
  // A channel has a schema of its own, with the same number; 0 is no schema.
  const auto id = static_cast<uint16_t>(messages_.size() + 1);
  messages_[id] = 0;
  ByteWriter schema;
  schema.Write(id);
  schema.String(type);
  schema.String("ros2msg");
  schema.Block(definition);
  ByteWriter channel;
  channel.Write(id);
  channel.Write(id);
  channel.String(topic);
  channel.String("cdr");
  channel.Write(uint32_t{0});  // no metadata
  const std::string records = absl::StrCat(McapRecordOf(McapKind::kSchema, schema.bytes()),
                                           McapRecordOf(McapKind::kChannel, channel.bytes()));
  Put(records);
  definitions_ += records;
  return id;
}

void McapWriter::Write(uint16_t channel, int64_t time_ns, absl::string_view message) {
  const auto time = static_cast<uint64_t>(std::max<int64_t>(time_ns, 0));
  const bool first_of_chunk = records_.bytes().empty();
  chunk_first_ns_ = first_of_chunk ? time : std::min(chunk_first_ns_, time);
  chunk_last_ns_ = first_of_chunk ? time : std::max(chunk_last_ns_, time);
  chunk_index_[channel].emplace_back(time, records_.bytes().size());
  ByteWriter head;
  head.Write(channel);
  head.Write(static_cast<uint32_t>(messages_[channel]++));  // sequence
  head.Write(time);                                         // recorded
  head.Write(time);                                         // published
  records_.Write(static_cast<uint8_t>(McapKind::kMessage));
  records_.Write(uint64_t{head.bytes().size() + message.size()});
  records_.Bytes(head.bytes());
  records_.Bytes(message);
  if (records_.bytes().size() >= kChunkBytes) EndChunk();
}

void McapWriter::EndChunk() {
  if (records_.bytes().empty()) return;
  const std::string records = records_.Take();
  ByteWriter chunk;
  chunk.Write(chunk_first_ns_);
  chunk.Write(chunk_last_ns_);
  chunk.Write(uint64_t{records.size()});
  chunk.Write(Crc32(records));
  chunk.String("");  // no compression
  chunk.Write(uint64_t{records.size()});
  chunk.Bytes(records);
  ChunkIndex entry;
  entry.first_ns = chunk_first_ns_;
  entry.last_ns = chunk_last_ns_;
  entry.offset = offset_;
  entry.records_bytes = records.size();
  Put(McapRecordOf(McapKind::kChunk, chunk.bytes()));
  entry.bytes = offset_ - entry.offset;

  const uint64_t index_start = offset_;
  for (const auto& [channel, messages] : chunk_index_) {
    ByteWriter entries;
    for (const auto& [time_ns, record_offset] : messages) {
      entries.Write(time_ns);
      entries.Write(record_offset);
    }
    ByteWriter index;
    index.Write(channel);
    index.Block(entries.bytes());
    entry.index_offsets[channel] = offset_;
    Put(McapRecordOf(McapKind::kMessageIndex, index.bytes()));
  }
  entry.index_bytes = offset_ - index_start;
  chunk_index_.clear();
  first_ns_ = chunks_.empty() ? entry.first_ns : std::min(first_ns_, entry.first_ns);
  last_ns_ = std::max(last_ns_, entry.last_ns);
  chunks_.push_back(std::move(entry));
}

std::string McapWriter::Summary() const {
  std::string summary = definitions_;
  ByteWriter counts;
  uint64_t messages = 0;
  for (const auto& [channel, count] : messages_) {
    counts.Write(channel);
    counts.Write(count);
    messages += count;
  }
  ByteWriter statistics;
  statistics.Write(messages);
  statistics.Write(static_cast<uint16_t>(messages_.size()));  // schemas
  statistics.Write(static_cast<uint32_t>(messages_.size()));  // channels
  statistics.Write(uint32_t{0});                              // attachments
  statistics.Write(uint32_t{0});                              // metadata
  statistics.Write(static_cast<uint32_t>(chunks_.size()));
  statistics.Write(first_ns_);
  statistics.Write(last_ns_);
  statistics.Block(counts.bytes());
  absl::StrAppend(&summary, McapRecordOf(McapKind::kStatistics, statistics.bytes()));
  for (const ChunkIndex& chunk : chunks_) {
    ByteWriter offsets;
    for (const auto& [channel, offset] : chunk.index_offsets) {
      offsets.Write(channel);
      offsets.Write(offset);
    }
    ByteWriter index;
    index.Write(chunk.first_ns);
    index.Write(chunk.last_ns);
    index.Write(chunk.offset);
    index.Write(chunk.bytes);
    index.Block(offsets.bytes());
    index.Write(chunk.index_bytes);
    index.String("");
    index.Write(chunk.records_bytes);  // as they are stored
    index.Write(chunk.records_bytes);
    absl::StrAppend(&summary, McapRecordOf(McapKind::kChunkIndex, index.bytes()));
  }
  return summary;
}

absl::Status McapWriter::Close() {
  EndChunk();
  ByteWriter data_end;
  data_end.Write(uint32_t{0});  // no checksum: chunks and summary have their own
  Put(McapRecordOf(McapKind::kDataEnd, data_end.bytes()));
  ByteWriter footer;
  footer.Write(offset_);      // where the summary begins
  footer.Write(uint64_t{0});  // it has no offsets of its groups
  const std::string summary = Summary();
  // The checksum is that of the summary and of the footer up to the checksum itself, whose head has
  // the size with it.
  footer.Write(uint32_t{0});
  std::string end = McapRecordOf(McapKind::kFooter, footer.bytes());
  const uint32_t crc =
      Crc32(absl::string_view(end).substr(0, end.size() - sizeof(uint32_t)), Crc32(summary));
  std::memcpy(end.data() + end.size() - sizeof(crc), &crc, sizeof(crc));
  Put(summary);
  Put(end);
  Put(kMcapMagic);
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && status_.ok()) {
    status_ = absl::InternalError(WriteErrorText(path_, errno));
  }
  return status_;
}

}  // namespace voxloc::bag
