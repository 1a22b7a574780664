// SPDX-License-Identifier: Apache-2.0

#include "core/checksum/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace voxloc {
namespace {

constexpr uint32_t kReflectedPolynomial = 0x82f63b78;
constexpr size_t kSlices = 8;

using Table = std::array<std::array<uint32_t, 256>, kSlices>;

// table[k][b]: the register after byte b and k zero bytes.
constexpr Table MakeTable() {
  Table table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1U) != 0 ? kReflectedPolynomial : 0U);
    }
    table[0][byte] = crc;
  }
  for (size_t slice = 1; slice < kSlices; ++slice) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = table[slice - 1][byte];
      table[slice][byte] = (before >> 8) ^ table[0][before & 0xffU];
    }
  }
  return table;
}

constexpr Table kTable = MakeTable();

uint32_t LittleEndian32(const unsigned char* bytes) {
  return static_cast<uint32_t>(bytes[0]) | (static_cast<uint32_t>(bytes[1]) << 8) |
         (static_cast<uint32_t>(bytes[2]) << 16) | (static_cast<uint32_t>(bytes[3]) << 24);
}

const unsigned char* BytesOf(absl::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

#if defined(__x86_64__)
// The instruction computes this very polynomial, eight bytes at a time.
__attribute__((target("sse4.2"))) uint32_t ExtendByInstruction(uint32_t crc,
                                                               absl::string_view bytes) {
  const unsigned char* next = BytesOf(bytes);
  size_t left = bytes.size();
  uint64_t wide = ~crc;
  for (; left >= sizeof(wide); left -= sizeof(wide), next += sizeof(wide)) {
    uint64_t eight = 0;
    std::memcpy(&eight, next, sizeof(eight));
    wide = __builtin_ia32_crc32di(wide, eight);
  }
  auto state = static_cast<uint32_t>(wide);
  for (; left > 0; --left, ++next) state = __builtin_ia32_crc32qi(state, *next);
  return ~state;
}
#endif

}  // namespace

uint32_t ExtendCrc32cByTable(uint32_t crc, absl::string_view bytes) {
  const unsigned char* next = BytesOf(bytes);
  size_t left = bytes.size();
  uint32_t state = ~crc;
  for (; left >= kSlices; left -= kSlices, next += kSlices) {
    const uint32_t low = state ^ LittleEndian32(next);
    const uint32_t high = LittleEndian32(next + 4);
    state = kTable[7][low & 0xffU] ^ kTable[6][(low >> 8) & 0xffU] ^
            kTable[5][(low >> 16) & 0xffU] ^ kTable[4][low >> 24] ^ kTable[3][high & 0xffU] ^
            kTable[2][(high >> 8) & 0xffU] ^ kTable[1][(high >> 16) & 0xffU] ^
            kTable[0][high >> 24];
  }
  for (; left > 0; --left, ++next) state = (state >> 8) ^ kTable[0][(state ^ *next) & 0xffU];
  return ~state;
}

uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes) {
#if defined(__x86_64__)
  static const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0;
  if (kHasInstruction) return ExtendByInstruction(crc, bytes);
#endif
  return ExtendCrc32cByTable(crc, bytes);
}

}  // namespace voxloc
