// SPDX-License-Identifier: Apache-2.0
//
// Bags in MCAP files (https://mcap.dev/spec): the records, out of their bytes, and the bag of them.
// Kinds that are not needed here are skipped, as the specification asks.

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
#include "clients/dataset/bag/mcap_format.h"
#include "core/status/try.h"

namespace voxloc::bag {
namespace {

struct McapRecord {
  uint8_t kind = 0;
  absl::string_view content;
  [[nodiscard]] bool Is(McapKind wanted) const { return kind == static_cast<uint8_t>(wanted); }
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

constexpr uint64_t kFooterBytes = kMcapRecordHeadBytes + 20;

// Messages outside of chunks are read in pieces of about this size: several of the chunks that
// recorders make.
constexpr uint64_t kLooseBytes = uint64_t{4} << 20;

class McapBag : public ChunkedBag {
 public:
  static absl::StatusOr<std::unique_ptr<Bag>> Open(const std::string& path) {
    VOXLOC_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::Open(path));
    std::unique_ptr<McapBag> bag(new McapBag(path, std::move(file)));
    VOXLOC_ASSIGN_OR_RETURN(const std::string magic, bag->ReadUpTo(0, kMcapMagic.size()));
    if (magic != kMcapMagic) {
      return absl::InvalidArgumentError(absl::StrCat(path, " must be an MCAP file of version 0"));
    }
    VOXLOC_TRY(bag->FillTables(
        "MCAP", [&bag] { return bag->ReadSummary(); }, [&bag] { return bag->Scan(); }));
    return bag;
  }

 private:
  using ChunkedBag::ChunkedBag;

  absl::StatusOr<std::string> ReadChunk(uint64_t offset) const override {
    VOXLOC_ASSIGN_OR_RETURN(const std::string head, ReadAt(offset, kMcapRecordHeadBytes));
    ByteReader head_reader(head);
    if (head_reader.Read<uint8_t>() != static_cast<uint8_t>(McapKind::kChunk)) {
      return absl::InvalidArgumentError("there is no chunk where the index names one");
    }
    VOXLOC_ASSIGN_OR_RETURN(const std::string content,
                            ReadAt(offset + kMcapRecordHeadBytes, head_reader.Read<uint64_t>()));
    ByteReader reader(content);
    TimeOf(&reader);  // of the first message
    TimeOf(&reader);  // of the last message
    const auto size = reader.Read<uint64_t>();
    const auto crc = reader.Read<uint32_t>();  // of the uncompressed bytes; 0: not known
    const absl::string_view compression_name = reader.String();
    const absl::string_view stored = reader.Bytes(reader.Read<uint64_t>());
    if (!reader.ok()) return TooShort("chunk");
    VOXLOC_ASSIGN_OR_RETURN(const Compression compression, CompressionNamed(compression_name));
    absl::StatusOr<std::string> bytes = Decompress(compression, stored, size);
    if (bytes.ok() && crc != 0 && Crc32(*bytes) != crc) {
      return absl::InvalidArgumentError("a chunk's bytes do not have its checksum");
    }
    return bytes;
  }

  absl::Status ListMessages(absl::string_view records,
                            std::vector<ChunkEntry>* messages) const override {
    return ForEachMcapRecord(records, [&](const McapRecord& record) -> absl::Status {
      if (!record.Is(McapKind::kMessage)) return absl::OkStatus();
      ByteReader reader(record.content);
      ChunkEntry message;
      message.channel = reader.Read<uint16_t>();
      reader.Read<uint32_t>();  // sequence
      message.recorded_ns = TimeOf(&reader);
      reader.Read<uint64_t>();  // when it was published
      if (!reader.ok()) return TooShort("message");
      message.size = reader.remaining();
      message.offset = static_cast<size_t>(reader.Bytes(message.size).data() - records.data());
      messages->push_back(message);
      return absl::OkStatus();
    });
  }

  absl::Status DefineChannels(absl::string_view records) override {
    // Schemas first: in a summary they need not come before their channels.
    for (const McapKind kind : {McapKind::kSchema, McapKind::kChannel}) {
      VOXLOC_TRY(ForEachMcapRecord(records, [&](const McapRecord& record) {
        return record.Is(kind) ? Define(record) : absl::OkStatus();
      }));
    }
    return absl::OkStatus();
  }

  // A schema or a channel.
  absl::Status Define(const McapRecord& record) {
    ByteReader reader(record.content);
    const auto id = reader.Read<uint16_t>();
    if (record.Is(McapKind::kSchema)) {
      const absl::string_view name = reader.String();
      if (!reader.ok()) return TooShort("schema");
      schemas_.try_emplace(id, name);
      return absl::OkStatus();
    }
    const auto schema = schemas_.find(reader.Read<uint16_t>());  // 0, which no schema has: none
    const absl::string_view topic = reader.String();
    const absl::string_view encoding = reader.String();
    if (!reader.ok()) return TooShort("channel");
    DefineChannel(id, topic, schema == schemas_.end() ? "" : schema->second, encoding);
    return absl::OkStatus();
  }

