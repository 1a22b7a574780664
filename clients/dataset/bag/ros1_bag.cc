// SPDX-License-Identifier: Apache-2.0
//
// ROS 1 bags of version 2.0 (https://wiki.ros.org/Bags/Format/2.0): the records, out of their
// bytes, and the bag of them.
//
// A record is the length of its header (uint32), the header, the length of its data (uint32) and
// the data. A header is a list of fields: a length (uint32), a name, '=' and a value. All numbers
// are little-endian.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

constexpr absl::string_view kRos1Magic = "#ROSBAG V2.0\n";

enum class Ros1Kind : uint8_t {
  kMessage = 0x02,
  kBagHeader = 0x03,
  kChunk = 0x05,
  kChunkInfo = 0x06,
  kConnection = 0x07,
};

// A record's header. The fields that a kind has not are empty.
class Ros1Header {
 public:
  // InvalidArgument: not a list of fields.
  [[nodiscard]] static absl::StatusOr<Ros1Header> Parse(absl::string_view bytes);

  [[nodiscard]] bool Is(Ros1Kind kind) const;
  [[nodiscard]] absl::string_view Text(absl::string_view name) const;
  // InvalidArgument names the field: missing, or of another length.
  [[nodiscard]] absl::StatusOr<uint32_t> Uint32(absl::string_view name) const;
  [[nodiscard]] absl::StatusOr<uint64_t> Uint64(absl::string_view name) const;
  [[nodiscard]] absl::StatusOr<int64_t> Time(absl::string_view name) const;  // nanoseconds

 private:
  std::vector<std::pair<absl::string_view, absl::string_view>> fields_;
};

struct Ros1Record {
  Ros1Header header;
  absl::string_view data;
};

struct Ros1Connection {
  uint32_t id = 0;
  absl::string_view topic;
  absl::string_view type;
};

struct Ros1ChunkInfo {
  Chunk chunk;
  std::vector<std::pair<uint32_t, uint32_t>> messages_of_connection;
};

absl::StatusOr<Ros1Header> Ros1Header::Parse(absl::string_view bytes) {
  Ros1Header header;
  ByteReader reader(bytes);
  while (reader.ok() && reader.remaining() > 0) {
    const absl::string_view field = reader.Block();
    const size_t equals = field.find('=');
    if (!reader.ok() || equals == absl::string_view::npos) {
      return absl::InvalidArgumentError("a record's header must be a list of NAME=VALUE");
    }
    header.fields_.emplace_back(field.substr(0, equals), field.substr(equals + 1));
  }
  return header;
}

absl::string_view Ros1Header::Text(absl::string_view name) const {
  for (const auto& [field, value] : fields_) {
    if (field == name) return value;
  }
  return {};
}

bool Ros1Header::Is(Ros1Kind kind) const {
  const absl::string_view value = Text("op");
  return value.size() == 1 && static_cast<uint8_t>(value[0]) == static_cast<uint8_t>(kind);
}

absl::StatusOr<uint32_t> Ros1Header::Uint32(absl::string_view name) const {
  ByteReader reader(Text(name));
  const auto value = reader.Read<uint32_t>();
  if (reader.ok() && reader.remaining() == 0) return value;
  return absl::InvalidArgumentError(absl::StrCat(
      "a record's field '", name, "' must have 4 bytes (got ", Text(name).size(), ")"));
}

absl::StatusOr<uint64_t> Ros1Header::Uint64(absl::string_view name) const {
  ByteReader reader(Text(name));
  const auto value = reader.Read<uint64_t>();
  if (reader.ok() && reader.remaining() == 0) return value;
  return absl::InvalidArgumentError(absl::StrCat(
      "a record's field '", name, "' must have 8 bytes (got ", Text(name).size(), ")"));
}

