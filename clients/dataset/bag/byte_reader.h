// SPDX-License-Identifier: Apache-2.0
//
// ByteReader: reads numbers and strings from untrusted bytes.
//
// After a read past the end, ok() is false and every further read returns zeros and empty strings:
// a decoder reads all fields and then checks ok() once. Never reads outside of the bytes. Not
// thread-safe; the bytes must outlive it.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_BYTE_READER_H_
#define VOXLOC_CLIENTS_DATASET_BAG_BYTE_READER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace voxloc::bag {

class ByteReader {
 public:
  struct Rules {
    bool big_endian = false;
    // Numbers of n bytes are aligned to min(n, max_alignment). 1: no padding.
    size_t max_alignment = 1;
    // The length of a string includes a terminating zero, which is not part of the value.
    bool strings_end_with_zero = false;
  };

  explicit ByteReader(absl::string_view bytes) : ByteReader(bytes, Rules()) {}
  ByteReader(absl::string_view bytes, const Rules& rules) : bytes_(bytes), rules_(rules) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] size_t position() const { return position_; }
  [[nodiscard]] size_t remaining() const { return bytes_.size() - position_; }
  [[nodiscard]] bool big_endian() const { return rules_.big_endian; }

  template <typename T>
  T Read() {
    Align(sizeof(T));
    char raw[sizeof(T)] = {};
    const absl::string_view bytes = Bytes(sizeof(T));
    if (ok_) std::memcpy(raw, bytes.data(), sizeof(T));
    // The processors that voxloc runs on are little-endian.
    if (rules_.big_endian) std::reverse(raw, raw + sizeof(T));
    T value;
    std::memcpy(&value, raw, sizeof(T));
    return value;
  }

  // A part of the bytes; empty after a failure.
  absl::string_view Bytes(uint64_t count) {
    if (!ok_ || count > remaining()) {
      ok_ = false;
      return {};
    }
    const absl::string_view part = bytes_.substr(position_, static_cast<size_t>(count));
    position_ += part.size();
    return part;
  }

  // As many bytes as a preceding uint32 says.
  absl::string_view Block() { return Bytes(Read<uint32_t>()); }

  absl::string_view String() {
    absl::string_view text = Block();
    if (rules_.strings_end_with_zero && !text.empty() && text.back() == '\0') text.remove_suffix(1);
    return text;
  }

 private:
  void Align(size_t size) {
    const size_t alignment = std::min(size, rules_.max_alignment);
    const size_t over = position_ % alignment;
    if (over != 0) Bytes(alignment - over);
  }

  absl::string_view bytes_;
  Rules rules_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_BYTE_READER_H_
