// SPDX-License-Identifier: Apache-2.0
//
// Compiled once for each instruction set, like kernels.cc. Each bit of a word is a height: its
// counter is spread over the same bit of several words, and carry-save adders add a point to all 64
// counters of a node in a handful of operations.

#include <cstring>

#include "core/engine/cpu/kernels.h"

#ifndef VOXLOC_KERNEL_NAMESPACE
#error "VOXLOC_KERNEL_NAMESPACE must name the instruction set"
#endif

namespace voxloc::VOXLOC_KERNEL_NAMESPACE {
namespace {

// Four nodes at a time.
constexpr size_t kNodes = 4;
using Words = uint64_t __attribute__((vector_size(8 * kNodes)));
constexpr int kPlanes = 8;  // of the counters
constexpr size_t kGroup = 8;
// The number of entries between two checks whether a node can still have enough hits.
constexpr size_t kCheckInterval = 32;

struct Counters {
  Words plane[kPlanes] = {};
};

inline Words Load(const uint64_t* from) {
  Words v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

// A square's two rows one after the other.
inline Words LoadSquare(const uint64_t* from, size_t next_row) {
  return Words{from[0], from[1], from[next_row], from[next_row + 1]};
}

inline bool AnySet(const Words& v) { return (v[0] | v[1] | v[2] | v[3]) != 0; }

// a + b + sum = 2 carry + sum, in every bit.
inline Words AddCarry(Words& sum, const Words& a, const Words& b) {
  const Words half = sum ^ a;
  const Words carry = (sum & a) | (half & b);
  sum = half ^ b;
  return carry;
}

inline void RippleCarry(Words carry, int plane, Counters& counters) {
  for (; plane < kPlanes; ++plane) {
    const Words next = counters.plane[plane] & carry;
    counters.plane[plane] ^= carry;
    carry = next;
  }
}

// The hits of an entry's point at each height of the nodes, for word `word` of the heights.
template <bool kTall, bool kSquare>
inline Words LoadHits(const cpu::BoundRowArguments& in, const cpu::BoundEntry& entry,
                      const uint64_t* first, int32_t word) {
  const auto load = [&in](const uint64_t* from) {
    return kSquare ? LoadSquare(from, in.next_row) : Load(from);
  };
  const uint64_t* const at = first + entry.offset;
  if constexpr (kTall) {
    Words met = {};
    const int32_t low = word + (entry.up >> 6);
    const int bits = entry.up & 63;
    const auto plane = static_cast<int64_t>(in.plane);
    if (low >= 0 && low < in.words) met = load(at + low * plane) >> bits;
    if (bits > 0 && low + 1 >= 0 && low + 1 < in.words) {
      met |= load(at + (low + 1) * plane) << (64 - bits);
    }
    return met;
  } else {
    // One of the two is 0. A branch would be mispredicted too often to be worth it.
    const int down = entry.up & (entry.up >> 31);
    return load(at) >> (entry.up - down) << -down;
  }
}

// The heights at which a counter is at least `least`.
inline Words AtLeast(const Counters& counters, uint32_t least) {
  Words enough = ~Words{};
  for (int p = 0; p < kPlanes; ++p) {
    enough = (least >> p & 1) != 0 ? enough & counters.plane[p] : enough | counters.plane[p];
  }
  return enough;
}

// False where no node can reach min_hits any more.
template <bool kTall, bool kSquare>
inline bool Count(const cpu::BoundRowArguments& in, const uint64_t* first, int32_t word,
                  Counters& counters) {
  const Words allowed = Words{} + in.allowed_z[word];
  size_t i = 0;
  while (i < in.entry_count) {
    const size_t left_before = in.entry_count - i;
    const size_t stop = i + (left_before < kCheckInterval ? left_before : kCheckInterval);
    for (; i + kGroup <= stop; i += kGroup) {
      const cpu::BoundEntry* const e = in.entries + i;
      Words& ones = counters.plane[0];
      Words& twos = counters.plane[1];
      Words& fours = counters.plane[2];
      const Words twos_a = AddCarry(ones, LoadHits<kTall, kSquare>(in, e[0], first, word),
                                    LoadHits<kTall, kSquare>(in, e[1], first, word));
      const Words twos_b = AddCarry(ones, LoadHits<kTall, kSquare>(in, e[2], first, word),
                                    LoadHits<kTall, kSquare>(in, e[3], first, word));
      const Words fours_a = AddCarry(twos, twos_a, twos_b);
      const Words twos_c = AddCarry(ones, LoadHits<kTall, kSquare>(in, e[4], first, word),
                                    LoadHits<kTall, kSquare>(in, e[5], first, word));
      const Words twos_d = AddCarry(ones, LoadHits<kTall, kSquare>(in, e[6], first, word),
                                    LoadHits<kTall, kSquare>(in, e[7], first, word));
      const Words fours_b = AddCarry(twos, twos_c, twos_d);
      RippleCarry(AddCarry(fours, fours_a, fours_b), 3, counters);
    }
    for (; i < stop; ++i)
      RippleCarry(LoadHits<kTall, kSquare>(in, in.entries[i], first, word), 0, counters);
    const auto left = static_cast<uint32_t>(in.entry_count - i);
    if (in.min_hits > left && !AnySet(AtLeast(counters, in.min_hits - left) & allowed)) {
      return false;
    }
  }
  return true;
}

// The most hits at an allowed height, and the lowest such height; 0 where there is none.
inline uint32_t MaxHits(const Counters& counters, size_t node, uint64_t allowed, uint32_t* height) {
  uint64_t best = allowed;
  uint32_t hits = 0;
  for (int p = kPlanes - 1; p >= 0; --p) {
    const uint64_t higher = best & counters.plane[p][node];
    if (higher == 0) continue;
    best = higher;
    hits |= uint32_t{1} << p;
  }
  *height = best == 0 ? 0 : static_cast<uint32_t>(__builtin_ctzll(best));
  return hits;
}

template <bool kTall, bool kSquare>
bool BoundRowOf(const cpu::BoundRowArguments& in) {
  bool any = false;
  for (size_t node = 0; node < in.nodes; node += kNodes) {
    const size_t nodes = in.nodes - node < kNodes ? in.nodes - node : kNodes;
    uint32_t* const found = in.found + node;
    for (size_t k = 0; k < nodes; ++k) found[k] = 0;
    for (int32_t word = 0; word < in.words; ++word) {
      if (in.allowed_z[word] == 0) continue;
      Counters counters;
      if (!Count<kTall, kSquare>(in, in.first + node, word, counters)) continue;
      for (size_t k = 0; k < nodes; ++k) {
        uint32_t height = 0;
        const uint32_t hits = MaxHits(counters, k, in.allowed_z[word], &height);
        if (hits < in.min_hits || hits <= found[k] >> 16) continue;
        found[k] = hits << 16 | (static_cast<uint32_t>(word) * 64 + height);
        any = true;
      }
    }
  }
  return any;
}

}  // namespace

bool BoundRow(const cpu::BoundRowArguments& in) {
  if (in.next_row > 0) {
    return in.words == 1 ? BoundRowOf<false, true>(in) : BoundRowOf<true, true>(in);
  }
  return in.words == 1 ? BoundRowOf<false, false>(in) : BoundRowOf<true, false>(in);
}

}  // namespace voxloc::VOXLOC_KERNEL_NAMESPACE
