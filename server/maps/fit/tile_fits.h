// SPDX-License-Identifier: Apache-2.0
//
// TileFits: statistics of how scans fit the tiles of all maps, kept in memory and saved
// periodically to the store. A record belongs to one content of a tile. Thread-safe.

#ifndef VOXLOC_SERVER_MAPS_FIT_TILE_FITS_H_
#define VOXLOC_SERVER_MAPS_FIT_TILE_FITS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/checksum/sha256.h"
#include "core/estimate/map_fit/tile_fit.h"
#include "server/maps/store/map_store.h"
#include "server/observe/metrics/instruments.h"

namespace voxloc::server {

// What a scan showed of a content of a tile.
struct TileObservation {
  std::string tile_id;
  Sha256Digest digest{};
  TileFit fit;
};

struct TileFitRecord {
  TileFit fit;  // as it was at the last scan
  int64_t last_used_unix_ns = 0;
};

class TileFits {
 public:
  // Above max_tiles contents over all maps, the least recently used ones are evicted. `tiles` is
  // set to their number.
  TileFits(size_t max_tiles, Gauge tiles) : max_tiles_(max_tiles), tiles_(tiles) {}

  // What the store has, at the start.
  [[nodiscard]] absl::Status Load(MapStore& store);

  // Of one scan.
  void Add(absl::string_view map, absl::Span<const TileObservation> tiles, int64_t unix_ns);

  // nullopt: no scan has been compared with this content of the tile.
  [[nodiscard]] std::optional<TileFitRecord> Find(absl::string_view map, absl::string_view tile_id,
                                                  const Sha256Digest& digest) const;

  // Removes the records of a deleted map. The store removes its own.
  void RemoveMap(absl::string_view map);

  // Saves the records changed since the last call. Records that could not be saved are retried.
  [[nodiscard]] absl::Status Save(MapStore& store);

 private:
  using Content = std::pair<std::string, Sha256Digest>;  // tile id
  struct Entry {
    TileFitRecord record;
    bool changed = false;  // since it was given to the store
  };
  using Contents = absl::flat_hash_map<Content, Entry>;

  void EvictOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UpdateMetrics() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_tiles_;
  const Gauge tiles_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Contents> maps_ ABSL_GUARDED_BY(mutex_);
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;  // of the records of all maps
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_FIT_TILE_FITS_H_
