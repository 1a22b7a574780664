// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/timeout_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;

using Clock = TimeoutWatch::Clock;

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
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&enough), kLongestWait));
    return names_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::string> names_ ABSL_GUARDED_BY(mutex_);
};

// Asks to be asked again `again` times.
class WatchedThing : public TimeoutWatch::Watched {
 public:
  WatchedThing(WatchRecord& record, std::string name, int again)
      : record_(record), name_(std::move(name)), again_(again) {}

  Clock::time_point CheckTime(Clock::time_point now) override {
    EXPECT_LE(due_, now);
    record_.Add(name_);
    if (again_-- == 0) return TimeoutWatch::kNever;
    due_ = now + std::chrono::milliseconds(5);
    return due_;
  }

  std::unique_ptr<TimeoutWatch::Entry> entry;

 private:
  WatchRecord& record_;
  const std::string name_;
  int again_;
  Clock::time_point due_;
};

TEST(TimeoutWatchTest, AsksInTheOrderOfTheTimesAndAgain) {
  WatchRecord record;
  TimeoutWatch watch;
  const auto late = std::make_shared<WatchedThing>(record, "late", 0);
  const auto soon = std::make_shared<WatchedThing>(record, "soon", 2);
  const auto never = std::make_shared<WatchedThing>(record, "never", 0);
  const Clock::time_point now = Clock::now();
  never->entry = watch.Add(never, TimeoutWatch::kNever);
  // Behind an hour: whoever comes first is asked first, though it was added last.
  const auto hour = std::make_shared<WatchedThing>(record, "hour", 0);
  hour->entry = watch.Add(hour, now + std::chrono::hours(1));
  late->entry = watch.Add(late, now + std::chrono::milliseconds(200));
  soon->entry = watch.Add(soon, now);
  EXPECT_THAT(record.Await(4), ElementsAre("soon", "soon", "soon", "late"));
}

TEST(TimeoutWatchTest, AsksNobodyWhoIsGone) {
  WatchRecord record;
  TimeoutWatch watch;
  auto gone = std::make_shared<WatchedThing>(record, "gone", 0);
  auto removed = std::make_shared<WatchedThing>(record, "removed", 0);
  const auto last = std::make_shared<WatchedThing>(record, "last", 0);
  const Clock::time_point due = Clock::now() + std::chrono::milliseconds(50);
  const auto entry = watch.Add(gone, due);  // outlives it
  removed->entry = watch.Add(removed, due);
  last->entry = watch.Add(last, due + std::chrono::milliseconds(1));
  gone.reset();
  removed->entry.reset();
  EXPECT_THAT(record.Await(1), ElementsAre("last"));
}

}  // namespace
}  // namespace voxloc::server
