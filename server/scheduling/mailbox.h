// SPDX-License-Identifier: Apache-2.0
//
// Mailbox: what waits of one session. It holds a few items, and when it is full a new one takes the
// place of the oldest: the newest wins. Not thread-safe.

#ifndef VOXLOC_SERVER_SCHEDULING_MAILBOX_H_
#define VOXLOC_SERVER_SCHEDULING_MAILBOX_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

namespace voxloc::server {

template <typename Item>
class Mailbox {
 public:
  explicit Mailbox(size_t capacity) : capacity_(capacity == 0 ? 1 : capacity) {}

  // Returns the item that had to give way, if any.
  [[nodiscard]] std::optional<Item> Put(Item item) {
    std::optional<Item> displaced;
    if (items_.size() == capacity_) displaced = Take();
    items_.push_back(std::move(item));
    return displaced;
  }

  // The oldest item. Must not be empty.
  [[nodiscard]] Item Take() {
    Item item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

  // Must not be empty.
  [[nodiscard]] const Item& oldest() const { return items_.front(); }

  [[nodiscard]] bool full() const { return items_.size() == capacity_; }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] size_t size() const { return items_.size(); }

 private:
  const size_t capacity_;
  std::deque<Item> items_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_MAILBOX_H_
