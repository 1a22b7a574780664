// SPDX-License-Identifier: Apache-2.0
//
// BlockMap: an immutable map from blocks to values with cheap modified copies (With): a copy shares
// all unchanged pages of 8 x 8 x 8 blocks. Making one copies a pointer for each page, and the
// contents of the pages that changed.
//
// Any number of threads may read it. A failed allocation has no effect.

#ifndef VOXLOC_CORE_MAP_BLOCK_MAP_H_
#define VOXLOC_CORE_MAP_BLOCK_MAP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/container/flat_table.h"
#include "core/map/lattice.h"

namespace voxloc {

// BlockIndex: numbers the blocks of a region in the order in which they are added, and finds
// their numbers again. Regions of up to four million blocks use a table, larger ones a hash.
// Finding is thread-safe, adding is not.
class BlockIndex {
 public:
  static constexpr uint32_t kNone = 0xffffffffU;

  BlockIndex() = default;
  // For blocks between `first` and `last`, both included, on every axis.
  BlockIndex(const CellKey& first, const CellKey& last);

  // The block's number, a new one where it has none. It must lie within the region.
  uint32_t FindOrAdd(const CellKey& block) {
    if (table_.empty()) return FindOrAddInHash(block);
    uint32_t& number = table_[TableIndex(block)];
    if (number == kNone) number = Add(block);
    return number;
  }

  // The block's number, or kNone, also for blocks outside the region.
  [[nodiscard]] uint32_t Find(const CellKey& block) const {
    if (table_.empty()) return FindInHash(block);
    if (block.x < first_.x || block.x > last_.x || block.y < first_.y || block.y > last_.y ||
        block.z < first_.z || block.z > last_.z) {
      return kNone;
    }
    return table_[TableIndex(block)];
  }

  // The blocks by number.
  [[nodiscard]] const std::vector<CellKey>& blocks() const { return blocks_; }
  [[nodiscard]] size_t MemoryBytes() const;

 private:
  [[nodiscard]] size_t TableIndex(const CellKey& block) const {
    return static_cast<size_t>((block.x - first_.x) +
                               size_x_ * ((block.y - first_.y) + size_y_ * (block.z - first_.z)));
  }
  uint32_t Add(const CellKey& block) {
    blocks_.push_back(block);
    return static_cast<uint32_t>(blocks_.size() - 1);
  }
  uint32_t FindOrAddInHash(const CellKey& block);
  [[nodiscard]] uint32_t FindInHash(const CellKey& block) const;

  CellKey first_;
  CellKey last_;
  int64_t size_x_ = 0;
  int64_t size_y_ = 0;
  std::vector<uint32_t> table_;
  FlatTable<CellKey, uint32_t> hash_;
  std::vector<CellKey> blocks_;
};

template <typename Value>
class BlockMap {
 public:
  // The new value of a block; nullopt: it is removed.
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
    const GroupedChanges grouped = GroupByPage(changes);
    BlockMap next;
    next.pages_.reserve(pages_.size() + grouped.pages.size());
    auto old = pages_.begin();
    for (const ChangedPage& changed : grouped.pages) {
      const auto upto =
          std::lower_bound(old, pages_.end(), changed.key,
                           [](const Entry& entry, const CellKey& k) { return entry.key < k; });
      next.pages_.insert(next.pages_.end(), old, upto);
      old = upto;
      const Page* before = nullptr;
      if (old != pages_.end() && old->key == changed.key) before = (old++)->page.get();
      auto page = ApplyChanges(before, changes, &grouped.order[changed.begin],
                               &grouped.order[changed.begin] + (changed.end - changed.begin));
      if (!page->values.empty()) next.pages_.push_back({changed.key, std::move(page)});
    }
    next.pages_.insert(next.pages_.end(), old, pages_.end());
    next.IndexPages();
    return next;
  }

