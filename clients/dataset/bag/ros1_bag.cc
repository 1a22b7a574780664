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
  static absl::StatusOr<Ros1Header> Parse(absl::string_view bytes) {
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

  [[nodiscard]] absl::string_view Text(absl::string_view name) const {
    for (const auto& [field, value] : fields_) {
      if (field == name) return value;
    }
    return {};
  }

  [[nodiscard]] bool Is(Ros1Kind kind) const {
    const absl::string_view value = Text("op");
    return value.size() == 1 && static_cast<uint8_t>(value[0]) == static_cast<uint8_t>(kind);
  }

  // InvalidArgument names the field: missing, or of another length.
  template <typename T>
  [[nodiscard]] absl::StatusOr<T> Number(absl::string_view name) const {
    ByteReader reader(Text(name));
    const auto value = reader.Read<T>();
    if (reader.ok() && reader.remaining() == 0) return value;
    return absl::InvalidArgumentError(absl::StrCat("a record's field '", name, "' must have ",
                                                   sizeof(T), " bytes (got ", Text(name).size(),
                                                   ")"));
  }

  // In nanoseconds.
  [[nodiscard]] absl::StatusOr<int64_t> Time(absl::string_view name) const {
    VOXLOC_ASSIGN_OR_RETURN(const auto value, Number<uint64_t>(name));
    // Seconds, then nanoseconds, 32 bits each.
    return static_cast<int64_t>(value & 0xFFFFFFFFU) * 1'000'000'000 +
           static_cast<int64_t>(value >> 32U);
  }

 private:
  std::vector<std::pair<absl::string_view, absl::string_view>> fields_;
};

struct Ros1Record {
  Ros1Header header;
  absl::string_view data;
};

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

// Of a record's header: a topic's name and a few numbers; names have at most 4 KB in practice.
constexpr uint32_t kMaxHeaderBytes = uint32_t{1} << 20;

