// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/sqlite_backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "server/maps/store/directory_lock.h"
#include "server/maps/store/sqlite_map_store.h"
#include "server/maps/store/store_schema.h"

namespace voxloc::server {
namespace {

// 1 MiB of the default page: others wait for about a millisecond.
constexpr int kPagesCopiedAtOnce = 256;

}  // namespace

SqliteBackup::SqliteBackup(std::string path, std::string partial_path)
    : path_(std::move(path)), partial_path_(std::move(partial_path)) {}

absl::StatusOr<std::unique_ptr<SqliteBackup>> SqliteBackup::Begin(SqliteDatabase& source,
                                                                  const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
  if (file < 0 && errno == EEXIST) {
    return absl::AlreadyExistsError(absl::StrCat("there is a file ", path));
  }
  if (file < 0) return SystemError(path + " cannot be created", errno);
  ::close(file);
  auto backup = absl::WrapUnique(new SqliteBackup(path, path + ".partial"));
  std::remove(backup->partial_path_.c_str());
  auto copy = SqliteDatabase::Open(backup->partial_path_, SqliteDatabase::Access::kCreate);
  if (!copy.ok()) return copy.status();
  backup->copy_ = *std::move(copy);
  // A copy that was not finished is of no use, so it needs no journal.
  absl::Status status = backup->copy_->Run("PRAGMA journal_mode = OFF");
  if (!status.ok()) return status;
  backup->backup_ = sqlite3_backup_init(backup->copy_->handle(), "main", source.handle(), "main");
  if (backup->backup_ == nullptr) {
    return backup->copy_->Error(sqlite3_errcode(backup->copy_->handle()));
  }
  return backup;
}

SqliteBackup::~SqliteBackup() {
  if (backup_ != nullptr) sqlite3_backup_finish(backup_);
  copy_.reset();
  if (finished_) return;
  std::remove(partial_path_.c_str());
  std::remove(path_.c_str());
}

absl::StatusOr<double> SqliteBackup::Step() {
  const int code = sqlite3_backup_step(backup_, kPagesCopiedAtOnce);
  if (code == SQLITE_DONE) return 1.0;
  if (code != SQLITE_OK) {
    sqlite3_backup_finish(std::exchange(backup_, nullptr));
    return copy_->Error(code);
  }
  const double pages = sqlite3_backup_pagecount(backup_);
  return pages > 0.0 ? 1.0 - sqlite3_backup_remaining(backup_) / pages : 0.0;
}

absl::Status SqliteBackup::Finish() {
  const int code = sqlite3_backup_finish(std::exchange(backup_, nullptr));
  if (code != SQLITE_OK) return copy_->Error(code);
  copy_.reset();
  std::error_code error;
  std::filesystem::rename(partial_path_, path_, error);
  if (error) return SystemError(path_ + " cannot be written", error.value());
  finished_ = true;
  const std::string parent = std::filesystem::path(path_).parent_path().string();
  return SyncDirectory(parent.empty() ? "." : parent);
}

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
