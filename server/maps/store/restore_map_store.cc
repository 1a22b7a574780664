// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/maps/store/directory_lock.h"
#include "server/maps/store/sqlite_database.h"
#include "server/maps/store/sqlite_map_store.h"
#include "server/maps/store/store_damage.h"
#include "server/maps/store/store_schema.h"

namespace voxloc::server {
namespace {

namespace fs = std::filesystem;

absl::Status SyncFile(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return SystemError(path + " cannot be opened", errno);
  const int error = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  return error == 0 ? absl::OkStatus() : SystemError(path + " cannot be synced", error);
}

void RemoveWithLog(const std::string& database) {
  for (const char* const suffix : {"", "-wal", "-shm"}) std::remove((database + suffix).c_str());
}

absl::Status CheckBackup(const std::string& path, const std::string& backup) {
  auto database = SqliteDatabase::Open(path, SqliteDatabase::Access::kWrite);
  if (!database.ok()) return database.status();
  absl::Status status = CheckSchema(**database);
  if (status.ok()) {
    const auto application = (*database)->Number("PRAGMA application_id");
    if (application.ok() && *application != kStoreApplicationId) {
      status = absl::DataLossError("it is empty");
    }
  }
  if (status.ok()) status = CheckWhole(**database);
  if (status.ok()) return status;
  return {status.code(),
          absl::StrCat("the backup ", backup, " cannot be used: ", status.message())};
}

// A second name for a file, or a new one where the file system has no second names.
absl::Status KeepAs(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  if (std::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return SystemError(absl::StrCat(from, " cannot be kept as ", to), errno);
}

}  // namespace

absl::StatusOr<std::string> RestoreMapStore(const std::string& backup,
                                            const std::string& directory) {
  const auto lock = DirectoryLock::Take(directory);
  if (!lock.ok()) return lock.status();
  const std::string database = directory + "/maps.db";
  const std::string restored = directory + "/maps.db.restored";
  std::error_code error;
  if (fs::file_size(backup + "-wal", error) > 0 && !error) {
    return absl::FailedPreconditionError(absl::StrCat(
        backup, " has a write-ahead log beside it, so it is a database in use and not a backup"));
  }
  RemoveWithLog(restored);
  fs::copy_file(backup, restored, error);
  if (error) {
    RemoveWithLog(restored);
    return SystemError(absl::StrCat(backup, " cannot be copied to ", restored), error.value());
  }
  absl::Status status = CheckBackup(restored, backup);
  if (status.ok()) status = SyncFile(restored);
  if (!status.ok()) {
    RemoveWithLog(restored);
    return status;
  }

  // At every moment there is a database of the right name. Its log must not outlive it: SQLite
  // would take that for the restored one's.
  std::string kept;
  if (fs::exists(database, error)) {
    for (int i = 1; kept.empty() || fs::exists(kept, error); ++i) {
      kept = absl::StrCat(database, ".replaced-", i);
    }
    status = KeepAs(database, kept);
    if (status.ok()) status = KeepAs(database + "-wal", kept + "-wal");
    if (status.ok()) status = SyncDirectory(directory);
    if (!status.ok()) return status;
  }
  std::remove((database + "-wal").c_str());
  std::remove((database + "-shm").c_str());
  std::remove((restored + "-wal").c_str());
  std::remove((restored + "-shm").c_str());
  fs::rename(restored, database, error);
  if (error) return SystemError(database + " cannot be replaced", error.value());
  status = SyncDirectory(directory);
  if (!status.ok()) return status;
  return kept;
}

}  // namespace voxloc::server
