// SPDX-License-Identifier: Apache-2.0
//
// Copies of a database while it is being written to, and their restoration.

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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
  VOXLOC_TRY(copy->Run("PRAGMA journal_mode = OFF"));
  sqlite3_backup* backup = nullptr;
  {
    const absl::MutexLockMaybe lock(turn);
    backup = sqlite3_backup_init(copy->handle(), "main", handle_, "main");
  }
  if (backup == nullptr) return copy->Error(sqlite3_errcode(copy->handle()));
  absl::Status status;
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

namespace {

namespace fs = std::filesystem;

using Progress = std::function<bool(double)>;

constexpr size_t kCopyChunkBytes = size_t{1} << 20;  // about a millisecond of a disk
// Of SQLite's virtual machine: some 100 us.
constexpr int kStepsPerProgressCheck = 10'000;

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

absl::Status RestoreCancelled() { return absl::CancelledError("the restore was ended"); }

// Copies in pieces; `progress` gets the part that is copied.
absl::Status CopyFile(const std::string& from, const std::string& to, const Progress& progress) {
  std::error_code error;
  const auto size = static_cast<double>(fs::file_size(from, error));
  if (error) return SystemError(from + " cannot be read", error.value());
  const int in = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (in < 0) return SystemError(from + " cannot be read", errno);
  const int out = ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  absl::Status status = out < 0 ? SystemError(to + " cannot be written", errno) : absl::OkStatus();
  std::vector<char> piece(kCopyChunkBytes);
  double copied = 0.0;
  while (status.ok()) {
    const ssize_t bytes = ::read(in, piece.data(), piece.size());
    if (bytes == 0) break;
    if (bytes < 0) {
      if (errno != EINTR) status = SystemError(from + " cannot be read", errno);
      continue;
    }
    for (ssize_t written = 0; written < bytes && status.ok();) {
      const ssize_t more =
          ::write(out, piece.data() + written, static_cast<size_t>(bytes - written));
      if (more >= 0) {
        written += more;
      } else if (errno != EINTR) {
        status = SystemError(to + " cannot be written", errno);
      }
    }
    copied += static_cast<double>(bytes);
    if (status.ok() && !progress(std::min(1.0, copied / std::max(size, 1.0))))
      status = RestoreCancelled();
  }
  ::close(in);
  if (out >= 0 && ::close(out) != 0 && status.ok()) {
    status = SystemError(to + " cannot be written", errno);
  }
  return status;
}

absl::Status CheckBackup(const std::string& path, const std::string& backup,
                         const Progress& progress) {
  bool cancelled = false;
  Progress recording = [&](double part) {  // outlives the database, which asks it
    cancelled = cancelled || !progress(part);
    return !cancelled;
  };
  VOXLOC_ASSIGN_OR_RETURN(auto database,
                          SqliteDatabase::Open(path, SqliteDatabase::Access::kWrite));
  sqlite3_progress_handler(
      database->handle(), kStepsPerProgressCheck,
      [](void* asked) { return (*static_cast<Progress*>(asked))(1.0) ? 0 : 1; },  // 1: interrupt
      &recording);
  absl::Status status = CheckSchema(*database);
  if (status.ok()) {
    const auto application = database->Number("PRAGMA application_id");
    if (application.ok() && *application != kStoreApplicationId) {
      status = absl::DataLossError("it is empty");
    }
  }
  std::vector<std::string> damage;
  if (status.ok()) database->CheckIntegrity("", damage);
  if (!damage.empty()) {
    status = absl::DataLossError(absl::StrCat(database->path(), " is damaged: ", damage.front()));
  }
  if (cancelled) return RestoreCancelled();
  if (status.ok()) return status;
  return {status.code(),
          absl::StrCat("the backup ", backup, " cannot be used: ", status.message())};
}

// A second name for a file, or a new one where the file system has no second names.
absl::Status LinkOrRename(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  if (std::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return SystemError(absl::StrCat(from, " cannot be kept as ", to), errno);
}

}  // namespace

absl::StatusOr<std::string> RestoreMapStore(const std::string& backup, const std::string& directory,
                                            const std::function<bool(double)>& progress) {
  const Progress report = progress != nullptr ? progress : [](double) { return true; };
  VOXLOC_ASSIGN_OR_RETURN(const auto lock, DirectoryLock::Acquire(directory));
  const std::string database = directory + "/maps.db";
  const std::string restored = directory + "/maps.db.restored";
  std::error_code error;
  if (fs::file_size(backup + "-wal", error) > 0 && !error) {
    return absl::FailedPreconditionError(absl::StrCat(
        backup, " has a write-ahead log beside it, so it is a database in use and not a backup"));
  }
  RemoveWithLog(restored);
  absl::Status status = CopyFile(backup, restored, report);
  if (status.ok()) status = CheckBackup(restored, backup, report);
  if (status.ok()) status = SyncFile(restored);
  // From here on it is a matter of milliseconds.
  if (status.ok() && !report(1.0)) status = RestoreCancelled();
  if (!status.ok()) {
    RemoveWithLog(restored);
    return status;
  }

  // A database of the right name exists at all times. The old log must be removed: SQLite would
  // apply it to the restored database.
  std::string kept;
  if (fs::exists(database, error)) {
    for (int i = 1; kept.empty() || fs::exists(kept, error); ++i) {
      kept = absl::StrCat(database, ".replaced-", i);
    }
    VOXLOC_TRY(LinkOrRename(database, kept));
    VOXLOC_TRY(LinkOrRename(database + "-wal", kept + "-wal"));
    VOXLOC_TRY(SyncDirectory(directory));
  }
  for (const std::string& file : {database, restored}) {
    for (const char* const suffix : {"-wal", "-shm"}) std::remove((file + suffix).c_str());
  }
  fs::rename(restored, database, error);
  if (error) return SystemError(database + " cannot be replaced", error.value());
  VOXLOC_TRY(SyncDirectory(directory));
  return kept;
}

}  // namespace voxloc::server
