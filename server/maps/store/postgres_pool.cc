// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/postgres_pool.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace voxloc::server {
namespace {

// A restart of PostgreSQL takes a second or two; attempts on a network that swallows packets take
// the connection timeout each, and the thread that changes maps must not do little else.
constexpr absl::Duration kFirstBackoff = absl::Milliseconds(500);
constexpr absl::Duration kLastBackoff = absl::Seconds(5);
constexpr int kMostFailures = 10;  // that the time to the next attempt grows with

absl::Status CannotBeReached() {
  return absl::UnavailableError(
      "the database of the maps cannot be reached; maps that are served stay as they are, and "
      "nothing can be written");
}

}  // namespace

absl::StatusOr<PostgresPool::Taken> PostgresPool::Take() {
  {
    const absl::MutexLock lock(&mutex_);
    const auto may_take = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return in_use_ < max_connections_;
    };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&may_take), options_.request_timeout)) {
      return absl::UnavailableError(
          absl::StrCat("all ", max_connections_, " connections to the database are in use"));
    }
    if (!idle_.empty()) {
      Taken taken{std::move(idle_.back()), true};
      idle_.pop_back();
      ++in_use_;
      return taken;
    }
    // After a failure one tries at a time, and the others know what to expect.
    if (failures_ > 0 && (trying_ || absl::Now() < next_attempt_)) return CannotBeReached();
    trying_ = true;
    ++in_use_;
  }
  auto database = PostgresDatabase::Connect(options_);
  if (database.ok()) {
    NoteReachable();
    return Taken{*std::move(database), false};
  }
  const absl::MutexLock lock(&mutex_);
  --in_use_;
  trying_ = false;
  next_attempt_ = absl::Now() + std::min(kLastBackoff, std::ldexp(1.0, failures_) * kFirstBackoff);
  failures_ = std::min(failures_ + 1, kMostFailures);
  return CannotBeReached();
}

void PostgresPool::Return(std::unique_ptr<PostgresDatabase> database) {
  std::vector<std::unique_ptr<PostgresDatabase>> closed;  // after the lock
  const absl::MutexLock lock(&mutex_);
  --in_use_;
  if (database != nullptr && !database->lost()) {
    idle_.push_back(std::move(database));
  } else {
    closed.swap(idle_);
  }
}

void PostgresPool::NoteReachable() {
  const absl::MutexLock lock(&mutex_);
  failures_ = 0;
  trying_ = false;
}

}  // namespace voxloc::server