absl::StatusOr<int64_t> Ros1Header::Time(absl::string_view name) const {
  VOXLOC_ASSIGN_OR_RETURN(const uint64_t value, Uint64(name));
  // Seconds, then nanoseconds, 32 bits each.
  return static_cast<int64_t>(value & 0xFFFFFFFFU) * 1'000'000'000 +
         static_cast<int64_t>(value >> 32U);
}

// Calls `take` with each record, until an error of its own. InvalidArgument: the last is not whole.
absl::Status ForEachRos1Record(absl::string_view records,
                               absl::FunctionRef<absl::Status(const Ros1Record&)> take) {
  ByteReader reader(records);
  while (reader.remaining() > 0) {
    const absl::string_view header_bytes = reader.Block();
    const absl::string_view data = reader.Block();
    if (!reader.ok()) return absl::InvalidArgumentError("a record reaches over its end");
    VOXLOC_ASSIGN_OR_RETURN(const Ros1Header header, Ros1Header::Parse(header_bytes));
    VOXLOC_TRY(take({header, data}));
  }
  return absl::OkStatus();
}

absl::StatusOr<Ros1Connection> Ros1ConnectionOf(const Ros1Record& record) {
  Ros1Connection connection;
  VOXLOC_ASSIGN_OR_RETURN(connection.id, record.header.Uint32("conn"));
  connection.topic = record.header.Text("topic");
  VOXLOC_ASSIGN_OR_RETURN(const Ros1Header described, Ros1Header::Parse(record.data));
  connection.type = described.Text("type");
  if (connection.topic.empty() || connection.type.empty()) {
    return absl::InvalidArgumentError("a connection must have a topic and a type");
  }
  return connection;
}

absl::StatusOr<Ros1ChunkInfo> Ros1ChunkInfoOf(const Ros1Record& record) {
  VOXLOC_ASSIGN_OR_RETURN(const uint64_t offset, record.header.Uint64("chunk_pos"));
  VOXLOC_ASSIGN_OR_RETURN(const int64_t first_ns, record.header.Time("start_time"));
  VOXLOC_ASSIGN_OR_RETURN(const int64_t last_ns, record.header.Time("end_time"));
  Ros1ChunkInfo info;
  info.chunk.offset = offset;
  info.chunk.first_ns = first_ns;
  info.chunk.last_ns = last_ns;
  ByteReader reader(record.data);
  while (reader.ok() && reader.remaining() > 0) {
    const auto connection = reader.Read<uint32_t>();
    const auto messages = reader.Read<uint32_t>();
    info.messages_of_connection.emplace_back(connection, messages);
    info.chunk.channels.push_back(connection);
  }
  if (!reader.ok()) return absl::InvalidArgumentError("a chunk's entry in the index is too short");
  return info;
}

// Of a record's header: a topic's name and a few numbers; names have at most 4 KB in practice.
constexpr uint32_t kMaxHeaderBytes = uint32_t{1} << 20;

class Ros1Bag : public ChunkedBag {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Bag>> Open(const std::string& path);

 private:
  using ChunkedBag::ChunkedBag;

  [[nodiscard]] absl::StatusOr<std::string> ReadChunk(uint64_t offset) const override;
  [[nodiscard]] absl::Status ListMessages(absl::string_view records,
                                          std::vector<ChunkEntry>* messages) const override;

  // The record at an offset of the file, without its data.
  struct Head {
    std::string bytes;  // of the header
    uint64_t data_offset = 0;
    uint64_t data_bytes = 0;
  };
  [[nodiscard]] absl::StatusOr<Head> HeadAt(uint64_t offset) const;

  // Fills the tables from the records at the bag's end. An error says why they cannot be used.
  [[nodiscard]] absl::Status ReadIndex(const Ros1Header& bag_header);
  // Fills the tables by reading all records, up to the first that is not whole.
  [[nodiscard]] absl::Status Walk();
  [[nodiscard]] absl::Status DefineAll(absl::string_view records);
  [[nodiscard]] absl::Status DefineOne(const Ros1Record& record);
};

