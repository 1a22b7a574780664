// SPDX-License-Identifier: Apache-2.0
//
// MomentsCache: the moments of tiles that were built before, in a local file, so that a tile of the
// store is imported in place of being built from its points. The points are the truth: the file may
// be lost, and what is damaged in it is built again. Entries are found by the digest of the points
// and by the lattices; those of another version of the moments are dropped when the file is opened,
// those that were used longest ago when the file reaches its limit.
//
// Thread-safe. Writing is done behind, by one thread of low priority. The engine and the metrics
// must outlive the cache.

#ifndef VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_CACHE_H_
#define VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "core/map/tile_codec.h"
#include "server/maps/moments/moments_file.h"
#include "server/maps/moments/moments_key.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

struct MomentsCacheOptions {
  std::string path;
  uint64_t max_bytes = uint64_t{16} << 30;  // of the entries
  // Of the tiles that wait to be written, as they lie in memory: what the end of a server may have
  // to write, within a second on the disks that docs/reliability.md names.
  size_t max_waiting_bytes = size_t{128} << 20;
  uint32_t version = kTileCodecVersion;
  std::function<int64_t()> unix_s;  // empty: the system's clock
};

class MomentsCache {
 public:
  // Opens the file or makes it anew; logs what was wrong with it. A file that cannot be made is
  // logged, and the cache has nothing and keeps nothing.
  MomentsCache(MomentsCacheOptions options, Engine& engine, const Metrics& metrics);
  MomentsCache(const MomentsCache&) = delete;
  MomentsCache& operator=(const MomentsCache&) = delete;
  // Writes what waits.
  ~MomentsCache();

  // The tile of so many points as it was built for these statistics; null: it must be built.
  [[nodiscard]] std::shared_ptr<const ResidentTile> Find(
      const Sha256Digest& digest, uint64_t points, absl::Span<const CellStatistics> statistics);

  // Keeps what the engine built of these points. Where too much waits, it is not kept.
  void Keep(const Sha256Digest& digest, absl::Span<const CellStatistics> statistics,
            std::shared_ptr<const ResidentTile> tile);

 private:
  struct Waiting {
    MomentsKey key;
    std::shared_ptr<const ResidentTile> tile;
  };

  // What the writing thread does at once.
  struct Work {
    absl::Status broken;           // why the file is to be made anew
    std::vector<int64_t> used;     // entries whose time of use is to be set
    std::vector<int64_t> damaged;  // entries that are to be removed
    std::optional<Waiting> tile;

    [[nodiscard]] bool empty() const {
      return broken.ok() && used.empty() && damaged.empty() && !tile.has_value();
    }
  };

  [[nodiscard]] std::shared_ptr<MomentsFile> file() const;
  void Use(std::shared_ptr<MomentsFile> file);
  void MakeAnew(const absl::Status& reason);
  // Has the writing thread look at what there is to do.
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] Work TakeWork();
  // Works until there is nothing to do, or `ending_`.
  void Write();
  [[nodiscard]] absl::Status WriteTile(MomentsFile& to, const Waiting& waiting);
  [[nodiscard]] int64_t Now_unix_s() const;

  const MomentsCacheOptions options_;
  Engine& engine_;
  const Metrics& metrics_;

  mutable absl::Mutex mutex_;
  std::shared_ptr<MomentsFile> file_ ABSL_GUARDED_BY(mutex_);  // null: it could not be made
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // See Work. An entry is noted once for each use and damage until the next work.
  std::vector<int64_t> used_ ABSL_GUARDED_BY(mutex_);
  std::vector<int64_t> damaged_ ABSL_GUARDED_BY(mutex_);
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;

  // Of the writing thread, and of the constructor before it.
  int makings_ = 0;
  absl::Status last_write_;

  // The writing thread leaves the rest to the destructor, whose thread gets more of the processors.
  std::atomic<bool> ending_{false};
  WorkQueue writing_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_CACHE_H_
