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
constexpr int kMaxBackoffFailures = 10;  // that the time to the next attempt grows with

absl::Status UnreachableError() {
  return absl::UnavailableError(
      "the database of the maps cannot be reached; maps that are served stay as they are, and "
      "nothing can be written");
}

}  // namespace

absl::StatusOr<PostgresPool::Lease> PostgresPool::Acquire() {
  {
    const absl::MutexLock lock(&mutex_);
    const auto available = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return in_use_ < max_connections_;
    };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&available), options_.request_timeout)) {
      return absl::UnavailableError(
          absl::StrCat("all ", max_connections_, " connections to the database are in use"));
    }
    if (!idle_.empty()) {
      Lease lease{std::move(idle_.back()), true};
      idle_.pop_back();
      ++in_use_;
      return lease;
    }
    // After a failure one caller at a time tries to connect; the others fail immediately.
    if (failures_ > 0 && (connecting_ || absl::Now() < next_attempt_)) return UnreachableError();
    connecting_ = true;
    ++in_use_;
  }
  auto database = PostgresDatabase::Connect(options_);
  if (database.ok()) {
    MarkReachable();
    return Lease{*std::move(database), false};
  }
  const absl::MutexLock lock(&mutex_);
  --in_use_;
  connecting_ = false;
  next_attempt_ = absl::Now() + std::min(kLastBackoff, std::ldexp(1.0, failures_) * kFirstBackoff);
  failures_ = std::min(failures_ + 1, kMaxBackoffFailures);
  return UnreachableError();
}

void PostgresPool::Release(std::unique_ptr<PostgresDatabase> database) {
  std::vector<std::unique_ptr<PostgresDatabase>> closed;  // after the lock
  const absl::MutexLock lock(&mutex_);
  --in_use_;
  if (database != nullptr && !database->lost()) {
    idle_.push_back(std::move(database));
  } else {
    closed.swap(idle_);
  }
}

void PostgresPool::MarkReachable() {
  const absl::MutexLock lock(&mutex_);
  failures_ = 0;
  connecting_ = false;
}

}  // namespace voxloc::server
