// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/maps/store/sqlite_backup.h"
#include "server/maps/store/sqlite_database.h"
#include "server/maps/store/sqlite_map_store.h"
#include "server/maps/store/sqlite_schema.h"

namespace voxloc::server {

absl::Status BackupMapStore(const std::string& directory, const std::string& path,
                            absl::FunctionRef<bool(double)> progress) {
  // A process that uses it goes on writing; a transaction that has read sees nothing of that.
  auto database = SqliteDatabase::Open(directory + "/maps.db", SqliteDatabase::Access::kWrite);
  if (!database.ok()) return database.status();
  if (absl::Status status = CheckSchema(**database); !status.ok()) return status;
  return (*database)->Transaction(SqliteDatabase::Begin::kDeferred, [&]() -> absl::Status {
    const auto maps = (*database)->Number("SELECT COUNT(*) FROM maps");
    if (!maps.ok()) return maps.status();
    auto backup = SqliteBackup::Begin(**database, path);
    if (!backup.ok()) return backup.status();
    for (double part = 0.0; part < 1.0;) {
      const auto copied = (*backup)->Step();
      if (!copied.ok()) return copied.status();
      part = *copied;
      if (!progress(part)) return absl::CancelledError("the backup was ended");
    }
    return (*backup)->Finish();
  });
}

}  // namespace voxloc::server
