// SPDX-License-Identifier: Apache-2.0

#include "server/maps/moments/moments_cache.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// Of a tile in memory; it is a little more than its bytes. SQLite takes 1e9 bytes at most.
constexpr size_t kMaxTileBytes = size_t{900} << 20;
// A time of use is written again when it is an hour old: the order of entries matters over days,
// and restarts in short order write nothing.
constexpr int64_t kFreshUse_s = 3600;
// Tasks of the writing thread: one runs until nothing waits, and one more can be asked for.
constexpr size_t kMaxTasks = 2;
// How often a server makes the file anew: when it starts, and twice more. A disk that has damaged
// the file again by then is not to be written to.
constexpr int kMaxMakings = 3;

}  // namespace

MomentsCache::MomentsCache(MomentsCacheOptions options, Engine& engine, const Metrics& metrics)
    : options_(std::move(options)),
      engine_(engine),
      metrics_(metrics),
      writing_("moments", {kMaxTasks, 1, /*background=*/true}, metrics.moments_queue) {
  auto opened = MomentsFile::Open(options_.path, options_.version);
  if (opened.ok()) {
    Log(LogLevel::kInfo, "moments_opened",
        {{"path", options_.path}, {"bytes", (*opened)->bytes()}});
    Use(*std::move(opened));
  } else {
    MakeAnew(opened.status());
  }
}

MomentsCache::~MomentsCache() {
  ending_ = true;
  writing_.Stop();
  ending_ = false;
  Write();
}

int64_t MomentsCache::Now_unix_s() const {
  return options_.unix_s ? options_.unix_s() : absl::GetCurrentTimeNanos() / 1'000'000'000;
}

std::shared_ptr<MomentsFile> MomentsCache::file() const {
  const absl::MutexLock lock(&mutex_);
  return file_;
}

void MomentsCache::Use(std::shared_ptr<MomentsFile> file) {
  metrics_.moments_bytes.Set(static_cast<double>(file->bytes()));
  const absl::MutexLock lock(&mutex_);
  file_ = std::move(file);
}

void MomentsCache::MakeAnew(const absl::Status& reason) {
  std::shared_ptr<MomentsFile> old;  // of whose entries nothing needs to be noted any more
  {
    const absl::MutexLock lock(&mutex_);
    old.swap(file_);
    used_.clear();
    damaged_.clear();
  }
  old.reset();
  absl::Status status = makings_++ < kMaxMakings ? MomentsFile::Remove(options_.path) : reason;
  if (status.ok()) {
    auto made = MomentsFile::Open(options_.path, options_.version);
    status = made.status();
    if (made.ok()) Use(*std::move(made));
  }
  if (status.ok()) {
    Log(LogLevel::kWarn, "moments_made_anew",
        {{"path", options_.path}, {"reason", reason.message()}});
  } else {
    Log(LogLevel::kError, "moments_off", {{"path", options_.path}, {"error", status.message()}});
    metrics_.moments_bytes.Set(0.0);
  }
}

