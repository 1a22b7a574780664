// SPDX-License-Identifier: Apache-2.0
//
// FlatTable: a hash table of small keys and values in one array, for code in which an allocation
// may fail. Abseil's tables (20220623) are corrupted by std::bad_alloc: they store the new capacity
// before they allocate, and their destructor then frees memory that they do not own. Here a failed
// insertion leaves the table unchanged. Clear is O(1) and keeps the memory.
//
// Not thread-safe for writing; any number of threads may read.

#ifndef VOXLOC_CORE_CONTAINER_FLAT_TABLE_H_
#define VOXLOC_CORE_CONTAINER_FLAT_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"

namespace voxloc {

template <typename Key, typename Value>
class FlatTable {
 public:
  // Null where the key is not there. Valid until the next insertion.
  [[nodiscard]] const Value* Find(const Key& key) const {
    if (size_ == 0) return nullptr;
    const Slot& slot = slots_[FindSlot(slots_, key)];
    return slot.generation == generation_ ? &slot.value : nullptr;
  }
  [[nodiscard]] Value* Find(const Key& key) {
    return const_cast<Value*>(std::as_const(*this).Find(key));
  }

  // The key must not be there.
  void Insert(const Key& key, const Value& value) {
    if (2 * (size_ + 1) > slots_.size()) Grow();
    slots_[FindSlot(slots_, key)] = {key, generation_, value};
    ++size_;
  }

  void Clear() {
    size_ = 0;
    if (++generation_ > 0) return;
    // The counter has wrapped: slots of old generations would look occupied.
    std::fill(slots_.begin(), slots_.end(), Slot{});
    generation_ = 1;
  }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t MemoryBytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  // Occupied if its generation is the table's: a new generation frees all slots at once.
  struct Slot {
    Key key{};
    uint32_t generation = 0;
    Value value{};
  };

  // The key's slot, or the free one where it belongs. Linear probing; at most half of the slots, a
  // power of two, are taken.
  size_t FindSlot(const std::vector<Slot>& slots, const Key& key) const {
    const size_t mask = slots.size() - 1;
    size_t place = absl::Hash<Key>()(key) & mask;
    while (slots[place].generation == generation_ && !(slots[place].key == key))
      place = (place + 1) & mask;
    return place;
  }

  void Grow() {
    constexpr size_t kMinSlots = 64;
    std::vector<Slot> larger(std::max(kMinSlots, 2 * slots_.size()));
    for (const Slot& slot : slots_) {
      if (slot.generation == generation_) larger[FindSlot(larger, slot.key)] = slot;
    }
    slots_.swap(larger);
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
  uint32_t generation_ = 1;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_CONTAINER_FLAT_TABLE_H_
