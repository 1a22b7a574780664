// SPDX-License-Identifier: Apache-2.0

// A copy of a database while it is being written to.

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "server/maps/store/directory_lock.h"
#include "server/maps/store/sqlite_database.h"
#include "server/maps/store/sqlite_map_store.h"
#include "server/maps/store/store_schema.h"

namespace voxloc::server {
namespace {

// 1 MiB of the default page: others wait for about a millisecond.
constexpr int kPagesPerStep = 256;

}  // namespace

absl::Status SqliteDatabase::Backup(const std::string& path, absl::Mutex* turn,
                                    absl::FunctionRef<bool(double)> progress) {
  // The file has its name from the beginning, empty until all is there.
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
  if (file < 0 && errno == EEXIST) {
    return absl::AlreadyExistsError(absl::StrCat("there is a file ", path));
  }
  if (file < 0) return SystemError(path + " cannot be created", errno);
  ::close(file);
  const std::string partial_path = path + ".partial";
  absl::Status status = CopyTo(partial_path, turn, progress);
  std::error_code error;
  if (status.ok()) std::filesystem::rename(partial_path, path, error);
  if (error) status = SystemError(path + " cannot be written", error.value());
  if (!status.ok()) {
    std::remove(partial_path.c_str());
    std::remove(path.c_str());
    return status;
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return SyncDirectory(parent.empty() ? "." : parent);
}

absl::Status SqliteDatabase::CopyTo(const std::string& path, absl::Mutex* turn,
                                    absl::FunctionRef<bool(double)> progress) {
  std::remove(path.c_str());
  VOXLOC_ASSIGN_OR_RETURN(const auto copy, Open(path, Access::kCreate));
  // A copy that was not finished is of no use, so it needs no journal.
  absl::Status status = copy->Run("PRAGMA journal_mode = OFF");
  if (!status.ok()) return status;
  sqlite3_backup* backup = nullptr;
  {
    const absl::MutexLockMaybe lock(turn);
    backup = sqlite3_backup_init(copy->handle(), "main", handle_, "main");
  }
  if (backup == nullptr) return copy->Error(sqlite3_errcode(copy->handle()));
  int code = SQLITE_OK;
  while (status.ok() && code == SQLITE_OK) {
    double part = 1.0;
    {
      const absl::MutexLockMaybe lock(turn);
      code = sqlite3_backup_step(backup, kPagesPerStep);
      const double pages = sqlite3_backup_pagecount(backup);
      if (code == SQLITE_OK) {
        part = pages > 0.0 ? 1.0 - sqlite3_backup_remaining(backup) / pages : 0.0;
      }
    }
    const bool copied = code == SQLITE_OK || code == SQLITE_DONE;
    if (copied && !progress(part)) status = absl::CancelledError("the backup was ended");
  }
  const absl::MutexLockMaybe lock(turn);
  const int finished = sqlite3_backup_finish(backup);
  if (code == SQLITE_OK || code == SQLITE_DONE) code = finished;
  return status.ok() && code != SQLITE_OK ? copy->Error(code) : status;
}

absl::Status BackupMapStore(const std::string& directory, const std::string& path,
                            absl::FunctionRef<bool(double)> progress) {
  // Another process may keep writing; the read transaction has a consistent snapshot.
  VOXLOC_ASSIGN_OR_RETURN(
      auto database, SqliteDatabase::Open(directory + "/maps.db", SqliteDatabase::Access::kWrite));
  VOXLOC_TRY(CheckSchema(*database));
  return database->Transaction(SqliteDatabase::Begin::kDeferred, [&]() -> absl::Status {
    VOXLOC_TRY(database->Number("SELECT COUNT(*) FROM maps").status());
    return database->Backup(path, nullptr, progress);
  });
}

}  // namespace voxloc::server
