// SPDX-License-Identifier: Apache-2.0

#include "server/maps/moments/moments_cache.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status/try.h"
#include "server/maps/store/directory_lock.h"
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
    const auto bytes = engine_.ExportTile(*waiting->tile);
    const absl::Status status = bytes.ok() ? folder_->Write(waiting->key, *bytes) : bytes.status();
    if (status.ok()) {
      metrics_.moments_evicted.Increment(static_cast<double>(folder_->Shrink(options_.max_bytes)));
    } else {
      metrics_.moments_not_kept.Increment();
    }
    if (!status.ok() && last_write_.ok()) {
      Log(LogLevel::kWarn, "moments_not_written",
          {{"path", options_.path}, {"error", status.message()}});
    }
    last_write_ = status;
    metrics_.moments_bytes.Set(static_cast<double>(folder_->bytes()));
  }
}

namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kSuffix = ".moments";
constexpr absl::string_view kUnfinishedSuffix = ".moments.new";
// A time of use is noted again when it is an hour old: the order of files matters over days, and
// restarts in short order write nothing.
constexpr std::chrono::hours kTouchInterval{1};
// Of a file; what is longer was not written here.
constexpr size_t kMaxFileBytes = size_t{1} << 30;

struct File {
  fs::file_time_type used;
  std::string name;
  int64_t bytes = 0;
};

// Files with this suffix. A file that another process removes concurrently is skipped.
std::vector<File> FilesIn(const std::string& folder, absl::string_view suffix) {
  std::vector<File> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    File file{it->last_write_time(gone), it->path().filename().string(), 0};
    if (gone || !absl::EndsWith(file.name, suffix)) continue;
    file.bytes = static_cast<int64_t>(it->file_size(gone));
    if (!gone) files.push_back(std::move(file));
  }
  return files;
}

bool RemoveFile(const std::string& path) {
  std::error_code error;
  return fs::remove(path, error);
}

}  // namespace

std::string MomentsKey(const Sha256Digest& digest, absl::Span<const CellStatistics> statistics) {
  std::map<double, bool> lattices;  // by cell size: whether float sums are wanted
  for (const CellStatistics& s : statistics) lattices[s.cell_size_m] |= s.float_index;
  std::string key = ToHex(digest);
  char separator = '-';
  for (const auto& [cell_size_m, float_sums] : lattices) {
    // 17 digits distinguish every double from its neighbours.
    absl::StrAppendFormat(&key, "%c%.17g%s", separator, cell_size_m, float_sums ? "f" : "");
    separator = ',';
  }
  return key;
}

MomentsFolder::MomentsFolder(const std::string& path, uint32_t version)
    : path_(path + "/"), version_(absl::StrCat("v", version, "-")) {}

absl::StatusOr<std::unique_ptr<MomentsFolder>> MomentsFolder::Open(const std::string& path,
                                                                   uint32_t version) {
  std::error_code error;
  fs::create_directory(path, error);
  if (error) return SystemError(path + " cannot be created", error.value());
  auto folder = absl::WrapUnique(new MomentsFolder(path, version));
  for (const File& file : FilesIn(path, kUnfinishedSuffix)) RemoveFile(folder->path_ + file.name);
  for (const File& file : FilesIn(path, kSuffix)) {
    if (absl::StartsWith(file.name, folder->version_)) {
      folder->bytes_ += file.bytes;
    } else if (RemoveFile(folder->path_ + file.name)) {
      ++folder->outdated_;
    }
  }
  return folder;
}

std::string MomentsFolder::NameOf(absl::string_view key) const {
  return absl::StrCat(version_, key, kSuffix);
}

absl::StatusOr<std::optional<std::string>> MomentsFolder::Read(absl::string_view key) const {
  const std::string name = NameOf(key);
  const std::string path = path_ + name;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  const std::streamoff size = file.tellg();
  std::string bytes;
  if (size > 0 && static_cast<uint64_t>(size) <= kMaxFileBytes) {
    bytes.resize(static_cast<size_t>(size));
    file.seekg(0);
    file.read(bytes.data(), size);
  }
  if (!file || !absl::StartsWith(bytes, name)) {
    return absl::DataLossError("the file of moments is not that of the tile, or cannot be read");
  }
  std::error_code error;
  const fs::file_time_type now = fs::file_time_type::clock::now();
  const fs::file_time_type used = fs::last_write_time(path, error);
  if (!error && now - used >= kTouchInterval) fs::last_write_time(path, now, error);
  bytes.erase(0, name.size());
  return bytes;
}

absl::Status MomentsFolder::Write(absl::string_view key, absl::string_view bytes) {
  static std::atomic<uint64_t> files{0};  // of this process
  const std::string name = NameOf(key);
  const std::string unfinished = absl::StrCat(path_, ::getpid(), "-", ++files, kUnfinishedSuffix);
  const size_t size = name.size() + bytes.size();
  if (size > kMaxFileBytes) return absl::InvalidArgumentError("the tile has too many moments");
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file << name << bytes;
  file.close();
  std::error_code error;
  if (!file) error.assign(errno != 0 ? errno : EIO, std::generic_category());
  std::error_code none;
  const uintmax_t replaced = fs::file_size(path_ + name, none);
  if (!error) fs::rename(unfinished, path_ + name, error);
  if (error) {
    RemoveFile(unfinished);
    return SystemError(unfinished + " cannot be written", error.value());
  }
  bytes_ += static_cast<int64_t>(size) - (none ? 0 : static_cast<int64_t>(replaced));
  return absl::OkStatus();
}

void MomentsFolder::Remove(absl::string_view key) {
  const std::string path = path_ + NameOf(key);
  std::error_code none;
  const uintmax_t bytes = fs::file_size(path, none);
  if (!none && RemoveFile(path)) bytes_ -= static_cast<int64_t>(bytes);
}

uint64_t MomentsFolder::Shrink(uint64_t max_bytes) {
  if (bytes() <= max_bytes) return 0;
  std::vector<File> files = FilesIn(path_, kSuffix);
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return std::tie(a.used, a.name) < std::tie(b.used, b.name);
  });
  uint64_t left = 0;
  for (const File& file : files) left += static_cast<uint64_t>(file.bytes);
  // Frees some more, so that not every later write scans all files.
  const uint64_t enough = left > max_bytes ? max_bytes - max_bytes / 16 : left;
  uint64_t removed = 0;
  for (const File& file : files) {
    if (left <= enough) break;
    if (!RemoveFile(path_ + file.name)) continue;
    left -= static_cast<uint64_t>(file.bytes);
    ++removed;
  }
  bytes_ = static_cast<int64_t>(left);
  return removed;
}

uint64_t MomentsFolder::bytes() const {
  return static_cast<uint64_t>(std::max<int64_t>(bytes_.load(), 0));
}

}  // namespace voxloc::server
