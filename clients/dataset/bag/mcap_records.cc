// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/mcap_records.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status/try.h"

namespace voxloc::bag {
namespace {

absl::Status TooShort(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the record '", what, "' is too short"));
}

// MCAP's times are unsigned.
int64_t TimeOf(ByteReader* reader) {
  return static_cast<int64_t>(
      std::min<uint64_t>(reader->Read<uint64_t>(), std::numeric_limits<int64_t>::max()));
}

}  // namespace

absl::Status ForEachMcapRecord(absl::string_view records,
                               absl::FunctionRef<absl::Status(const McapRecord&)> take) {
  ByteReader reader(records);
  while (reader.remaining() > 0) {
    McapRecord record;
    record.kind = reader.Read<uint8_t>();
    record.content = reader.Bytes(reader.Read<uint64_t>());
    if (!reader.ok()) return absl::InvalidArgumentError("a record reaches over its end");
    VOXLOC_TRY(take(record));
  }
  return absl::OkStatus();
}

absl::StatusOr<McapSchema> McapSchemaOf(absl::string_view content) {
  ByteReader reader(content);
  McapSchema schema;
  schema.id = reader.Read<uint16_t>();
  schema.name = reader.String();
  if (!reader.ok()) return TooShort("schema");
  return schema;
}

absl::StatusOr<McapChannel> McapChannelOf(absl::string_view content) {
  ByteReader reader(content);
  McapChannel channel;
  channel.id = reader.Read<uint16_t>();
  channel.schema_id = reader.Read<uint16_t>();
  channel.topic = reader.String();
  channel.encoding = reader.String();
  if (!reader.ok()) return TooShort("channel");
  return channel;
}

absl::StatusOr<McapMessage> McapMessageOf(absl::string_view content) {
  ByteReader reader(content);
  McapMessage message;
  message.channel = reader.Read<uint16_t>();
  reader.Read<uint32_t>();  // sequence
  message.recorded_ns = TimeOf(&reader);
  reader.Read<uint64_t>();  // when it was published
  if (!reader.ok()) return TooShort("message");
  message.bytes = reader.Bytes(reader.remaining());
  return message;
}

absl::StatusOr<McapChunk> McapChunkOf(absl::string_view content) {
  ByteReader reader(content);
  McapChunk chunk;
  TimeOf(&reader);
  TimeOf(&reader);
  chunk.uncompressed_bytes = reader.Read<uint64_t>();
  chunk.crc = reader.Read<uint32_t>();
  chunk.compression = reader.String();
  chunk.stored = reader.Bytes(reader.Read<uint64_t>());
  if (!reader.ok()) return TooShort("chunk");
  return chunk;
}

absl::StatusOr<Chunk> McapChunkIndexOf(absl::string_view content) {
  ByteReader reader(content);
  Chunk chunk;
  chunk.first_ns = TimeOf(&reader);
  chunk.last_ns = TimeOf(&reader);
  chunk.offset = reader.Read<uint64_t>();
  reader.Read<uint64_t>();  // the length of the chunk's record, which the record has as well
  ByteReader offsets(reader.Block());
  while (offsets.ok() && offsets.remaining() > 0) {
    chunk.channels.push_back(offsets.Read<uint16_t>());
    offsets.Read<uint64_t>();
  }
  if (!reader.ok() || !offsets.ok()) return TooShort("chunk index");
  return chunk;
}

absl::StatusOr<McapStatistics> McapStatisticsOf(absl::string_view content) {
  ByteReader reader(content);
  McapStatistics statistics;
  statistics.messages = reader.Read<uint64_t>();
  reader.Read<uint16_t>();  // schemas
  reader.Read<uint32_t>();  // channels
  reader.Read<uint32_t>();  // attachments
  reader.Read<uint32_t>();  // metadata
  statistics.chunks = reader.Read<uint32_t>();
  TimeOf(&reader);
  TimeOf(&reader);
  ByteReader counts(reader.Block());
  while (counts.ok() && counts.remaining() > 0) {
    const auto channel = counts.Read<uint16_t>();
    statistics.messages_of_channel.emplace_back(channel, counts.Read<uint64_t>());
  }
  if (!reader.ok() || !counts.ok()) return TooShort("statistics");
  return statistics;
}

absl::StatusOr<McapFooter> McapFooterOf(absl::string_view content) {
  ByteReader reader(content);
  McapFooter footer;
  footer.summary_start = reader.Read<uint64_t>();
  reader.Read<uint64_t>();  // where the offsets of the summary's groups begin
  footer.summary_crc = reader.Read<uint32_t>();
  if (!reader.ok()) return TooShort("footer");
  return footer;
}

}  // namespace voxloc::bag
