// SPDX-License-Identifier: Apache-2.0
//
// DirectoryLock: one process at a time works in a directory. The lock ends with the object, and
// with the process, however that ends. The directory itself is locked beside a file in it, which
// somebody may remove.

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
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<DirectoryLock>> Take(
      const std::string& directory);
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock();

 private:
  DirectoryLock(int file, int folder) : file_(file), folder_(folder) {}

  const int file_;
  const int folder_;  // -1: it cannot be opened
};

// Puts on the disk which files a directory has.
[[nodiscard]] absl::Status SyncDirectory(const std::string& directory);

// The error of a system call: `what` is what could not be done.
[[nodiscard]] absl::Status SystemError(const std::string& what, int error);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_DIRECTORY_LOCK_H_
