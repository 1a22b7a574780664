// SPDX-License-Identifier: Apache-2.0

#include "server/maps/moments/moments_cache.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// Tasks of the writing thread: one runs until nothing waits, and one more can be asked for.
constexpr size_t kMaxTasks = 2;

}  // namespace

MomentsCache::MomentsCache(MomentsCacheOptions options, Engine& engine, const Metrics& metrics)
    : options_(std::move(options)),
      engine_(engine),
      metrics_(metrics),
      queue_("moments", {kMaxTasks, 1, /*background=*/true}, metrics.moments_queue) {
  const std::string& path = options_.path;
  const auto log_anew = [&path](absl::string_view reason) {
    Log(LogLevel::kWarn, "moments_made_anew", {{"path", path}, {"reason", reason}});
  };
  bool had_database = false;
  for (const char* const end : {".db", ".db-wal", ".db-shm"}) {
    had_database |= std::remove((path + end).c_str()) == 0;
  }
  if (had_database) log_anew("the database of moments of an earlier version was removed");
  auto opened = MomentsFolder::Open(path, options_.version);
  if (!opened.ok()) {
    Log(LogLevel::kError, "moments_off", {{"path", path}, {"error", opened.status().message()}});
    metrics_.moments_bytes.Set(0.0);
    return;
  }
  folder_ = *std::move(opened);
  if (folder_->outdated() > 0) {
    log_anew(absl::StrCat(folder_->outdated(), " files of another version were removed"));
  }
  metrics_.moments_evicted.Increment(static_cast<double>(folder_->Shrink(options_.max_bytes)));
  metrics_.moments_bytes.Set(static_cast<double>(folder_->bytes()));
  Log(LogLevel::kInfo, "moments_opened", {{"path", path}, {"bytes", folder_->bytes()}});
}

MomentsCache::~MomentsCache() {
  stopping_ = true;
  queue_.Stop();
  stopping_ = false;
  Write();
}

absl::StatusOr<std::shared_ptr<const ResidentTile>> MomentsCache::Import(absl::string_view key,
                                                                         uint64_t points) {
  VOXLOC_ASSIGN_OR_RETURN(const auto bytes, folder_->Read(key));
  if (!bytes.has_value()) return absl::NotFoundError("no moments of this tile");
  auto tile = engine_.ImportTile(*bytes);
  if (tile.ok() && (*tile)->points() != points) {
    return absl::DataLossError(
        absl::StrCat("the moments are of ", (*tile)->points(), " points, the tile has ", points));
  }
  return tile;
}

std::shared_ptr<const ResidentTile> MomentsCache::Find(
    const Sha256Digest& digest, uint64_t points, absl::Span<const CellStatistics> statistics) {
  const std::string key = MomentsKey(digest, statistics);
  auto tile = folder_ == nullptr ? absl::NotFoundError("the cache is off") : Import(key, points);
  if (tile.ok()) {
    metrics_.moments_hits.Increment();
    return *std::move(tile);
  }
  metrics_.moments_misses.Increment();
  if (!absl::IsNotFound(tile.status()) && !absl::IsResourceExhausted(tile.status())) {
    Log(LogLevel::kWarn, "moments_damaged",
        {{"sha256", ToHex(digest)}, {"error", tile.status().message()}});
    metrics_.moments_damaged.Increment();
    folder_->Remove(key);
  }
  return nullptr;
}

void MomentsCache::Put(const Sha256Digest& digest, absl::Span<const CellStatistics> statistics,
                       std::shared_ptr<const ResidentTile> tile) {
  if (folder_ == nullptr) return;
  const size_t bytes = tile->MemoryBytes();
  PendingWrite waiting{MomentsKey(digest, statistics), std::move(tile)};
  const absl::MutexLock lock(&mutex_);
  const bool room = pending_.empty() || pending_bytes_ + bytes <= options_.max_waiting_bytes;
  if (!room || bytes > options_.max_bytes) {
    metrics_.moments_not_kept.Increment();
    return;
  }
  pending_bytes_ += bytes;
  pending_.push_back(std::move(waiting));
  // A queue that has been stopped leaves it to the destructor.
  if (!writing_now_) writing_now_ = queue_.Post([this] { Write(); });
}

std::optional<MomentsCache::PendingWrite> MomentsCache::PopPending() {
  const absl::MutexLock lock(&mutex_);
  writing_now_ = !pending_.empty() && !stopping_;
  if (!writing_now_) return std::nullopt;
  PendingWrite waiting = std::move(pending_.front());
  pending_.pop_front();
  pending_bytes_ -= waiting.tile->MemoryBytes();
  return waiting;
}

void MomentsCache::Write() {
  while (const auto waiting = PopPending()) {
    const absl::Status status = WriteTile(*waiting);
    if (!status.ok()) metrics_.moments_not_kept.Increment();
    if (!status.ok() && last_write_.ok()) {
      Log(LogLevel::kWarn, "moments_not_written",
          {{"path", options_.path}, {"error", status.message()}});
    }
    last_write_ = status;
    metrics_.moments_bytes.Set(static_cast<double>(folder_->bytes()));
  }
}

absl::Status MomentsCache::WriteTile(const PendingWrite& waiting) {
  VOXLOC_ASSIGN_OR_RETURN(const auto bytes, engine_.ExportTile(*waiting.tile));
  absl::Status status = folder_->Write(waiting.key, bytes);
  if (status.ok()) {
    metrics_.moments_evicted.Increment(static_cast<double>(folder_->Shrink(options_.max_bytes)));
  }
  return status;
}

}  // namespace voxloc::server
