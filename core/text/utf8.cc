// SPDX-License-Identifier: Apache-2.0

#include "core/text/utf8.h"

#include <cstdint>

namespace voxloc {
namespace {

struct Form {
  uint8_t mask;       // of the first byte
  uint8_t first;      // what the masked first byte is
  size_t size;        // bytes
  uint32_t smallest;  // the code point below which a shorter form is right
};

constexpr Form kForms[] = {
    {0x80, 0x00, 1, 0x0}, {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}};

// Bytes of the character that the text begins with; 0: the bytes are no character.
size_t CharacterSize(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  for (const Form& form : kForms) {
    if ((byte(0) & form.mask) != form.first) continue;
    if (text.size() < form.size) return 0;
    uint32_t code_point = byte(0) & static_cast<uint8_t>(~form.mask);
    for (size_t i = 1; i < form.size; ++i) {
      if ((byte(i) & 0xC0U) != 0x80U) return 0;
      code_point = (code_point << 6U) | (byte(i) & 0x3FU);
    }
    const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
    return code_point >= form.smallest && code_point <= 0x10FFFF && !surrogate ? form.size : 0;
  }
  return 0;
}

}  // namespace

size_t Utf8PrefixLength(absl::string_view text) {
  size_t valid = 0;
  while (valid < text.size()) {
    const size_t size = CharacterSize(text.substr(valid));
    if (size == 0) break;
    valid += size;
  }
  return valid;
}

}  // namespace voxloc
