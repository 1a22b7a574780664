// SPDX-License-Identifier: Apache-2.0
//
// MomentsFile: moments of tiles as bytes, in a SQLite file that may be lost at any time. Nothing of
// it is synced: after a power cut the file can be damaged, so what is read carries its key, and the
// bytes a checksum of their own (core/map/tile_codec.h).
//
// Thread-safe. Reading has a connection of its own and does not wait for writing.
//
// Errors are those of SqliteDatabase. DataLoss: the file is damaged.

#ifndef VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_FILE_H_
#define VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_FILE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/maps/moments/moments_key.h"
#include "server/maps/store/sqlite_database.h"

namespace voxloc::server {

class MomentsFile {
 public:
  struct Entry {
    int64_t id = 0;
    int64_t used_unix_s = 0;
    std::string bytes;
  };

  // Opens a file of this version, or makes one where there is none. FailedPrecondition: the file
  // has another version.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<MomentsFile>> Open(const std::string& path,
                                                                         uint32_t version);
  // Removes what lies there, with the files that SQLite keeps beside it.
  [[nodiscard]] static absl::Status Remove(const std::string& path);
  MomentsFile(const MomentsFile&) = delete;
  MomentsFile& operator=(const MomentsFile&) = delete;
  ~MomentsFile();

  // nullopt: there is none. DataLoss also where the entry is another's.
  [[nodiscard]] absl::StatusOr<std::optional<Entry>> Read(const MomentsKey& key);
  // In the place of those that were there.
  [[nodiscard]] absl::Status Write(const MomentsKey& key, absl::string_view bytes,
                                   int64_t used_unix_s);
  // Entries that are not there are passed over.
  [[nodiscard]] absl::Status Erase(const std::vector<int64_t>& ids);
  [[nodiscard]] absl::Status SetUsed(const std::vector<int64_t>& ids, int64_t used_unix_s);
  // Removes those that were used longest ago until the others have at most so many bytes. Returns
  // how many they were.
  [[nodiscard]] absl::StatusOr<uint64_t> Shrink(uint64_t max_bytes);

  // Of all entries. Beside them the file has rows of about 100 bytes, and pages that are free.
  [[nodiscard]] uint64_t bytes() const;

 private:
  MomentsFile(std::unique_ptr<SqliteDatabase> writer, std::unique_ptr<SqliteDatabase> reader)
      : writer_(std::move(writer)), reader_(std::move(reader)) {}

  // One transaction of the writer, which leaves the log short. `body` adds to its argument by how
  // many bytes the entries grow.
  [[nodiscard]] absl::Status Change(absl::FunctionRef<absl::Status(int64_t&)> body)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);
  [[nodiscard]] absl::Status EraseRow(int64_t id, int64_t& growth)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);

  mutable absl::Mutex writing_;
  const std::unique_ptr<SqliteDatabase> writer_ ABSL_PT_GUARDED_BY(writing_);
  int64_t bytes_ ABSL_GUARDED_BY(writing_) = 0;
  absl::Mutex reading_;
  const std::unique_ptr<SqliteDatabase> reader_ ABSL_PT_GUARDED_BY(reading_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MOMENTS_MOMENTS_FILE_H_
