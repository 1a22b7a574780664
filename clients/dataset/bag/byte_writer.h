// SPDX-License-Identifier: Apache-2.0
//
// ByteWriter: the counterpart of ByteReader, little-endian. Memory grows with what is written. Not
// thread-safe.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_BYTE_WRITER_H_
#define VOXLOC_CLIENTS_DATASET_BAG_BYTE_WRITER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "clients/dataset/bag/byte_reader.h"

namespace voxloc::bag {

class ByteWriter {
 public:
  ByteWriter() = default;
  explicit ByteWriter(const ByteReader::Rules& rules) : rules_(rules) {}

  template <typename T>
  void Write(T value) {
    const size_t alignment = std::min(sizeof(T), rules_.max_alignment);
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    // The processors that voxloc runs on are little-endian.
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }

  void Bytes(absl::string_view bytes) { bytes_.append(bytes.data(), bytes.size()); }

  // Its length as a uint32, then the bytes.
  void Block(absl::string_view bytes) {
    Write(static_cast<uint32_t>(bytes.size()));
    Bytes(bytes);
  }

  void String(absl::string_view text) {
    if (!rules_.strings_end_with_zero) return Block(text);
    Write(static_cast<uint32_t>(text.size() + 1));
    Bytes(text);
    bytes_.push_back('\0');
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string Take() { return std::exchange(bytes_, {}); }

 private:
  ByteReader::Rules rules_;
  std::string bytes_;
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_BYTE_WRITER_H_
