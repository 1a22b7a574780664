// SPDX-License-Identifier: Apache-2.0

// A write-ahead log that an earlier run left.

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/maps/store/sqlite_database.h"

namespace voxloc::server {
namespace {

// SQLite's layer for Unix writes less than 128 KiB at once.
constexpr sqlite3_int64 kChunkBytes = 1 << 16;

// SQLite's file layer asks for file names that it can look for parameters behind.
struct FileNameDeleter {
  void operator()(char* name) const { sqlite3_free_filename(name); }
};

// Clients see the errors, so these have the name without the folder.
std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

absl::Status LogError(const std::string& path, absl::string_view what, int code) {
  const std::string message =
      absl::StrCat(NameOf(path), " cannot be ", what, ": ", sqlite3_errstr(code), " (", code, ")");
  if ((code & 0xff) == SQLITE_FULL) return absl::ResourceExhaustedError(message);
  return absl::InternalError(message);
}

absl::Status RewriteFile(sqlite3_file* file, const std::string& path) {
  sqlite3_int64 size = 0;
  int code = file->pMethods->xFileSize(file, &size);
  if (code != SQLITE_OK) return LogError(path, "measured", code);
  std::vector<char> chunk(static_cast<size_t>(std::min(size, kChunkBytes)));
  for (sqlite3_int64 at = 0; at < size; at += kChunkBytes) {
    const int bytes = static_cast<int>(std::min(size - at, kChunkBytes));
    code = file->pMethods->xRead(file, chunk.data(), bytes, at);
    if (code != SQLITE_OK) return LogError(path, "read", code);
    code = file->pMethods->xWrite(file, chunk.data(), bytes, at);
    if (code != SQLITE_OK) return LogError(path, "written", code);
  }
  code = file->pMethods->xSync(file, SQLITE_SYNC_FULL);
  return code == SQLITE_OK ? absl::OkStatus() : LogError(path, "synced", code);
}

}  // namespace

absl::Status RewriteWal(const std::string& database_path) {
  // Through SQLite's file layer, as all that the store writes.
  sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  if (vfs == nullptr) return absl::InternalError("SQLite has no file layer");
  const std::string path = database_path + "-wal";
  int exists = 0;
  int code = vfs->xAccess(vfs, path.c_str(), SQLITE_ACCESS_EXISTS, &exists);
  if (code != SQLITE_OK) return LogError(path, "looked for", code);
  if (exists == 0) return absl::OkStatus();

  const std::unique_ptr<char, FileNameDeleter> name(const_cast<char*>(
      sqlite3_create_filename(database_path.c_str(), "", path.c_str(), 0, nullptr)));
  if (name == nullptr) return absl::ResourceExhaustedError("out of memory");
  // The aligned memory of a file of that layer.
  std::vector<std::max_align_t> memory(
      static_cast<size_t>(vfs->szOsFile) / sizeof(std::max_align_t) + 1);
  auto* const file = reinterpret_cast<sqlite3_file*>(memory.data());
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL;
  code = vfs->xOpen(vfs, sqlite3_filename_wal(name.get()), file, flags, &flags);
  if (code != SQLITE_OK) {
    if (file->pMethods != nullptr) file->pMethods->xClose(file);
    if ((code & 0xff) == SQLITE_CANTOPEN) {
      return absl::FailedPreconditionError(NameOf(path) + " cannot be opened for writing");
    }
    return LogError(path, "opened", code);
  }
  absl::Status status = RewriteFile(file, path);
  file->pMethods->xClose(file);
  return status;
}

}  // namespace voxloc::server