absl::StatusOr<Ros1Bag::Head> Ros1Bag::HeadAt(uint64_t offset) const {
  VOXLOC_ASSIGN_OR_RETURN(std::string length, ReadAt(offset, 4));
  const auto header_bytes = ByteReader(length).Read<uint32_t>();
  if (header_bytes > kMaxHeaderBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a record's header must have at most ",
                                                   kMaxHeaderBytes, " bytes (got ", header_bytes,
                                                   ")"));
  }
  VOXLOC_ASSIGN_OR_RETURN(std::string bytes, ReadAt(offset + 4, uint64_t{header_bytes} + 4));
  Head head;
  head.data_bytes = ByteReader(absl::string_view(bytes).substr(header_bytes)).Read<uint32_t>();
  head.data_offset = offset + 4 + bytes.size();
  head.bytes = bytes.substr(0, header_bytes);
  if (head.data_bytes > file_bytes() - head.data_offset) {
    return absl::InvalidArgumentError("the file ends in the middle of a record");
  }
  return head;
}

absl::StatusOr<std::string> Ros1Bag::ReadChunk(uint64_t offset) const {
  VOXLOC_ASSIGN_OR_RETURN(const Head head, HeadAt(offset));
  VOXLOC_ASSIGN_OR_RETURN(const Ros1Header header, Ros1Header::Parse(head.bytes));
  VOXLOC_ASSIGN_OR_RETURN(const std::string stored, ReadAt(head.data_offset, head.data_bytes));
  if (!header.Is(Ros1Kind::kChunk)) {
    return absl::InvalidArgumentError("there is no chunk where the index names one");
  }
  VOXLOC_ASSIGN_OR_RETURN(const Compression compression,
                          CompressionNamed(header.Text("compression")));
  VOXLOC_ASSIGN_OR_RETURN(const uint32_t size, header.Uint32("size"));
  return Decompress(compression, stored, size);
}

absl::Status Ros1Bag::ListMessages(absl::string_view records,
                                   std::vector<ChunkEntry>* messages) const {
  return ForEachRos1Record(records, [&](const Ros1Record& record) -> absl::Status {
    if (!record.header.Is(Ros1Kind::kMessage)) return absl::OkStatus();
    VOXLOC_ASSIGN_OR_RETURN(const uint32_t connection, record.header.Uint32("conn"));
    VOXLOC_ASSIGN_OR_RETURN(const int64_t time_ns, record.header.Time("time"));
    messages->push_back({connection, time_ns,
                         static_cast<size_t>(record.data.data() - records.data()),
                         record.data.size()});
    return absl::OkStatus();
  });
}

absl::Status Ros1Bag::DefineOne(const Ros1Record& record) {
  VOXLOC_ASSIGN_OR_RETURN(const Ros1Connection connection, Ros1ConnectionOf(record));
  DefineChannel(connection.id, connection.topic, connection.type, "ros1");
  return absl::OkStatus();
}

absl::Status Ros1Bag::DefineAll(absl::string_view records) {
  return ForEachRos1Record(records, [&](const Ros1Record& record) {
    return record.header.Is(Ros1Kind::kConnection) ? DefineOne(record) : absl::OkStatus();
  });
}