  // Calls visit(block, value) for each block, page by page, of the pages whose box of blocks
  // satisfies filter(first, last).
  template <typename Filter, typename Visit>
  void ForEachIn(const Filter& filter, const Visit& visit) const {
    for (const Entry& entry : pages_) {
      if (!filter(CellAt(entry.key, 0), CellAt(entry.key, kBlockCells - 1))) continue;
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
  // The key of a page is BlockOf(block), as the key of a block is BlockOf(cell).
  struct Page {
    PlaceSet places;
    std::vector<Value> values;  // ascending by place
  };
  struct Entry {
    CellKey key;
    std::shared_ptr<const Page> page;
  };

  // An empty index whose region is the box around the pages of these items, of which there is one.
  template <typename Item, typename PageOf>
  static BlockIndex MakeIndex(const std::vector<Item>& items, const PageOf& page_of) {
    CellKey first = page_of(items.front());
    CellKey last = first;
    for (const Item& item : items) {
      const CellKey key = page_of(item);
      first = {std::min(first.x, key.x), std::min(first.y, key.y), std::min(first.z, key.z)};
      last = {std::max(last.x, key.x), std::max(last.y, key.y), std::max(last.z, key.z)};
    }
    return BlockIndex(first, last);
  }

  struct ChangedPage {
    CellKey key;
    size_t begin;  // of its changes, in the order
    size_t end;
  };
  struct GroupedChanges {
    std::vector<ChangedPage> pages;  // ascending by key
    std::vector<uint32_t> order;     // of the changes: page by page, ascending by place
  };

  // A counting sort by page; places are sorted only where they do not ascend already. Changes
  // mostly come ascending by block, so that runs of eight belong to one page.
  static GroupedChanges GroupByPage(const std::vector<Change>& changes) {
    GroupedChanges grouped;
    if (changes.empty()) return grouped;
    const auto page_key = [](const Change& change) { return BlockOf(change.block); };
    BlockIndex index = MakeIndex(changes, page_key);
    std::vector<uint32_t> page_of(changes.size());
    std::vector<size_t> place;  // of each page's next change in the order; at first their number
    for (size_t i = 0; i < changes.size(); ++i) {
      page_of[i] = index.FindOrAdd(page_key(changes[i]));
      place.resize(index.blocks().size());
      ++place[page_of[i]];
    }
    std::vector<uint32_t> numbers(place.size());
    std::iota(numbers.begin(), numbers.end(), 0U);
    std::sort(numbers.begin(), numbers.end(),
              [&index](uint32_t a, uint32_t b) { return index.blocks()[a] < index.blocks()[b]; });
    size_t end = 0;
    for (const uint32_t number : numbers) {
      const size_t begin = end;
      end += std::exchange(place[number], begin);
      grouped.pages.push_back({index.blocks()[number], begin, end});
    }
    grouped.order.resize(changes.size());
    for (size_t i = 0; i < changes.size(); ++i) {
      grouped.order[place[page_of[i]]++] = static_cast<uint32_t>(i);
    }
    const auto by_place = [&changes](uint32_t a, uint32_t b) {
      return PlaceInBlock(changes[a].block) < PlaceInBlock(changes[b].block);
    };
    for (const ChangedPage& page : grouped.pages) {
      const auto from = grouped.order.begin() + static_cast<std::ptrdiff_t>(page.begin);
      const auto to = grouped.order.begin() + static_cast<std::ptrdiff_t>(page.end);
      if (!std::is_sorted(from, to, by_place)) std::sort(from, to, by_place);
    }
    return grouped;
  }

  // `before` may be null. The changes from `begin` to `end` of the order, ascending by place.
  static std::shared_ptr<const Page> ApplyChanges(const Page* before, std::vector<Change>& changes,
                                                  const uint32_t* begin, const uint32_t* end) {
    auto page = std::make_shared<Page>();
    page->values.reserve((before == nullptr ? 0 : before->values.size()) +
                         static_cast<size_t>(end - begin));
    const auto place_of = [&changes](uint32_t i) { return PlaceInBlock(changes[i].block); };
    const auto change_to = [&](uint32_t i) {
      Change& change = changes[i];
      if (!change.value.has_value()) return;
      page->places.Insert(PlaceInBlock(change.block));
      page->values.push_back(*std::move(change.value));
    };
    if (before != nullptr) {
      size_t i = 0;
      before->places.ForEach([&](uint32_t place) {
        const Value& value = before->values[i++];
        while (begin != end && place_of(*begin) < place) change_to(*begin++);
        if (begin != end && place_of(*begin) == place) {
          change_to(*begin++);
          return;
        }
        page->places.Insert(place);
        page->values.push_back(value);
      });
    }
    while (begin != end) change_to(*begin++);
    page->places.BuildRanks();
    page->values.shrink_to_fit();
    return page;
  }

  void IndexPages() {
    if (pages_.empty()) return;
    index_ = MakeIndex(pages_, [](const Entry& entry) { return entry.key; });
    for (const Entry& entry : pages_) index_.FindOrAdd(entry.key);
  }

  std::vector<Entry> pages_;  // ascending by key
  BlockIndex index_;          // of pages_, by key
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_BLOCK_MAP_H_
