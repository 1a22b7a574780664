// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/status/try.h"

namespace voxloc::server {
namespace {

std::string HolderOf(int file) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  const absl::string_view id = absl::StripAsciiWhitespace(
      absl::string_view(text.data(), size > 0 ? static_cast<size_t>(size) : 0));
  return id.empty() ? std::string("another process") : absl::StrCat("process ", id);
}

std::string ParentOf(const std::string& directory) {
  // "a/b/" has the empty name in its end, and "b" the empty parent.
  std::filesystem::path path(directory);
  if (!path.has_filename()) path = path.parent_path();
  const std::string parent = path.parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

absl::Status SystemError(const std::string& what, int error) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
      return absl::ResourceExhaustedError(message);
    case EIO:
      return absl::InternalError(message);
    default:
      return absl::FailedPreconditionError(message);
  }
}

absl::Status SyncDirectory(const std::string& directory) {
  const int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return SystemError(directory + " cannot be opened", errno);
  const int error = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  // Not every file system syncs directories; those that do not, say so with EINVAL.
  if (error != 0 && error != EINVAL) return SystemError(directory + " cannot be synced", error);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<DirectoryLock>> DirectoryLock::Acquire(
    const std::string& directory) {
  if (::mkdir(directory.c_str(), 0750) == 0) {
    VOXLOC_TRY(SyncDirectory(ParentOf(directory)));
  } else if (errno != EEXIST) {
    return SystemError("the data directory " + directory + " cannot be created", errno);
  }
  const std::string path = directory + "/lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (file < 0) return SystemError(path + " cannot be opened", errno);
  const int folder = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  auto lock = absl::WrapUnique(new DirectoryLock(file, folder));
  const bool file_is_locked = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  if (!file_is_locked && errno != EWOULDBLOCK) {
    return SystemError(path + " cannot be locked", errno);
  }
  // File systems that do not lock directories, such as NFS, say so with other errors.
  const bool folder_is_taken =
      folder >= 0 && ::flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!file_is_locked || folder_is_taken) {
    return absl::AlreadyExistsError(
        absl::StrCat("the data directory ", directory, " is in use by ", HolderOf(file)));
  }
  // For the error message of other processes; if the disk is full, the lock works without it.
  const std::string id = absl::StrCat(::getpid(), "\n");
  if (::pwrite(file, id.data(), id.size(), 0) != static_cast<ssize_t>(id.size()) ||
      ::ftruncate(file, static_cast<off_t>(id.size())) != 0) {
    absl::Status status = SystemError(path + " cannot be written", errno);
    if (!absl::IsResourceExhausted(status)) return status;
  }
  return lock;
}

DirectoryLock::~DirectoryLock() {
  if (folder_ >= 0) ::close(folder_);
  ::close(file_);
}

}  // namespace voxloc::server
