// SPDX-License-Identifier: Apache-2.0
//
// MomentsCache: moments of tiles in a local folder, so that a tile of the store is imported instead
// of being built from its points. The points are authoritative: files may be lost, and damaged ones
// are removed and rebuilt. Files of another version are removed when the folder is opened; over the
// size limit the least recently used files are removed.
//
// Thread-safe. Writes are asynchronous, on one low-priority thread. The engine and the metrics must
// outlive the cache.

#ifndef VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_CACHE_H_
#define VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/checksum/sha256.h"
#include "core/engine/engine.h"
#include "core/map/cells.h"
#include "core/map/tile_codec.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

// What the moments of a tile are found by: the digest of its points, and the lattices that an
// engine builds for these statistics: the cell sizes in metres, ascending, with all their digits,
// each with an f behind it where float sums belong to it, such as "1f,2". The same key means the
// same moments; what becomes of them afterwards is not in it.
[[nodiscard]] std::string MomentsKey(const Sha256Digest& digest,
                                     absl::Span<const CellStatistics> statistics);

// MomentsFolder: moments of tiles, one file each, in a folder that may be lost at any time. A file
// is named by version and key, and starts with its name; its modification time is its last use. It
// is written under a temporary name and renamed, so that readers see complete files. Nothing is
// synced: a file damaged by a power failure is detected by the name in it and by the checksum of
// its bytes (core/map/tile_codec.h). Thread-safe; several processes may use one
// folder.
class MomentsFolder {
 public:
  // Makes the folder where its parent exists, and removes files of other versions and those whose
  // writing was interrupted.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<MomentsFolder>> Open(const std::string& path,
                                                                           uint32_t version);

  // Reads a file and updates its time of use. nullopt: no such file. DataLoss: its content does not
  // belong to this key.
  [[nodiscard]] absl::StatusOr<std::optional<std::string>> Read(absl::string_view key) const;
  // Replaces an existing file.
  [[nodiscard]] absl::Status Write(absl::string_view key, absl::string_view bytes);
  void Remove(absl::string_view key);
  // If the files exceed max_bytes, removes the least recently used ones until
  // bytes <= max_bytes * 15 / 16. Returns how many were removed.
  uint64_t Shrink(uint64_t max_bytes);

  // Total size as known to this process; Shrink recounts it when it exceeds the limit.
  [[nodiscard]] uint64_t bytes() const;
  // Files of other versions that were removed at the opening.
  [[nodiscard]] uint64_t outdated() const { return outdated_; }

 private:
  MomentsFolder(const std::string& path, uint32_t version);

  [[nodiscard]] std::string NameOf(absl::string_view key) const;

  const std::string path_;     // with a slash at its end
  const std::string version_;  // that the names of files begin with
  uint64_t outdated_ = 0;
  std::atomic<int64_t> bytes_{0};
};

struct MomentsCacheOptions {
  std::string path;                         // of the folder
  uint64_t max_bytes = uint64_t{16} << 30;  // of the files
  // Limit of the tiles queued for writing, in memory. A shutdown writes at most this much: under
  // a second on the disks in docs/reliability.md.
  size_t max_waiting_bytes = size_t{128} << 20;
  uint32_t version = kTileCodecVersion;
};

class MomentsCache {
 public:
  // Opens or creates the folder, and removes the database (path + ".db") of earlier versions. If
  // the folder cannot be created, this is logged and the cache is off.
  MomentsCache(MomentsCacheOptions options, Engine& engine, const Metrics& metrics);
  // Writes the queued tiles.
  ~MomentsCache();

  // The tile of so many points as it was built for these statistics; null: it must be built.
  [[nodiscard]] std::shared_ptr<const ResidentTile> Find(
      const Sha256Digest& digest, uint64_t points, absl::Span<const CellStatistics> statistics);

  // Queues a tile for writing. Dropped if the queue is full.
  void Put(const Sha256Digest& digest, absl::Span<const CellStatistics> statistics,
           std::shared_ptr<const ResidentTile> tile);

 private:
  struct PendingWrite {
    std::string key;
    std::shared_ptr<const ResidentTile> tile;
  };

  // NotFound: there is none.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const ResidentTile>> Import(absl::string_view key,
                                                                           uint64_t points);
  // Writes until nothing waits, or `stopping_`.
  void Write();
  [[nodiscard]] std::optional<PendingWrite> PopPending();

  const MomentsCacheOptions options_;
  Engine& engine_;
  const Metrics& metrics_;
  std::unique_ptr<MomentsFolder> folder_;  // null: it could not be made

  absl::Mutex mutex_;
  std::deque<PendingWrite> pending_ ABSL_GUARDED_BY(mutex_);
  size_t pending_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_now_ ABSL_GUARDED_BY(mutex_) = false;  // or about to

  absl::Status last_write_;  // of the writing thread
  // The destructor writes the rest itself: its thread has a normal priority.
  std::atomic<bool> stopping_{false};
  WorkQueue queue_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_CACHE_H_
