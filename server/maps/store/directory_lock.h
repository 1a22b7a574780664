// SPDX-License-Identifier: Apache-2.0
//
// DirectoryLock: an exclusive lock of a directory between processes. Released with the object, and
// when the process ends in any way. Locks both a file in the directory and the directory itself,
// since the file may be removed.

#ifndef VOXLOC_SERVER_MAPS_STORE_DIRECTORY_LOCK_H_
#define VOXLOC_SERVER_MAPS_STORE_DIRECTORY_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace voxloc::server {

class DirectoryLock {
 public:
  // Creates the directory, where its parent exists, and the file `lock` in it. AlreadyExists:
  // someone has it; the message has that process's id. FailedPrecondition: it cannot be written.
  // ResourceExhausted: the disk is full, and the directory is new.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<DirectoryLock>> Acquire(
      const std::string& directory);
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock();

 private:
  DirectoryLock(int file, int folder) : file_(file), folder_(folder) {}

  const int file_;
  const int folder_;  // -1: it cannot be opened
};

// fsync of a directory.
[[nodiscard]] absl::Status SyncDirectory(const std::string& directory);

// The error of a system call: `what` is what could not be done.
[[nodiscard]] absl::Status SystemError(const std::string& what, int error);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_DIRECTORY_LOCK_H_