class Ros1Bag : public ChunkedBag {
 public:
  static absl::StatusOr<std::unique_ptr<Bag>> Open(const std::string& path) {
    VOXLOC_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::Open(path));
    std::unique_ptr<Ros1Bag> bag(new Ros1Bag(path, std::move(file)));
    std::string head;
    if (const absl::Status status = bag->ReadBagHeader(&head); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
    }
    VOXLOC_TRY(bag->FillTables(
        "ROS 1 bag", [&] { return bag->ReadIndex(head); }, [&] { return bag->Scan(); }));
    return bag;
  }

 private:
  using ChunkedBag::ChunkedBag;

  // The record at an offset of the file, without its data.
  struct Head {
    std::string bytes;  // of the header
    uint64_t data_offset = 0;
    uint64_t data_bytes = 0;
  };
  absl::StatusOr<Head> HeadAt(uint64_t offset) const {
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

  absl::StatusOr<std::string> ReadChunk(uint64_t offset) const override {
    VOXLOC_ASSIGN_OR_RETURN(const Head head, HeadAt(offset));
    VOXLOC_ASSIGN_OR_RETURN(const Ros1Header header, Ros1Header::Parse(head.bytes));
    VOXLOC_ASSIGN_OR_RETURN(const std::string stored, ReadAt(head.data_offset, head.data_bytes));
    if (!header.Is(Ros1Kind::kChunk)) {
      return absl::InvalidArgumentError("there is no chunk where the index names one");
    }
    VOXLOC_ASSIGN_OR_RETURN(const Compression compression,
                            CompressionNamed(header.Text("compression")));
    VOXLOC_ASSIGN_OR_RETURN(const auto size, header.Number<uint32_t>("size"));
    return Decompress(compression, stored, size);
  }

  absl::Status ListMessages(absl::string_view records,
                            std::vector<ChunkEntry>* messages) const override {
    return ForEachRos1Record(records, [&](const Ros1Record& record) -> absl::Status {
      if (!record.header.Is(Ros1Kind::kMessage)) return absl::OkStatus();
      VOXLOC_ASSIGN_OR_RETURN(const auto connection, record.header.Number<uint32_t>("conn"));
      VOXLOC_ASSIGN_OR_RETURN(const int64_t time_ns, record.header.Time("time"));
      messages->push_back({connection, time_ns,
                           static_cast<size_t>(record.data.data() - records.data()),
                           record.data.size()});
      return absl::OkStatus();
    });
  }

  absl::Status DefineChannels(absl::string_view records) override {
    return ForEachRos1Record(records, [&](const Ros1Record& record) {
      return record.header.Is(Ros1Kind::kConnection) ? Define(record) : absl::OkStatus();
    });
  }

  // A connection.
  absl::Status Define(const Ros1Record& record) {
    VOXLOC_ASSIGN_OR_RETURN(const auto id, record.header.Number<uint32_t>("conn"));
    VOXLOC_ASSIGN_OR_RETURN(const Ros1Header described, Ros1Header::Parse(record.data));
    const absl::string_view topic = record.header.Text("topic");
    const absl::string_view type = described.Text("type");
    if (topic.empty() || type.empty()) {
      return absl::InvalidArgumentError("a connection must have a topic and a type");
    }
    DefineChannel(id, topic, type, "ros1");
    return absl::OkStatus();
  }

  // The header of the first record, which must be a bag's that can be read.
  absl::Status ReadBagHeader(std::string* bytes) const {
    VOXLOC_ASSIGN_OR_RETURN(const std::string magic, ReadUpTo(0, kRos1Magic.size()));
    if (magic != kRos1Magic) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a ROS 1 bag must be of version 2.0, which 'rosbag fix' makes of older ones (its first "
          "line is '",
          absl::string_view(magic).substr(0, magic.find('\n')), "')"));
    }
    VOXLOC_ASSIGN_OR_RETURN(Head head, HeadAt(kRos1Magic.size()));
    *bytes = std::move(head.bytes);
    VOXLOC_ASSIGN_OR_RETURN(const Ros1Header header, Ros1Header::Parse(*bytes));
    if (!header.Is(Ros1Kind::kBagHeader)) {
      return absl::InvalidArgumentError("its first record must be the bag's header");
    }
    if (!header.Text("encryptor").empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("it is encrypted with ", header.Text("encryptor"),
                       "; 'rosbag decompress' makes a plain bag of it"));
    }
    return absl::OkStatus();
  }

  // Fills the tables from the records at the bag's end. An error says why they cannot be used.
  absl::Status ReadIndex(absl::string_view bag_header) {
    VOXLOC_ASSIGN_OR_RETURN(const Ros1Header header, Ros1Header::Parse(bag_header));
    VOXLOC_ASSIGN_OR_RETURN(const auto index, header.Number<uint64_t>("index_pos"));
    VOXLOC_ASSIGN_OR_RETURN(const auto chunks, header.Number<uint32_t>("chunk_count"));
    if (index == 0) return absl::NotFoundError("it was not closed");
    if (index > file_bytes()) return absl::NotFoundError("its index lies after its end");
    VOXLOC_ASSIGN_OR_RETURN(const std::string records, ReadAt(index, file_bytes() - index));
    VOXLOC_TRY(DefineChannels(records));
    uint32_t found = 0;
    const auto add_chunk = [&](const Ros1Record& record) -> absl::Status {
      if (!record.header.Is(Ros1Kind::kChunkInfo)) return absl::OkStatus();
      Chunk chunk;
      VOXLOC_ASSIGN_OR_RETURN(chunk.offset, record.header.Number<uint64_t>("chunk_pos"));
      VOXLOC_ASSIGN_OR_RETURN(chunk.first_ns, record.header.Time("start_time"));
      VOXLOC_ASSIGN_OR_RETURN(chunk.last_ns, record.header.Time("end_time"));
      ByteReader reader(record.data);
      while (reader.remaining() > 0) {
        const auto connection = reader.Read<uint32_t>();
        const auto messages = reader.Read<uint32_t>();
        if (!reader.ok()) {
          return absl::InvalidArgumentError("a chunk's entry in the index is too short");
        }
        if (TopicOf(connection) == nullptr) {
          return absl::NotFoundError("its index does not list all connections");
        }
        AddMessageCount(connection, messages);
        chunk.channels.push_back(connection);
      }
      Add(std::move(chunk));
      ++found;
      return absl::OkStatus();
    };
    VOXLOC_TRY(ForEachRos1Record(records, add_chunk));
    if (found != chunks) return absl::NotFoundError("its index does not list all chunks");
    return absl::OkStatus();
  }

  // Fills the tables by reading all records, up to the first that is not whole.
  absl::Status Scan() {
    uint64_t offset = kRos1Magic.size();
    const auto step = [&]() -> absl::Status {
      VOXLOC_ASSIGN_OR_RETURN(const Head head, HeadAt(offset));
      VOXLOC_ASSIGN_OR_RETURN(const Ros1Header header, Ros1Header::Parse(head.bytes));
      const uint64_t end = head.data_offset + head.data_bytes;
      if (header.Is(Ros1Kind::kChunk) || header.Is(Ros1Kind::kMessage)) {
        VOXLOC_TRY(AddScanned(offset, header.Is(Ros1Kind::kMessage) ? end - offset : 0));
      } else if (header.Is(Ros1Kind::kConnection)) {
        VOXLOC_ASSIGN_OR_RETURN(const std::string data, ReadAt(head.data_offset, head.data_bytes));
        VOXLOC_TRY(Define({header, data}));
      }
      offset = end;
      return absl::OkStatus();
    };
    absl::Status damage;
    while (offset < file_bytes() && damage.ok()) damage = step();
    return FinishScan(offset, damage);
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Bag>> OpenRos1Bag(const std::string& path) {
  return Ros1Bag::Open(path);
}

}  // namespace voxloc::bag
