// SPDX-License-Identifier: Apache-2.0

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

// SQLite's progress handler; a result other than 0 interrupts the statement.
int OnSqliteProgress(void* progress) {
  return (*static_cast<const Progress*>(progress))(1.0) ? 0 : 1;
}

absl::Status CheckBackup(const std::string& path, const std::string& backup,
                         const Progress& progress) {
  bool cancelled = false;
  const Progress recording = [&](double part) {  // outlives the database, which asks it
    cancelled = cancelled || !progress(part);
    return !cancelled;
  };
  VOXLOC_ASSIGN_OR_RETURN(auto database,
                          SqliteDatabase::Open(path, SqliteDatabase::Access::kWrite));
  sqlite3_progress_handler(database->handle(), kStepsPerProgressCheck, OnSqliteProgress,
                           const_cast<Progress*>(&recording));
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
  if (status.ok() && !report(1.0))
    status = RestoreCancelled();  // from here on it is a matter of milliseconds
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
    status = LinkOrRename(database, kept);
    if (status.ok()) status = LinkOrRename(database + "-wal", kept + "-wal");
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
