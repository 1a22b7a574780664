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

TEST(WorkQueueTest, RunsInOrderAndRefusesTooMuch) {
  WorkQueue queue("test", 2, QueueMetrics());
  absl::Notification started;
  absl::Notification go;
  std::vector<int> order;
  absl::Notification done;
  ASSERT_TRUE(queue.Post([&] {
    started.Notify();
    go.WaitForNotification();
    order.push_back(1);
  }));
  started.WaitForNotification();
  EXPECT_TRUE(queue.Post([&] { order.push_back(2); }));
  EXPECT_TRUE(queue.Post([&] {
    order.push_back(3);
    done.Notify();
  }));
  EXPECT_FALSE(queue.Post([] {}));
  go.Notify();
  done.WaitForNotification();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(WorkQueueTest, NewLimitsHoldForWhatComesNext) {
  WorkQueue queue("test", 1, QueueMetrics());
  absl::Notification started;
  absl::Notification go;
  absl::Notification second;
  ASSERT_TRUE(queue.Post([&] {
    started.Notify();
    go.WaitForNotification();
  }));
  started.WaitForNotification();
  ASSERT_TRUE(queue.Post([] {}));
  EXPECT_FALSE(queue.Post([] {}));
  queue.SetLimits(/*capacity=*/2, /*max_threads=*/2);
  // The second thread takes it while the first is busy.
  ASSERT_TRUE(queue.Post([&] { second.Notify(); }));
  EXPECT_TRUE(second.WaitForNotificationWithTimeout(kLongestWait));
  go.Notify();
}

TEST(WorkQueueTest, DropsWhatWaitsWhenItStops) {
  WorkQueue queue("test", size_t{1} << 24, QueueMetrics());
  absl::Notification started;
  absl::Notification go;
  const auto held = std::make_shared<int>(1);
  ASSERT_TRUE(queue.Post([&] {
    started.Notify();
    go.WaitForNotification();
  }));
  started.WaitForNotification();
  ASSERT_TRUE(queue.Post([held] { FAIL(); }));
  std::thread stop([&queue] { queue.Stop(); });
  // Once refused, the queue is stopping, and the second task can no longer run.
  EXPECT_TRUE(Eventually([&queue] { return !queue.Post([] {}); }));
  go.Notify();
  stop.join();
  EXPECT_EQ(held.use_count(), 1);
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
        EXPECT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&all_at_once), kLongestWait));
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
