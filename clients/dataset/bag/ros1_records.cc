// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/ros1_records.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status/try.h"

namespace voxloc::bag {

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

absl::Status ForEachRos1Record(absl::string_view records,
                               absl::FunctionRef<absl::Status(const Ros1Record&)> take) {
  ByteReader reader(records);
  while (reader.remaining() > 0) {
    const absl::string_view header_bytes = reader.Block();
    const absl::string_view data = reader.Block();
    if (!reader.ok()) return absl::InvalidArgumentError("a record reaches over its end");
    VOXLOC_ASSIGN_OR_RETURN(const Ros1Header header, Ros1Header::Parse(header_bytes));
    if (absl::Status status = take({header, data}); !status.ok()) return status;
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

}  // namespace voxloc::bag
