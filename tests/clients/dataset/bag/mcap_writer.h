// SPDX-License-Identifier: Apache-2.0
//
// Writes MCAP by its specification, with what recorders seldom do: chunks that overlap in time,
// messages outside of chunks, lz4, no summary.

#ifndef VOXLOC_TESTS_CLIENTS_DATASET_BAG_MCAP_WRITER_H_
#define VOXLOC_TESTS_CLIENTS_DATASET_BAG_MCAP_WRITER_H_

#include <lz4frame.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace voxloc::bag {

template <typename T>
std::string LittleEndian(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

inline std::string McapText(absl::string_view text) {
  return absl::StrCat(LittleEndian(static_cast<uint32_t>(text.size())), text);
}

inline std::string McapRecordBytes(uint8_t kind, const std::string& content) {
  return absl::StrCat(LittleEndian(kind), LittleEndian(uint64_t{content.size()}), content);
}

inline std::string McapSchemaBytes(uint16_t id, absl::string_view name) {
  return McapRecordBytes(
      0x03, absl::StrCat(LittleEndian(id), McapText(name), McapText("ros2msg"), McapText("")));
}

inline std::string McapChannelBytes(uint16_t id, uint16_t schema, absl::string_view topic) {
  return McapRecordBytes(0x04, absl::StrCat(LittleEndian(id), LittleEndian(schema), McapText(topic),
                                            McapText("cdr"), LittleEndian(uint32_t{0})));
}

inline std::string McapMessageBytes(uint16_t channel, uint64_t time_ns, absl::string_view data) {
  return McapRecordBytes(0x05, absl::StrCat(LittleEndian(channel), LittleEndian(uint32_t{0}),
                                            LittleEndian(time_ns), LittleEndian(time_ns), data));
}

inline std::string Lz4Frame(absl::string_view bytes) {
  std::string out(LZ4F_compressFrameBound(bytes.size(), nullptr), '\0');
  out.resize(LZ4F_compressFrame(out.data(), out.size(), bytes.data(), bytes.size(), nullptr));
  return out;
}

// `crc` 0: none.
inline std::string McapChunkBytes(uint64_t first_ns, uint64_t last_ns, absl::string_view records,
                                  bool lz4, uint32_t crc = 0) {
  const std::string stored = lz4 ? Lz4Frame(records) : std::string(records);
  return McapRecordBytes(0x06, absl::StrCat(LittleEndian(first_ns), LittleEndian(last_ns),
                                            LittleEndian(uint64_t{records.size()}),
                                            LittleEndian(crc), McapText(lz4 ? "lz4" : ""),
                                            LittleEndian(uint64_t{stored.size()}), stored));
}

inline std::string McapFile(const std::string& data_section) {
  const std::string magic("\x89MCAP0\r\n", 8);
  const std::string header = McapRecordBytes(0x01, absl::StrCat(McapText(""), McapText("test")));
  const std::string end = McapRecordBytes(0x0F, LittleEndian(uint32_t{0}));
  const std::string footer =
      McapRecordBytes(0x02, absl::StrCat(LittleEndian(uint64_t{0}), LittleEndian(uint64_t{0}),
                                         LittleEndian(uint32_t{0})));
  return absl::StrCat(magic, header, data_section, end, footer, magic);
}

}  // namespace voxloc::bag

#endif  // VOXLOC_TESTS_CLIENTS_DATASET_BAG_MCAP_WRITER_H_
