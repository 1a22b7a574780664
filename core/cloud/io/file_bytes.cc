// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <new>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

absl::Status SystemError(const std::string& path, absl::string_view action, int error) {
  const std::string message =
      absl::StrCat(path, ": cannot ", action, ": ", std::generic_category().message(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EISDIR:
    case ENAMETOOLONG:
      return absl::InvalidArgumentError(message);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::UnavailableError(message);
  }
}

// Writes and closes it.
absl::Status WriteAll(const std::string& path, int descriptor, absl::string_view bytes) {
  absl::Cleanup close = [descriptor] { ::close(descriptor); };
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(path, "write", errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (::fsync(descriptor) != 0) return SystemError(path, "sync", errno);
  // Errors of delayed writes surface here.
  std::move(close).Cancel();
  if (::close(descriptor) != 0) return SystemError(path, "close", errno);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RandomAccessFile> RandomAccessFile::Open(const std::string& path) {
  // Not blocking: opening a pipe without a writer must not hang.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return SystemError(path, "open", errno);
  RandomAccessFile file(path, descriptor, 0);
  struct stat info = {};
  if (::fstat(descriptor, &info) != 0) return SystemError(path, "stat", errno);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": must be a regular file (got ",
                     S_ISDIR(info.st_mode) ? "a directory" : "another kind of file", ")"));
  }
  file.size_ = static_cast<uint64_t>(info.st_size);
  return file;
}

RandomAccessFile::~RandomAccessFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

absl::Status RandomAccessFile::Read(uint64_t offset, size_t count, char* out) const {
  size_t done = 0;
  while (done < count) {
    const ssize_t got =
        ::pread(descriptor_, out + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(path_, "read", errno);
    if (got == 0) {
      return absl::UnavailableError(
          absl::StrCat(path_, ": has become shorter than its ", size_, " bytes"));
    }
    done += static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::Status CheckFileSize(absl::string_view path, uint64_t bytes, uint64_t max_bytes) {
  if (bytes <= max_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(path, ": must have at most ", max_bytes, " bytes (got ", bytes, ")"));
}

absl::StatusOr<FileBytes> ReadFileBytes(const std::string& path, size_t max_bytes) {
  VOXLOC_ASSIGN_OR_RETURN(const RandomAccessFile file, RandomAccessFile::Open(path));
  const uint64_t size = file.size();
  VOXLOC_TRY(CheckFileSize(path, size, max_bytes));
  std::unique_ptr<char[]> data(new (std::nothrow) char[size]);
  if (data == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": no memory for its ", size, " bytes"));
  }
  VOXLOC_TRY(file.Read(0, size, data.get()));
  return FileBytes(std::move(data), size);
}

absl::Status WriteFileBytes(const std::string& path, absl::string_view bytes, unsigned mode) {
  static std::atomic<uint64_t> counter{0};
  const std::string temporary = absl::StrCat(path, ".", ::getpid(), "-", ++counter, kPartSuffix);
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor < 0) return SystemError(path, "create", errno);
  absl::Status status = WriteAll(path, descriptor, bytes);
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    status = SystemError(path, "rename to it", errno);
  }
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace voxloc
