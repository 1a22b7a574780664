// SPDX-License-Identifier: Apache-2.0
//
// MomentsFolder: moments of tiles, one file each, in a folder that may be lost at any time. A file
// is named by version and key, and starts with its name; its modification time is its last use. It
// is written under a temporary name and renamed, so that readers see complete files. Nothing is
// synced: a file damaged by a power failure is detected by the name in it and by the checksum of
// its bytes (core/map/tile_codec.h).
//
// Thread-safe; several processes may use one folder.

#ifndef VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_FOLDER_H_
#define VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_FOLDER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/checksum/sha256.h"
#include "core/map/cells.h"

namespace voxloc::server {

// What the moments of a tile are found by: the digest of its points, and the lattices that an
// engine builds for these statistics: the cell sizes in metres, ascending, with all their digits,
// each with an f behind it where float sums belong to it, such as "1f,2". The same key means the
// same moments; what becomes of them afterwards is not in it.
[[nodiscard]] std::string MomentsKey(const Sha256Digest& digest,
                                     absl::Span<const CellStatistics> statistics);

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

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_FOLDER_H_
