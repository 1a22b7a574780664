// SPDX-License-Identifier: Apache-2.0
//
// BlockMap: a value for each of many blocks, immutable, and its successors: a successor shares all
// pages of 8 x 8 x 8 blocks but those with a change. What is copied for a successor is one pointer
// a page, and what a page holds where something in it changed.
//
// Any number of threads may read it. A failed allocation leaves everything as it was.

#ifndef VOXLOC_CORE_MAP_BLOCK_MAP_H_
#define VOXLOC_CORE_MAP_BLOCK_MAP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/map/block_index.h"
#include "core/map/lattice.h"
#include "core/map/place_set.h"

namespace voxloc {

template <typename Value>
class BlockMap {
 public:
  // What becomes of a block: its value, or none.
  struct Change {
    CellKey block;
    std::optional<Value> value;
  };

  BlockMap() = default;

  // Null where the block has none. Valid as long as this map and its successors that share it.
  [[nodiscard]] const Value* Find(const CellKey& block) const {
    const uint32_t number = index_.Find(BlockOf(block));
    if (number == BlockIndex::kNone) return nullptr;
    const Page& page = *pages_[number].page;
    const uint32_t place = PlaceInBlock(block);
    return page.places.Contains(place) ? &page.values[page.places.Rank(place)] : nullptr;
  }

  // This map with these changes; each block at most once, in any order.
  [[nodiscard]] BlockMap With(std::vector<Change> changes) const {
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      const CellKey page_a = BlockOf(a.block);
      const CellKey page_b = BlockOf(b.block);
      return page_a == page_b ? PlaceInBlock(a.block) < PlaceInBlock(b.block) : page_a < page_b;
    });
    BlockMap next;
    next.pages_.reserve(pages_.size() + changes.size() / kBlockSize);
    auto old = pages_.begin();
    for (size_t begin = 0; begin < changes.size();) {
      const CellKey key = BlockOf(changes[begin].block);
      size_t end = begin + 1;
      while (end < changes.size() && BlockOf(changes[end].block) == key) ++end;
      const auto upto =
          std::lower_bound(old, pages_.end(), key,
                           [](const Entry& entry, const CellKey& k) { return entry.key < k; });
      next.pages_.insert(next.pages_.end(), old, upto);
      old = upto;
      const Page* before = nullptr;
      if (old != pages_.end() && old->key == key) before = (old++)->page.get();
      auto page = Changed(before, &changes[begin], &changes[begin] + (end - begin));
      if (!page->values.empty()) next.pages_.push_back({key, std::move(page)});
      begin = end;
    }
    next.pages_.insert(next.pages_.end(), old, pages_.end());
    next.IndexPages();
    return next;
  }

  // Calls visit(block, value) for each block, page by page, of the pages for which wanted(first,
  // last), a box of blocks, is true.
  template <typename Wanted, typename Visit>
  void ForEachIn(const Wanted& wanted, const Visit& visit) const {
    for (const Entry& entry : pages_) {
      if (!wanted(CellAt(entry.key, 0), CellAt(entry.key, kBlockCells - 1))) continue;
      size_t i = 0;
      entry.page->places.ForEach(
          [&](uint32_t place) { visit(CellAt(entry.key, place), entry.page->values[i++]); });
    }
  }
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    ForEachIn([](const CellKey&, const CellKey&) { return true; }, visit);
  }

  [[nodiscard]] bool empty() const { return pages_.empty(); }
  // Without what the values hold elsewhere.
  [[nodiscard]] size_t MemoryBytes() const {
    size_t bytes = pages_.capacity() * sizeof(Entry) + index_.MemoryBytes();
    for (const Entry& entry : pages_) {
      bytes += sizeof(Page) + entry.page->values.capacity() * sizeof(Value);
    }
    return bytes;
  }

 private:
  // Keys of pages are to blocks what those of blocks are to cells.
  struct Page {
    PlaceSet places;
    std::vector<Value> values;  // ascending by place
  };
  struct Entry {
    CellKey key;
    std::shared_ptr<const Page> page;
  };

  // `before` may be null; changes are ascending by place.
  static std::shared_ptr<const Page> Changed(const Page* before, Change* begin, Change* end) {
    auto page = std::make_shared<Page>();
    page->values.reserve((before == nullptr ? 0 : before->values.size()) +
                         static_cast<size_t>(end - begin));
    const auto change_to = [&](Change& change) {
      if (!change.value.has_value()) return;
      page->places.Insert(PlaceInBlock(change.block));
      page->values.push_back(*std::move(change.value));
    };
    if (before != nullptr) {
      size_t i = 0;
      before->places.ForEach([&](uint32_t place) {
        const Value& value = before->values[i++];
        while (begin != end && PlaceInBlock(begin->block) < place) change_to(*begin++);
        if (begin != end && PlaceInBlock(begin->block) == place) {
          change_to(*begin++);
          return;
        }
        page->places.Insert(place);
        page->values.push_back(value);
      });
    }
    while (begin != end) change_to(*begin++);
    page->places.Count();
    page->values.shrink_to_fit();
    return page;
  }

  void IndexPages() {
    if (pages_.empty()) return;
    CellKey first = pages_.front().key;
    CellKey last = first;
    for (const Entry& entry : pages_) {
      const CellKey& key = entry.key;
      first = {std::min(first.x, key.x), std::min(first.y, key.y), std::min(first.z, key.z)};
      last = {std::max(last.x, key.x), std::max(last.y, key.y), std::max(last.z, key.z)};
    }
    index_ = BlockIndex(first, last);
    for (const Entry& entry : pages_) index_.FindOrAdd(entry.key);
  }

  std::vector<Entry> pages_;  // ascending by key
  BlockIndex index_;          // of pages_, by key
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_BLOCK_MAP_H_
