// SPDX-License-Identifier: Apache-2.0
//
// What was received of one topic and is not taken yet, the newest kMostKept. Thread-safe.

#ifndef VOXLOC_TESTS_ROS_WIRE_INBOX_H_
#define VOXLOC_TESTS_ROS_WIRE_INBOX_H_

#include <cstddef>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace voxloc::ros_wire {

template <typename Value>
class Inbox {
 public:
  static constexpr size_t kMostKept = 100'000;

  void Put(Value value) {
    const absl::MutexLock lock(&mutex_);
    ++received_;
    values_.push_back(std::move(value));
    if (values_.size() > kMostKept) values_.pop_front();
  }

  std::vector<Value> Take() {
    const absl::MutexLock lock(&mutex_);
    std::vector<Value> taken(std::make_move_iterator(values_.begin()),
                             std::make_move_iterator(values_.end()));
    values_.clear();
    return taken;
  }

  [[nodiscard]] size_t received() const {
    const absl::MutexLock lock(&mutex_);
    return received_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::deque<Value> values_ ABSL_GUARDED_BY(mutex_);
  size_t received_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_INBOX_H_
