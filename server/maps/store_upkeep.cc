// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store_upkeep.h"

#include <chrono>

#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// What a vehicle has driven since is what a crash of the server loses.
constexpr std::chrono::seconds kPosePeriod{5};
// What is known of a tile is gathered over days.
constexpr std::chrono::seconds kFitPeriod{60};
// Contents expire after a day, and revisions when others come: a minute is soon enough for both.
constexpr std::chrono::seconds kCollectionPeriod{60};

}  // namespace

TimeoutWatch::Clock::time_point StoreUpkeep::CheckTime(TimeoutWatch::Clock::time_point now) {
  // A full queue has its chance again in the next period.
  static_cast<void>(mapping_.Post([self = shared_from_this()] { self->SavePoses(); }));
  if (now >= next_fits_) {
    static_cast<void>(mapping_.Post([self = shared_from_this()] { self->SaveFits(); }));
    next_fits_ = now + kFitPeriod;
  }
  if (now >= next_collection_) {
    static_cast<void>(mapping_.Post([self = shared_from_this()] { self->Collect(); }));
    next_collection_ = now + kCollectionPeriod;
  }
  return now + kPosePeriod;
}

void StoreUpkeep::SavePoses() {
  if (const absl::Status status = last_poses_.Save(store_); !status.ok()) {
    Log(LogLevel::kWarn, "poses_not_saved", {{"error", status.ToString()}});
    return;
  }
  if (!store_.shared()) return;
  if (const absl::Status status = last_poses_.TakeOthers(store_); !status.ok()) {
    Log(LogLevel::kWarn, "poses_not_followed", {{"error", status.ToString()}});
  }
}

void StoreUpkeep::SaveFits() {
  if (const absl::Status status = tile_fits_.Save(store_); !status.ok()) {
    Log(LogLevel::kWarn, "tile_fits_not_saved", {{"error", status.ToString()}});
  }
}

void StoreUpkeep::Collect() {
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
  if (collected->more) {
    static_cast<void>(mapping_.Post([self = shared_from_this()] { self->Collect(); }));
  }
}

}  // namespace voxloc::server
