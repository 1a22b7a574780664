// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/work_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

// A task that keeps a queue's thread busy from its beginning to Release.
class HeldTask {
 public:
  explicit HeldTask(WorkQueue& queue) {
    EXPECT_TRUE(queue.Post([this, go = go_] {
      started_.Notify();
      go->WaitForNotification();
    }));
    started_.WaitForNotification();
  }
  void Release() { go_->Notify(); }

 private:
  absl::Notification started_;
  const std::shared_ptr<absl::Notification> go_ = std::make_shared<absl::Notification>();
};

TEST(WorkQueueTest, RunsInOrderAndRefusesTooMuch) {
  WorkQueue queue("test", 2, QueueMetrics());
  std::vector<int> order;
  absl::Notification done;
  HeldTask held(queue);
  EXPECT_TRUE(queue.Post([&] { order.push_back(1); }));
  EXPECT_TRUE(queue.Post([&] {
    order.push_back(2);
    done.Notify();
  }));
  EXPECT_FALSE(queue.Post([] {}));
  held.Release();
  done.WaitForNotification();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(WorkQueueTest, NewLimitsHoldForWhatComesNext) {
  absl::Notification second;
  WorkQueue queue("test", 1, QueueMetrics());
  HeldTask held(queue);
  ASSERT_TRUE(queue.Post([] {}));
  EXPECT_FALSE(queue.Post([] {}));
  queue.SetLimits(/*capacity=*/2, /*max_threads=*/2);
  // The second thread takes it while the first is busy.
  ASSERT_TRUE(queue.Post([&] { second.Notify(); }));
  EXPECT_TRUE(second.WaitForNotificationWithTimeout(kTestTimeout));
  held.Release();
}

TEST(WorkQueueTest, DropsWhatWaitsWhenItStops) {
  WorkQueue queue("test", size_t{1} << 24, QueueMetrics());
  HeldTask held(queue);
  const auto kept = std::make_shared<int>(1);
  ASSERT_TRUE(queue.Post([kept] { FAIL(); }));
  std::thread stop([&queue] { queue.Stop(); });
  // Once refused, the queue is stopping, and the second task can no longer run.
  EXPECT_TRUE(Eventually([&queue] { return !queue.Post([] {}); }));
  held.Release();
  stop.join();
  EXPECT_EQ(kept.use_count(), 1);
}

TEST(WorkQueueTest, RunsAsManyTasksAtOnceAsItHasThreads) {
  constexpr int kThreads = 3;
  constexpr int kTasks = 9;
  WorkQueue queue("test", WorkQueue::Options{kTasks, kThreads, true}, QueueMetrics());
  absl::Mutex mutex;
  int running = 0;
  int most = 0;
  absl::BlockingCounter ended(kTasks);
  for (int i = 0; i < kTasks; ++i) {
    ASSERT_TRUE(queue.Post([&] {
      {
        const absl::MutexLock lock(&mutex);
        most = std::max(most, ++running);
        const auto all_at_once = [&] { return most == kThreads; };
        EXPECT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&all_at_once), kTestTimeout));
        --running;
      }
      ended.DecrementCount();
    }));
  }
  ended.Wait();
  EXPECT_EQ(most, kThreads);
}

}  // namespace
}  // namespace voxloc::server
