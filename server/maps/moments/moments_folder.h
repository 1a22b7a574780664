// SPDX-License-Identifier: Apache-2.0
//
// MomentsFolder: moments of tiles as bytes, a file each, in a folder that may be lost at any time.
// A file is named by its version and key, and begins with its name; its time of modification is
// when it was last used. It is written under another name and renamed, so that a reader sees all of
// it. Nothing is synced: after a power cut a file can be empty or damaged, which the name in it and
// the checksum of the bytes (core/map/tile_codec.h) find.
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
#include "core/map/cell_statistics.h"

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

  // The bytes of a file, which is used now. nullopt: there is none. DataLoss: it is not what was
  // written under this key.
  [[nodiscard]] absl::StatusOr<std::optional<std::string>> Read(absl::string_view key) const;
  // In the place of those that were there.
  [[nodiscard]] absl::Status Write(absl::string_view key, absl::string_view bytes);
  void Remove(absl::string_view key);
  // Where the files have more bytes than this, removes those that were used longest ago until they
  // have a sixteenth less. Returns how many.
  uint64_t Shrink(uint64_t max_bytes);

  // Of all files, as this process knows them; Shrink counts them anew where they are too many.
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
