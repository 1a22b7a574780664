// SPDX-License-Identifier: Apache-2.0
//
// The MapStore on SQLite: embedded in the server, in one file of a data directory, or in memory.
//
// The directory holds `maps.db` (with the files that SQLite keeps beside it) and `lock`, which one
// process holds at a time. Write-ahead log; a commit is synced before it returns, content is synced
// with the commit that first refers to it.

#ifndef VOXLOC_SERVER_MAPS_STORE_SQLITE_MAP_STORE_H_
#define VOXLOC_SERVER_MAPS_STORE_SQLITE_MAP_STORE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/maps/store/map_store.h"

namespace voxloc::server {

// Opens or creates the store of a directory, which is created where its parent exists.
// AlreadyExists: another process has it, with that one's id; FailedPrecondition: it cannot be
// written, or was made by a newer version; DataLoss: the database cannot be read at all; the
// message names the command that restores it. One that is damaged in parts opens: what is readable
// can be read, nothing can be written (DataLoss), and damage() says what was found.
//
// When a sync fails, the call that needed it fails, and all that would write fails from then on
// (Internal): the system may have dropped what it could not write, and a later sync would not
// report it. Reading goes on. What the failed call would have committed is there after the next
// opening, or is not; its request id shows which.
[[nodiscard]] absl::StatusOr<std::unique_ptr<MapStore>> OpenSqliteMapStore(
    const std::string& directory, const MapStoreOptions& options);

// Whether the database of a directory is one that can be opened, as far as the header of its file
// shows; OK where there is none. Opens and changes nothing, also while a process uses it.
// FailedPrecondition: it is of another program, or of a newer version.
[[nodiscard]] absl::Status CheckSqliteMapStore(const std::string& directory);

// In memory: nothing lasts.
[[nodiscard]] absl::StatusOr<std::unique_ptr<MapStore>> MakeMemoryMapStore(
    const MapStoreOptions& options);

// Writes a copy of a directory's database, as it is now, to a new file, also while another process
// uses the directory. Errors and `progress` as MapStore::Backup; FailedPrecondition: there is no
// database.
[[nodiscard]] absl::Status BackupMapStore(const std::string& directory, const std::string& path,
                                          absl::FunctionRef<bool(double)> progress);

// Puts a backup in the place of a directory's database, which may be missing or damaged; the old
// one is kept beside it under another name, which is returned (empty: there was none). DataLoss:
// the backup is damaged; AlreadyExists: a process has the directory open. `progress` gets the
// part of the backup that is copied, from 0 to 1, and again 1 while the copy is checked; it may
// return false to end it: Cancelled, and the directory is as it was.
[[nodiscard]] absl::StatusOr<std::string> RestoreMapStore(
    const std::string& backup, const std::string& directory,
    const std::function<bool(double)>& progress = nullptr);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_SQLITE_MAP_STORE_H_
