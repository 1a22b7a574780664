// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/timeout_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;

using Clock = TimeoutWatch::Clock;
using Times = std::vector<Clock::time_point>;

class WatchRecord {
 public:
  void Add(const std::string& name) {
    const absl::MutexLock lock(&mutex_);
    names_.push_back(name);
  }
  std::vector<std::string> Await(size_t count) {
    const absl::MutexLock lock(&mutex_);
    const auto enough = [this, count]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return names_.size() >= count;
    };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&enough), kTestTimeout));
    return names_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::string> names_ ABSL_GUARDED_BY(mutex_);
};

// Asks to be asked at these times, one after the other.
class WatchedThing : public TimeoutWatch::Watched {
 public:
  WatchedThing(WatchRecord& record, std::string name, Times times)
      : record_(record), name_(std::move(name)), times_(std::move(times)) {}

  Clock::time_point Poll(Clock::time_point now) override {
    EXPECT_LE(times_.at(asked_), now);
    record_.Add(name_);
    return ++asked_ < times_.size() ? times_[asked_] : TimeoutWatch::kNever;
  }

  std::unique_ptr<TimeoutWatch::Entry> entry;

 private:
  WatchRecord& record_;
  const std::string name_;
  const Times times_;
  size_t asked_ = 0;
};

// Keeps the watch from asking anybody else: however slow the test's thread is, it can add and
// remove all entries before the first of them is asked.
class HeldWatch : public TimeoutWatch::Watched {
 public:
  Clock::time_point Poll(Clock::time_point) override {
    held_.Notify();
    EXPECT_TRUE(released_.WaitForNotificationWithTimeout(kTestTimeout));
    return TimeoutWatch::kNever;
  }
  void AwaitHeld() { ASSERT_TRUE(held_.WaitForNotificationWithTimeout(kTestTimeout)); }
  void Release() { released_.Notify(); }

 private:
  absl::Notification held_;
  absl::Notification released_;
};

TEST(TimeoutWatchTest, AsksInTheOrderOfTheTimesAndAgain) {
  WatchRecord record;
  TimeoutWatch watch;
  const auto held = std::make_shared<HeldWatch>();
  const auto held_entry = watch.Add(held, Clock::now());
  held->AwaitHeld();
  const Clock::time_point now = Clock::now();
  const auto in_ms = [now](int ms) { return now + std::chrono::milliseconds(ms); };
  const auto late = std::make_shared<WatchedThing>(record, "late", Times{in_ms(60)});
  const auto soon =
      std::make_shared<WatchedThing>(record, "soon", Times{in_ms(20), in_ms(25), in_ms(30)});
  const auto never = std::make_shared<WatchedThing>(record, "never", Times{TimeoutWatch::kNever});
  never->entry = watch.Add(never, TimeoutWatch::kNever);
  // Behind an hour: whoever comes first is asked first, though it was added last.
  const auto hour =
      std::make_shared<WatchedThing>(record, "hour", Times{now + std::chrono::hours(1)});
  hour->entry = watch.Add(hour, now + std::chrono::hours(1));
  late->entry = watch.Add(late, in_ms(60));
  soon->entry = watch.Add(soon, in_ms(20));
  held->Release();
  EXPECT_THAT(record.Await(4), ElementsAre("soon", "soon", "soon", "late"));
}

TEST(TimeoutWatchTest, HoldsNobodyOnceItHasStopped) {
  TimeoutWatch watch;
  auto held = std::make_shared<HeldWatch>();
  const std::weak_ptr<HeldWatch> left = held;
  const auto entry = watch.Add(held, Clock::now());
  held->AwaitHeld();
  held->Release();
  held = nullptr;
  watch.Stop();
  EXPECT_TRUE(left.expired());
}

TEST(TimeoutWatchTest, AsksNobodyWhoIsGone) {
  WatchRecord record;
  TimeoutWatch watch;
  const auto held = std::make_shared<HeldWatch>();
  const auto held_entry = watch.Add(held, Clock::now());
  held->AwaitHeld();
  const Clock::time_point due = Clock::now() + std::chrono::milliseconds(20);
  const Clock::time_point later = due + std::chrono::milliseconds(1);
  auto gone = std::make_shared<WatchedThing>(record, "gone", Times{due});
  auto removed = std::make_shared<WatchedThing>(record, "removed", Times{due});
  const auto last = std::make_shared<WatchedThing>(record, "last", Times{later});
  const auto entry = watch.Add(gone, due);  // outlives it
  removed->entry = watch.Add(removed, due);
  last->entry = watch.Add(last, later);
  gone.reset();
  removed->entry.reset();
  held->Release();
  EXPECT_THAT(record.Await(1), ElementsAre("last"));
}

}  // namespace
}  // namespace voxloc::server
