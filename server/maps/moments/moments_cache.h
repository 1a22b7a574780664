// SPDX-License-Identifier: Apache-2.0
//
// MomentsCache: the moments of tiles that were built before, in a local folder, so that a tile of
// the store is imported in place of being built from its points. The points are the truth: files
// may be lost, and what is damaged is removed and built again. Files of another version of the
// moments are removed when the folder is opened, those that were used longest ago when they reach
// their limit.
//
// Thread-safe. Writing is done behind, by one thread of low priority. The engine and the metrics
// must outlive the cache.

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
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "core/map/tile_codec.h"
#include "server/maps/moments/moments_folder.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

struct MomentsCacheOptions {
  std::string path;                         // of the folder
  uint64_t max_bytes = uint64_t{16} << 30;  // of the files
  // Of the tiles that wait to be written, as they lie in memory: what the end of a server may have
  // to write, within a second on the disks that docs/reliability.md names.
  size_t max_waiting_bytes = size_t{128} << 20;
  uint32_t version = kTileCodecVersion;
};

class MomentsCache {
 public:
  // Opens the folder or makes it, and removes the database (the path with .db behind it) in which
  // earlier versions kept moments. A folder that cannot be made is logged, and the cache has
  // nothing and keeps nothing.
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
    std::string key;
    std::shared_ptr<const ResidentTile> tile;
  };

  // NotFound: there is none.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const ResidentTile>> Import(absl::string_view key,
                                                                           uint64_t points);
  // Writes until nothing waits, or `ending_`.
  void Write();
  [[nodiscard]] std::optional<Waiting> TakeWaiting();
  [[nodiscard]] absl::Status WriteTile(const Waiting& waiting);

  const MomentsCacheOptions options_;
  Engine& engine_;
  const Metrics& metrics_;
  std::unique_ptr<MomentsFolder> folder_;  // null: it could not be made

  absl::Mutex mutex_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_now_ ABSL_GUARDED_BY(mutex_) = false;  // or about to

  absl::Status last_write_;  // of the writing thread
  // The writing thread leaves the rest to the destructor, whose thread gets more of the processors.
  std::atomic<bool> ending_{false};
  WorkQueue queue_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_CACHE_H_