std::shared_ptr<const ResidentTile> MomentsCache::Find(
    const Sha256Digest& digest, uint64_t points, absl::Span<const CellStatistics> statistics) {
  const auto miss = [this] {
    metrics_.moments_misses.Increment();
    return nullptr;
  };
  const std::shared_ptr<MomentsFile> from = file();
  if (from == nullptr) return miss();
  const auto entry = from->Read({digest, LatticesText(statistics)});
  if (!entry.ok()) {
    // A file that someone else has locked is as good as before.
    if (absl::IsUnavailable(entry.status())) return miss();
    const absl::MutexLock lock(&mutex_);
    if (file_ == from && broken_.ok()) {
      broken_ = entry.status();
      Wake();
    }
    return miss();
  }
  if (!entry->has_value()) return miss();
  auto tile = engine_.ImportTile((*entry)->bytes);
  if (absl::IsResourceExhausted(tile.status())) return miss();
  absl::Status status = tile.status();
  if (status.ok() && (*tile)->points() != points) {
    status = absl::DataLossError(
        absl::StrCat("the moments are of ", (*tile)->points(), " points, the tile has ", points));
  }
  if (!status.ok()) {
    Log(LogLevel::kWarn, "moments_damaged",
        {{"sha256", ToHex(digest)}, {"error", status.message()}});
    metrics_.moments_damaged.Increment();
    const absl::MutexLock lock(&mutex_);
    if (file_ == from) {
      damaged_.push_back((*entry)->id);
      Wake();
    }
    return miss();
  }
  metrics_.moments_hits.Increment();
  if (Now_unix_s() - (*entry)->used_unix_s >= kFreshUse_s) {
    const absl::MutexLock lock(&mutex_);
    if (file_ == from) {
      used_.push_back((*entry)->id);
      Wake();
    }
  }
  return *std::move(tile);
}

void MomentsCache::Keep(const Sha256Digest& digest, absl::Span<const CellStatistics> statistics,
                        std::shared_ptr<const ResidentTile> tile) {
  const size_t bytes = tile->MemoryBytes();
  Waiting waiting{{digest, LatticesText(statistics)}, std::move(tile)};
  const absl::MutexLock lock(&mutex_);
  if (file_ == nullptr) return;
  const bool room = waiting_.empty() || waiting_bytes_ + bytes <= options_.max_waiting_bytes;
  if (!room || bytes > kMaxTileBytes || bytes > options_.max_bytes) {
    metrics_.moments_not_kept.Increment();
    return;
  }
  waiting_bytes_ += bytes;
  waiting_.push_back(std::move(waiting));
  Wake();
}

void MomentsCache::Wake() {
  if (woken_) return;
  // A queue that has been stopped leaves it to the destructor.
  woken_ = writing_.Post([this] { Write(); });
}

MomentsCache::Work MomentsCache::TakeWork() {
  Work work;
  const absl::MutexLock lock(&mutex_);
  std::swap(work.broken, broken_);
  work.used.swap(used_);
  work.damaged.swap(damaged_);
  if (!waiting_.empty()) {
    work.tile = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= work.tile->tile->MemoryBytes();
  }
  woken_ = !work.empty();
  return work;
}

void MomentsCache::Write() {
  for (Work work = TakeWork(); !work.empty(); work = ending_ ? Work() : TakeWork()) {
    if (!work.broken.ok()) MakeAnew(work.broken);
    const std::shared_ptr<MomentsFile> to = file();
    if (to == nullptr) continue;
    absl::Status status;
    if (work.broken.ok()) {
      if (!work.used.empty()) status.Update(to->SetUsed(work.used, Now_unix_s()));
      if (!work.damaged.empty()) status.Update(to->Erase(work.damaged));
    }
    if (work.tile.has_value()) status.Update(WriteTile(*to, *work.tile));
    metrics_.moments_bytes.Set(static_cast<double>(to->bytes()));
    if (!status.ok() && last_write_.ok()) {
      Log(LogLevel::kWarn, "moments_not_written",
          {{"path", options_.path}, {"error", status.message()}});
    }
    last_write_ = status;
    if (absl::IsDataLoss(status)) MakeAnew(status);
  }
}

absl::Status MomentsCache::WriteTile(MomentsFile& to, const Waiting& waiting) {
  auto bytes = engine_.ExportTile(*waiting.tile);
  absl::Status status = bytes.status();
  if (status.ok()) status = to.Write(waiting.key, *bytes, Now_unix_s());
  if (!status.ok()) {
    metrics_.moments_not_kept.Increment();
    return status;
  }
  const auto removed = to.Shrink(options_.max_bytes);
  if (removed.ok()) metrics_.moments_evicted.Increment(static_cast<double>(*removed));
  return removed.status();
}

}  // namespace voxloc::server
