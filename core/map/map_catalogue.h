// SPDX-License-Identifier: Apache-2.0
//
// MapCatalogue: the maps a server has, by name, each at its newest revision. Publishing swaps one
// pointer: readers see the old snapshot or the new one, never a mixture, and never wait for a
// build. Thread-safe.

#ifndef VOXLOC_CORE_MAP_MAP_CATALOGUE_H_
#define VOXLOC_CORE_MAP_MAP_CATALOGUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/map/map_snapshot.h"

namespace voxloc {

class MapCatalogue {
 public:
  explicit MapCatalogue(size_t max_maps) : max_maps_(max_maps) {}

  // NotFound names the maps there are.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const MapSnapshot>> Find(
      absl::string_view name) const;

  [[nodiscard]] std::vector<std::shared_ptr<const MapSnapshot>> List() const;  // by name

  // Publishes `snapshot` as the successor of revision `base_revision` (0: the map must not exist).
  // Aborted when the map has moved on or gone since; ResourceExhausted when it would be one map too
  // many; InvalidArgument when the snapshot's revision is not above the base.
  [[nodiscard]] absl::Status Publish(std::shared_ptr<const MapSnapshot> snapshot,
                                     uint64_t base_revision);

  // NotFound when there is none.
  [[nodiscard]] absl::Status Remove(absl::string_view name);

 private:
  const size_t max_maps_;
  mutable absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<const MapSnapshot>, std::less<>> maps_
      ABSL_GUARDED_BY(mutex_);
};

// Map names: 1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit.
// InvalidArgument says which character is wrong.
[[nodiscard]] absl::Status ValidateMapName(absl::string_view name);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_MAP_CATALOGUE_H_