absl::Status Ros1Bag::ReadIndex(const Ros1Header& bag_header) {
  VOXLOC_ASSIGN_OR_RETURN(const uint64_t index, bag_header.Uint64("index_pos"));
  VOXLOC_ASSIGN_OR_RETURN(const uint32_t chunks, bag_header.Uint32("chunk_count"));
  if (index == 0) return absl::NotFoundError("it was not closed");
  if (index > file_bytes()) return absl::NotFoundError("its index lies after its end");
  VOXLOC_ASSIGN_OR_RETURN(const std::string records, ReadAt(index, file_bytes() - index));
  VOXLOC_TRY(DefineAll(records));
  uint32_t found = 0;
  const absl::Status listed =
      ForEachRos1Record(records, [&](const Ros1Record& record) -> absl::Status {
        if (!record.header.Is(Ros1Kind::kChunkInfo)) return absl::OkStatus();
        VOXLOC_ASSIGN_OR_RETURN(Ros1ChunkInfo info, Ros1ChunkInfoOf(record));
        for (const auto& [connection, messages] : info.messages_of_connection) {
          if (TopicOf(connection) == nullptr) {
            return absl::NotFoundError("its index does not list all connections");
          }
          AddMessageCount(connection, messages);
        }
        Add(std::move(info.chunk));
        ++found;
        return absl::OkStatus();
      });
  if (!listed.ok()) return listed;
  if (found != chunks) return absl::NotFoundError("its index does not list all chunks");
  return absl::OkStatus();
}

absl::Status Ros1Bag::Walk() {
  uint64_t offset = kRos1Magic.size();
  absl::Status damage;
  while (offset < file_bytes() && damage.ok()) {
    const auto step = [&]() -> absl::Status {
      VOXLOC_ASSIGN_OR_RETURN(const Head head, HeadAt(offset));
      VOXLOC_ASSIGN_OR_RETURN(const Ros1Header header, Ros1Header::Parse(head.bytes));
      const uint64_t end = head.data_offset + head.data_bytes;
      Chunk chunk;
      chunk.offset = offset;
      if (header.Is(Ros1Kind::kMessage)) chunk.loose_bytes = end - offset;
      if (header.Is(Ros1Kind::kChunk) || header.Is(Ros1Kind::kMessage)) {
        VOXLOC_ASSIGN_OR_RETURN(const ChunkContents contents, Load(chunk));
        VOXLOC_TRY(DefineAll(contents.bytes));
        AddScanned(std::move(chunk), contents);
      } else if (header.Is(Ros1Kind::kConnection)) {
        VOXLOC_ASSIGN_OR_RETURN(const std::string data, ReadAt(head.data_offset, head.data_bytes));
        VOXLOC_TRY(DefineOne({header, data}));
      }
      offset = end;
      return absl::OkStatus();
    };
    damage = step();
  }
  return FinishScan(offset, damage);
}

absl::StatusOr<std::unique_ptr<Bag>> Ros1Bag::Open(const std::string& path) {
  VOXLOC_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::Open(path));
  std::unique_ptr<Ros1Bag> bag(new Ros1Bag(path, std::move(file)));
  const auto open = [&]() -> absl::Status {
    VOXLOC_ASSIGN_OR_RETURN(const std::string magic, bag->ReadUpTo(0, kRos1Magic.size()));
    if (magic != kRos1Magic) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a ROS 1 bag must be of version 2.0, which 'rosbag fix' makes of older ones (its first "
          "line is '",
          absl::string_view(magic).substr(0, magic.find('\n')), "')"));
    }
    VOXLOC_ASSIGN_OR_RETURN(const Head head, bag->HeadAt(kRos1Magic.size()));
    VOXLOC_ASSIGN_OR_RETURN(const Ros1Header header, Ros1Header::Parse(head.bytes));
    if (!header.Is(Ros1Kind::kBagHeader)) {
      return absl::InvalidArgumentError("its first record must be the bag's header");
    }
    if (!header.Text("encryptor").empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("it is encrypted with ", header.Text("encryptor"),
                       "; 'rosbag decompress' makes a plain bag of it"));
    }
    const absl::Status index = bag->ReadIndex(header);
    if (index.ok()) return absl::OkStatus();
    bag->Clear();
    VOXLOC_TRY(bag->Walk());
    bag->ReportNoIndex(index);
    return absl::OkStatus();
  };
  if (absl::Status status = open(); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
  }
  bag->Finish("ROS 1 bag");
  return bag;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Bag>> OpenRos1Bag(const std::string& path) {
  return Ros1Bag::Open(path);
}

}  // namespace voxloc::bag
