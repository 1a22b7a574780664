// SPDX-License-Identifier: Apache-2.0
//
// Gate: blocks the batches of an engine until a test opens it, and records their sizes. A gate that
// stays closed, and missing batches, fail the test after kTestTimeout. Thread-safe.

#ifndef VOXLOC_TESTS_SUPPORT_GATE_H_
#define VOXLOC_TESTS_SUPPORT_GATE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tests/support/eventually.h"

namespace voxloc {

class Gate {
 public:
  void Close() {
    const absl::MutexLock lock(&mutex_);
    open_ = false;
  }
  void Open() {
    const absl::MutexLock lock(&mutex_);
    open_ = true;
  }
  // Waits until `count` batches have arrived in total.
  void AwaitBatches(size_t count) {
    const absl::MutexLock lock(&mutex_);
    const auto arrived = [this, count]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return batches_.size() >= count;
    };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&arrived), kTestTimeout))
        << batches_.size() << " of " << count << " batches have come";
  }
  // Sizes of the batches that have come, in their order.
  [[nodiscard]] std::vector<size_t> batches() const {
    const absl::MutexLock lock(&mutex_);
    return batches_;
  }

  void Pass(size_t batch_size) {
    const absl::MutexLock lock(&mutex_);
    batches_.push_back(batch_size);
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&open_), kTestTimeout)) << "still closed";
  }

 private:
  mutable absl::Mutex mutex_;
  bool open_ ABSL_GUARDED_BY(mutex_) = true;
  std::vector<size_t> batches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_GATE_H_
