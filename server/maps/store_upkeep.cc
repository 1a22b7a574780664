// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store_upkeep.h"

#include <chrono>

#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// A crash of the server loses the motion of this period.
constexpr std::chrono::seconds kPosePeriod{5};
// What is known of a tile is gathered over days.
constexpr std::chrono::seconds kFitPeriod{60};
// Contents expire after a day, and revisions when others come: a minute is soon enough for both.
constexpr std::chrono::seconds kCollectionPeriod{60};

}  // namespace

TimeoutWatch::Clock::time_point StoreUpkeep::Poll(TimeoutWatch::Clock::time_point now) {
  // If the queue is full or blocked, the next period retries.
  if (!saving_.exchange(true)) {
    const bool fits = now >= next_fits_;
    if (!mapping_.Post([self = shared_from_this(), fits] { self->Save(fits); })) {
      saving_ = false;
    } else if (fits) {
      next_fits_ = now + kFitPeriod;
    }
  }
  if (now >= next_collection_ && !collecting_.exchange(true)) {
    PostCollection();
    next_collection_ = now + kCollectionPeriod;
  }
  return now + kPosePeriod;
}

void StoreUpkeep::Save(bool fits) {
  const auto LogIfFailed = [](absl::string_view event, const absl::Status& status) {
    if (!status.ok()) Log(LogLevel::kWarn, event, {{"error", status.ToString()}});
  };
  const absl::Status saved = last_poses_.Save(store_);
  LogIfFailed("poses_not_saved", saved);
  if (saved.ok() && store_.shared()) {
    LogIfFailed("poses_not_followed", last_poses_.MergeSaved(store_));
  }
  if (fits) LogIfFailed("tile_fits_not_saved", tile_fits_.Save(store_));
  saving_ = false;
}

void StoreUpkeep::PostCollection() {
  const bool posted = mapping_.Post([self = shared_from_this()] {
    if (self->Collect()) {
      self->PostCollection();
    } else {
      self->collecting_ = false;
    }
  });
  if (!posted) collecting_ = false;
}

bool StoreUpkeep::Collect() {
  const auto collected = store_.Collect();
  if (!collected.ok()) {
    Log(LogLevel::kWarn, "store_not_collected", {{"error", collected.status().ToString()}});
    return false;
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
  return collected->more;
}

}  // namespace voxloc::server
