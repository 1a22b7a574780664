// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store_upkeep.h"

#include <chrono>

#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// Contents expire after a day, and revisions when others come: a minute is soon enough for both.
constexpr std::chrono::seconds kPeriod{60};

}  // namespace

TimeoutWatch::Clock::time_point StoreUpkeep::CheckTime(TimeoutWatch::Clock::time_point now) {
  PostWork();
  return now + kPeriod;
}

void StoreUpkeep::PostWork() {
  // A full queue has its chance again in the next period.
  static_cast<void>(mapping_.Post([self = shared_from_this()] { self->Work(); }));
}

void StoreUpkeep::Work() {
  const auto collected = store_.Collect();
  if (!collected.ok()) {
    Log(LogLevel::kWarn, "store_not_collected", {{"error", collected.status().ToString()}});
    return;
  }
  if (collected->revisions > 0 || collected->contents > 0) {
    Log(LogLevel::kInfo, "store_collected",
        {{"revisions", collected->revisions},
         {"contents", collected->contents},
         {"bytes", collected->bytes}});
  }
  if (const auto usage = store_.Usage(); usage.ok()) {
    metrics_.store_bytes.Set(static_cast<double>(usage->bytes));
    metrics_.store_content_bytes.Set(static_cast<double>(usage->content_bytes));
    metrics_.store_unreferenced_bytes.Set(static_cast<double>(usage->unreferenced_bytes));
  }
  if (collected->more) PostWork();
}

}  // namespace voxloc::server
