// SPDX-License-Identifier: Apache-2.0
//
// Bags in MCAP files (https://mcap.dev/spec): the records, out of their bytes, and the bag of them.
//
// A record is its kind (a byte), the length of its content (uint64) and the content; all numbers
// are little-endian. Kinds that are not needed here are skipped, as the specification asks.

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "clients/dataset/bag/bag.h"
#include "clients/dataset/bag/byte_reader.h"
#include "clients/dataset/bag/chunked_bag.h"
#include "clients/dataset/bag/decompress.h"
#include "core/status/try.h"

namespace voxloc::bag {
namespace {

constexpr absl::string_view kMcapMagic("\x89MCAP0\r\n", 8);
constexpr size_t kMcapRecordHeadBytes = 9;

enum class McapKind : uint8_t {
  kHeader = 0x01,
  kFooter = 0x02,
  kSchema = 0x03,
  kChannel = 0x04,
  kMessage = 0x05,
  kChunk = 0x06,
  kChunkIndex = 0x08,
  kStatistics = 0x0B,
  kDataEnd = 0x0F,
};

struct McapRecord {
  uint8_t kind = 0;
  absl::string_view content;
  [[nodiscard]] bool Is(McapKind wanted) const { return kind == static_cast<uint8_t>(wanted); }
};

struct McapSchema {
  uint16_t id = 0;  // 0: none
  absl::string_view name;
};
struct McapChannel {
  uint16_t id = 0;
  uint16_t schema_id = 0;
  absl::string_view topic;
  absl::string_view encoding;
};
struct McapMessage {
  uint16_t channel = 0;
  int64_t recorded_ns = 0;
  absl::string_view bytes;
};
struct McapChunk {
  uint64_t uncompressed_bytes = 0;
  uint32_t crc = 0;  // CRC-32 of the uncompressed bytes; 0: not known
  absl::string_view compression;
  absl::string_view stored;
};
struct McapStatistics {
  uint64_t messages = 0;
  uint32_t chunks = 0;
  std::vector<std::pair<uint16_t, uint64_t>> messages_of_channel;
};
struct McapFooter {
  uint64_t summary_start = 0;  // 0: there is no summary
  uint32_t summary_crc = 0;    // 0: not known
};

absl::Status TooShort(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the record '", what, "' is too short"));
}

// MCAP's times are unsigned.
int64_t TimeOf(ByteReader* reader) {
  return static_cast<int64_t>(
      std::min<uint64_t>(reader->Read<uint64_t>(), std::numeric_limits<int64_t>::max()));
}

// Calls `take` with each record, until an error of its own. InvalidArgument: the last is not whole.
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

// The contents of the kinds of records. InvalidArgument: the content is too short.
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

constexpr uint64_t kFooterBytes = kMcapRecordHeadBytes + 20;

// Messages outside of chunks are read in pieces of about this size: several of the chunks that
// recorders make.
constexpr uint64_t kLooseBytes = uint64_t{4} << 20;

uint32_t Crc32(absl::string_view bytes) {
  return static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

class McapBag : public ChunkedBag {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Bag>> Open(const std::string& path);

 private:
  using ChunkedBag::ChunkedBag;

  [[nodiscard]] absl::StatusOr<std::string> ReadChunk(uint64_t offset) const override;
  [[nodiscard]] absl::Status ListMessages(absl::string_view records,
                                          std::vector<ChunkEntry>* messages) const override;
  // Fills the tables from the summary. An error says why it cannot be used.
  [[nodiscard]] absl::Status ReadSummary();
  [[nodiscard]] absl::Status ParseSummary(absl::string_view summary);
  // Fills the tables by reading all records, up to the first that is not whole.
  [[nodiscard]] absl::Status Walk();
  // Schemas and channels among the records.
  [[nodiscard]] absl::Status DefineAll(absl::string_view records);
  [[nodiscard]] absl::Status DefineOne(const McapRecord& record);

  absl::flat_hash_map<uint16_t, std::string> schemas_;
};

absl::StatusOr<std::string> McapBag::ReadChunk(uint64_t offset) const {
  VOXLOC_ASSIGN_OR_RETURN(const std::string head, ReadAt(offset, kMcapRecordHeadBytes));
  ByteReader reader(head);
  if (reader.Read<uint8_t>() != static_cast<uint8_t>(McapKind::kChunk)) {
    return absl::InvalidArgumentError("there is no chunk where the index names one");
  }
  VOXLOC_ASSIGN_OR_RETURN(const std::string content,
                          ReadAt(offset + kMcapRecordHeadBytes, reader.Read<uint64_t>()));
  VOXLOC_ASSIGN_OR_RETURN(const McapChunk record, McapChunkOf(content));
  VOXLOC_ASSIGN_OR_RETURN(const Compression compression, CompressionNamed(record.compression));
  absl::StatusOr<std::string> bytes =
      Decompress(compression, record.stored, record.uncompressed_bytes);
  if (bytes.ok() && record.crc != 0 && Crc32(*bytes) != record.crc) {
    return absl::InvalidArgumentError("a chunk's bytes do not have its checksum");
  }
  return bytes;
}

absl::Status McapBag::ListMessages(absl::string_view records,
                                   std::vector<ChunkEntry>* messages) const {
  return ForEachMcapRecord(records, [&](const McapRecord& record) -> absl::Status {
    if (!record.Is(McapKind::kMessage)) return absl::OkStatus();
    VOXLOC_ASSIGN_OR_RETURN(const McapMessage message, McapMessageOf(record.content));
    messages->push_back({message.channel, message.recorded_ns,
                         static_cast<size_t>(message.bytes.data() - records.data()),
                         message.bytes.size()});
    return absl::OkStatus();
  });
}

absl::Status McapBag::DefineOne(const McapRecord& record) {
  if (record.Is(McapKind::kSchema)) {
    VOXLOC_ASSIGN_OR_RETURN(const McapSchema schema, McapSchemaOf(record.content));
    schemas_.try_emplace(schema.id, schema.name);
  } else if (record.Is(McapKind::kChannel)) {
    VOXLOC_ASSIGN_OR_RETURN(const McapChannel channel, McapChannelOf(record.content));
    const auto schema = schemas_.find(channel.schema_id);
    DefineChannel(channel.id, channel.topic, schema == schemas_.end() ? "" : schema->second,
                  channel.encoding);
  }
  return absl::OkStatus();
}

absl::Status McapBag::DefineAll(absl::string_view records) {
  // Schemas first: in a summary they need not come before their channels.
  for (const McapKind kind : {McapKind::kSchema, McapKind::kChannel}) {
    const absl::Status status = ForEachMcapRecord(records, [&](const McapRecord& record) {
      return record.Is(kind) ? DefineOne(record) : absl::OkStatus();
    });
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status McapBag::ParseSummary(absl::string_view summary) {
  VOXLOC_TRY(DefineAll(summary));
  std::optional<McapStatistics> statistics;
  size_t chunks = 0;
  const absl::Status listed =
      ForEachMcapRecord(summary, [&](const McapRecord& record) -> absl::Status {
        if (record.Is(McapKind::kChunkIndex)) {
          VOXLOC_ASSIGN_OR_RETURN(Chunk chunk, McapChunkIndexOf(record.content));
          Add(std::move(chunk));
          ++chunks;
        } else if (record.Is(McapKind::kStatistics)) {
          VOXLOC_ASSIGN_OR_RETURN(statistics, McapStatisticsOf(record.content));
        }
        return absl::OkStatus();
      });
  if (!listed.ok()) return listed;
  if (!statistics.has_value()) return absl::NotFoundError("its summary has no statistics");
  if (chunks != statistics->chunks || (chunks == 0 && statistics->messages > 0)) {
    return absl::NotFoundError("its summary does not list all chunks");
  }
  uint64_t counted = 0;
  for (const auto& [channel, messages] : statistics->messages_of_channel) {
    if (TopicOf(channel) == nullptr) {
      return absl::NotFoundError("its summary does not list all channels");
    }
    AddMessageCount(channel, messages);
    counted += messages;
  }
  if (counted != statistics->messages) {
    return absl::NotFoundError("its summary does not count the messages of all channels");
  }
  return absl::OkStatus();
}

absl::Status McapBag::ReadSummary() {
  const uint64_t tail_bytes = kFooterBytes + kMcapMagic.size();
  if (file_bytes() < kMcapMagic.size() + tail_bytes)
    return absl::NotFoundError("it was not closed");
  const uint64_t footer_start = file_bytes() - tail_bytes;
  VOXLOC_ASSIGN_OR_RETURN(const std::string tail, ReadAt(footer_start, tail_bytes));
  if (absl::string_view(tail).substr(kFooterBytes) != kMcapMagic ||
      tail[0] != static_cast<char>(McapKind::kFooter)) {
    return absl::NotFoundError("it was not closed");
  }
  VOXLOC_ASSIGN_OR_RETURN(const McapFooter footer,
                          McapFooterOf(absl::string_view(tail).substr(kMcapRecordHeadBytes)));
  if (footer.summary_start == 0) return absl::NotFoundError("it has no summary");
  if (footer.summary_start > footer_start) {
    return absl::InvalidArgumentError("its summary begins after its end");
  }
  const uint64_t summary_bytes = footer_start - footer.summary_start;
  VOXLOC_ASSIGN_OR_RETURN(const std::string summary, ReadAt(footer.summary_start, summary_bytes));
  // The checksum is that of the summary and of the footer up to the checksum itself.
  const absl::string_view footer_part = absl::string_view(tail).substr(0, kFooterBytes - 4);
  if (footer.summary_crc != 0 && Crc32(absl::StrCat(summary, footer_part)) != footer.summary_crc) {
    return absl::InvalidArgumentError("its summary does not have its checksum");
  }
  return ParseSummary(summary);
}

absl::Status McapBag::Walk() {
  uint64_t offset = kMcapMagic.size();
  Chunk loose;  // the messages outside of chunks since the last chunk or piece
  const auto end_loose = [&]() -> absl::Status {
    if (loose.loose_bytes == 0) return absl::OkStatus();
    VOXLOC_ASSIGN_OR_RETURN(const ChunkContents contents, Load(loose));
    AddScanned(std::exchange(loose, {}), contents);
    return absl::OkStatus();
  };
  const auto step = [&]() -> absl::StatusOr<bool> {
    VOXLOC_ASSIGN_OR_RETURN(const std::string head, ReadAt(offset, kMcapRecordHeadBytes));
    ByteReader reader(head);
    McapRecord record;
    record.kind = reader.Read<uint8_t>();
    const auto content_bytes = reader.Read<uint64_t>();
    if (record.Is(McapKind::kDataEnd) || record.Is(McapKind::kFooter)) return false;
    const uint64_t content_start = offset + kMcapRecordHeadBytes;
    if (content_bytes > file_bytes() - content_start) {
      return absl::InvalidArgumentError("the file ends in the middle of a record");
    }
    const bool is_message = record.Is(McapKind::kMessage);
    if (!is_message || loose.loose_bytes >= kLooseBytes) {
      VOXLOC_TRY(end_loose());
    }
    if (is_message) {
      if (loose.loose_bytes == 0) loose.offset = offset;
      loose.loose_bytes += kMcapRecordHeadBytes + content_bytes;
    } else if (record.Is(McapKind::kChunk)) {
      Chunk chunk;
      chunk.offset = offset;
      VOXLOC_ASSIGN_OR_RETURN(const ChunkContents contents, Load(chunk));
      VOXLOC_TRY(DefineAll(contents.bytes));
      AddScanned(std::move(chunk), contents);
    } else if (record.Is(McapKind::kSchema) || record.Is(McapKind::kChannel)) {
      VOXLOC_ASSIGN_OR_RETURN(record.content, ReadAt(content_start, content_bytes));
      VOXLOC_TRY(DefineOne(record));
    }
    offset = content_start + content_bytes;
    return true;
  };
  absl::Status damage;
  while (true) {
    const absl::StatusOr<bool> more = step();
    if (!more.ok()) damage = more.status();
    if (!more.ok() || !*more) break;
  }
  if (absl::Status status = end_loose(); !status.ok() && damage.ok()) damage = status;
  return FinishScan(offset, damage);
}

absl::StatusOr<std::unique_ptr<Bag>> McapBag::Open(const std::string& path) {
  VOXLOC_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::Open(path));
  std::unique_ptr<McapBag> bag(new McapBag(path, std::move(file)));
  VOXLOC_ASSIGN_OR_RETURN(const std::string magic, bag->ReadUpTo(0, kMcapMagic.size()));
  if (magic != kMcapMagic) {
    return absl::InvalidArgumentError(absl::StrCat(path, " must be an MCAP file of version 0"));
  }
  if (const absl::Status summary = bag->ReadSummary(); !summary.ok()) {
    bag->Clear();
    bag->schemas_.clear();
    if (absl::Status status = bag->Walk(); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
    }
    bag->ReportNoIndex(summary);
  }
  bag->Finish("MCAP");
  return bag;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Bag>> OpenMcapBag(const std::string& path) {
  return McapBag::Open(path);
}

}  // namespace voxloc::bag
