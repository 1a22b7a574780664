// SPDX-License-Identifier: Apache-2.0
//
// RecentUploads: the tile contents uploaded per map, so that a client that may write only this map
// can reuse them after a failed transaction. Above a limit the oldest are evicted, and a restart
// clears the list; clients then upload again. Thread-safe.

#ifndef VOXLOC_SERVER_MAPS_RECENT_UPLOADS_H_
#define VOXLOC_SERVER_MAPS_RECENT_UPLOADS_H_

#include <cstddef>
#include <list>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/checksum/sha256.h"

namespace voxloc::server {

class RecentUploads {
 public:
  // Keeps at most `max` of them from now on.
  void Add(absl::string_view map, const Sha256Digest& digest, size_t max);
  [[nodiscard]] bool Has(absl::string_view map, const Sha256Digest& digest) const;

 private:
  using Upload = std::pair<std::string, Sha256Digest>;  // map and content

  mutable absl::Mutex mutex_;
  std::list<Upload> by_age_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  absl::flat_hash_map<Upload, std::list<Upload>::iterator> index_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_RECENT_UPLOADS_H_