  // Fills the tables from the summary. An error says why it cannot be used.
  absl::Status ReadSummary() {
    const uint64_t tail_bytes = kFooterBytes + kMcapMagic.size();
    if (file_bytes() < kMcapMagic.size() + tail_bytes) {
      return absl::NotFoundError("it was not closed");
    }
    const uint64_t footer_start = file_bytes() - tail_bytes;
    VOXLOC_ASSIGN_OR_RETURN(const std::string tail, ReadAt(footer_start, tail_bytes));
    if (absl::string_view(tail).substr(kFooterBytes) != kMcapMagic ||
        tail[0] != static_cast<char>(McapKind::kFooter)) {
      return absl::NotFoundError("it was not closed");
    }
    ByteReader reader(absl::string_view(tail).substr(kMcapRecordHeadBytes));
    const auto summary_start = reader.Read<uint64_t>();
    reader.Read<uint64_t>();  // where the offsets of the summary's groups begin
    const auto summary_crc = reader.Read<uint32_t>();  // 0: not known
    if (summary_start == 0) return absl::NotFoundError("it has no summary");
    if (summary_start > footer_start) {
      return absl::InvalidArgumentError("its summary begins after its end");
    }
    VOXLOC_ASSIGN_OR_RETURN(const std::string summary,
                            ReadAt(summary_start, footer_start - summary_start));
    // The checksum is that of the summary and of the footer up to the checksum itself.
    const absl::string_view footer_part = absl::string_view(tail).substr(0, kFooterBytes - 4);
    if (summary_crc != 0 && Crc32(absl::StrCat(summary, footer_part)) != summary_crc) {
      return absl::InvalidArgumentError("its summary does not have its checksum");
    }
    return ParseSummary(summary);
  }

  absl::Status ParseSummary(absl::string_view summary) {
    VOXLOC_TRY(DefineChannels(summary));
    uint32_t chunks = 0;
    // Of the statistics.
    std::optional<uint64_t> all_messages;
    uint32_t all_chunks = 0;
    std::vector<std::pair<uint16_t, uint64_t>> messages_of_channel;
    VOXLOC_TRY(ForEachMcapRecord(summary, [&](const McapRecord& record) -> absl::Status {
      ByteReader reader(record.content);
      if (record.Is(McapKind::kChunkIndex)) {
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
        Add(std::move(chunk));
        ++chunks;
      } else if (record.Is(McapKind::kStatistics)) {
        all_messages = reader.Read<uint64_t>();
        reader.Read<uint16_t>();  // schemas
        reader.Read<uint32_t>();  // channels
        reader.Read<uint32_t>();  // attachments
        reader.Read<uint32_t>();  // metadata
        all_chunks = reader.Read<uint32_t>();
        TimeOf(&reader);
        TimeOf(&reader);
        messages_of_channel.clear();
        ByteReader counts(reader.Block());
        while (counts.ok() && counts.remaining() > 0) {
          const auto channel = counts.Read<uint16_t>();
          messages_of_channel.emplace_back(channel, counts.Read<uint64_t>());
        }
        if (!reader.ok() || !counts.ok()) return TooShort("statistics");
      }
      return absl::OkStatus();
    }));
    if (!all_messages.has_value()) return absl::NotFoundError("its summary has no statistics");
    if (chunks != all_chunks || (chunks == 0 && *all_messages > 0)) {
      return absl::NotFoundError("its summary does not list all chunks");
    }
    uint64_t counted = 0;
    for (const auto& [channel, messages] : messages_of_channel) {
      if (TopicOf(channel) == nullptr) {
        return absl::NotFoundError("its summary does not list all channels");
      }
      AddMessageCount(channel, messages);
      counted += messages;
    }
    if (counted != *all_messages) {
      return absl::NotFoundError("its summary does not count the messages of all channels");
    }
    return absl::OkStatus();
  }

  // Fills the tables by reading all records, up to the first that is not whole.
  absl::Status Scan() {
    schemas_.clear();
    uint64_t offset = kMcapMagic.size();
    // The messages outside of chunks since the last chunk or piece.
    uint64_t loose_start = 0;
    uint64_t loose_bytes = 0;
    const auto end_loose = [&]() -> absl::Status {
      const uint64_t bytes = std::exchange(loose_bytes, 0);
      return bytes == 0 ? absl::OkStatus() : AddScanned(loose_start, bytes);
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
      if (!is_message || loose_bytes >= kLooseBytes) {
        VOXLOC_TRY(end_loose());
      }
      if (is_message) {
        if (loose_bytes == 0) loose_start = offset;
        loose_bytes += kMcapRecordHeadBytes + content_bytes;
      } else if (record.Is(McapKind::kChunk)) {
        VOXLOC_TRY(AddScanned(offset, 0));
      } else if (record.Is(McapKind::kSchema) || record.Is(McapKind::kChannel)) {
        VOXLOC_ASSIGN_OR_RETURN(const std::string content, ReadAt(content_start, content_bytes));
        record.content = content;
        VOXLOC_TRY(Define(record));
      }
      offset = content_start + content_bytes;
      return true;
    };
    absl::Status damage;
    for (bool more = true; more;) {
      const absl::StatusOr<bool> stepped = step();
      damage = stepped.status();
      more = stepped.ok() && *stepped;
    }
    const absl::Status loose = end_loose();
    return FinishScan(offset, damage.ok() ? loose : damage);
  }

  absl::flat_hash_map<uint16_t, std::string> schemas_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Bag>> OpenMcapBag(const std::string& path) {
  return McapBag::Open(path);
}

}  // namespace voxloc::bag
