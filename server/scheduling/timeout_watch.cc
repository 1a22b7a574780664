// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/timeout_watch.h"

#include "absl/time/time.h"
#include "core/parallel/this_thread.h"

namespace voxloc::server {

TimeoutWatch::TimeoutWatch(const std::string& thread_name)
    : thread_([this, thread_name] {
        SetThreadName(thread_name);
        Run();
      }) {}

void TimeoutWatch::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    changed_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

std::unique_ptr<TimeoutWatch::Entry> TimeoutWatch::Add(std::weak_ptr<Watched> watched,
                                                       Clock::time_point first) {
  const absl::MutexLock lock(&mutex_);
  const uint64_t number = ++last_number_;
  entries_[number].watched = std::move(watched);
  Schedule(number, first);
  return std::make_unique<Entry>(*this, number);
}

void TimeoutWatch::Schedule(uint64_t number, Clock::time_point due) {
  entries_.at(number).due = due;
  if (due == kNever) return;
  due_.insert({due, number});
  changed_ = changed_ || due_.begin()->second == number;
}

void TimeoutWatch::Remove(uint64_t number) {
  const absl::MutexLock lock(&mutex_);
  const auto entry = entries_.find(number);
  due_.erase({entry->second.due, number});
  entries_.erase(entry);
}

void TimeoutWatch::Run() {
  while (true) {
    uint64_t number = 0;
    Clock::time_point now;
    std::shared_ptr<Watched> watched;
    {
      const absl::MutexLock lock(&mutex_);
      if (stopping_) return;
      now = Clock::now();
      const bool ready = !due_.empty() && due_.begin()->first <= now;
      if (!ready) {
        changed_ = false;
        const absl::Duration wait =
            due_.empty() ? absl::InfiniteDuration() : absl::FromChrono(due_.begin()->first - now);
        static_cast<void>(mutex_.AwaitWithTimeout(absl::Condition(&changed_), wait));
        continue;
      }
      number = due_.begin()->second;
      due_.erase(due_.begin());
      State& state = entries_.at(number);
      state.due = kNever;
      watched = state.watched.lock();
    }
    if (watched == nullptr) continue;
    const Clock::time_point next = watched->Poll(now);
    watched.reset();  // it may take its entry with it
    const absl::MutexLock lock(&mutex_);
    if (entries_.count(number) != 0) Schedule(number, next);
  }
}

}  // namespace voxloc::server
