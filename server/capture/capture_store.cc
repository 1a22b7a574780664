// SPDX-License-Identifier: Apache-2.0

#include "server/capture/capture_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "server/capture/capture_file.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

constexpr absl::string_view kSuffix = ".capture";
constexpr absl::string_view kUnfinishedSuffix = ".capture.tmp";
constexpr absl::string_view kLockFile = "lock";

class OpenFile {
 public:
  OpenFile(const std::string& path, int flags) : file_(::open(path.c_str(), flags, 0600)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  [[nodiscard]] int get() const { return file_; }

 private:
  const int file_;
};

absl::Status WriteAll(int file, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(path + " cannot be written", errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (::fsync(file) != 0) return SystemError(path + " cannot be synced", errno);
  return absl::OkStatus();
}

struct FileStart {
  std::string bytes;
  uint64_t file_bytes = 0;  // of all
};

// The first `most` bytes, or all there are. NotFound: there is no file; DataLoss: it is not a
// regular one, or cannot be read.
absl::StatusOr<FileStart> ReadStart(const std::string& path, uint64_t most) {
  // Not blocked by a pipe, not led elsewhere by a link.
  const OpenFile file(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file.get() < 0) {
    if (errno == ENOENT) return absl::NotFoundError("there is no such file");
    return absl::DataLossError(SystemError("it cannot be opened", errno).message());
  }
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return absl::DataLossError("it is not a regular file");
  }
  FileStart start;
  start.file_bytes = static_cast<uint64_t>(facts.st_size);
  start.bytes.resize(static_cast<size_t>(std::min(most, start.file_bytes)));
  size_t got = 0;
  while (got < start.bytes.size()) {
    const ssize_t bytes = ::read(file.get(), start.bytes.data() + got, start.bytes.size() - got);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return absl::DataLossError("it cannot be read to its end");
    got += static_cast<size_t>(bytes);
  }
  return start;
}

}  // namespace

absl::Status WriteNewFile(const std::string& path, absl::string_view bytes) {
  const OpenFile file(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW);
  if (file.get() < 0) return SystemError(path + " cannot be created", errno);
  absl::Status status = WriteAll(file.get(), bytes, path);
  if (!status.ok()) ::unlink(path.c_str());
  return status;
}

CaptureStore::CaptureStore(std::string directory, std::string id_prefix,
                           std::unique_ptr<DirectoryLock> lock, const Metrics& metrics, Files files)
    : directory_(std::move(directory)),
      id_prefix_(std::move(id_prefix)),
      lock_(std::move(lock)),
      metrics_(metrics),
      files_(std::move(files)) {}

absl::StatusOr<std::unique_ptr<CaptureStore>> CaptureStore::Open(const std::string& directory,
                                                                 std::string id_prefix,
                                                                 const Limits& limits,
                                                                 const Metrics& metrics,
                                                                 Files files) {
  auto lock = DirectoryLock::Take(directory);
  if (!lock.ok()) return lock.status();
  auto store = absl::WrapUnique(new CaptureStore(directory, std::move(id_prefix), *std::move(lock),
                                                 metrics, std::move(files)));
  if (absl::Status status = store->TakeOver(); !status.ok()) return status;
  store->SetLimits(limits);
  return store;
}

absl::Status CaptureStore::TakeOver() {
  std::error_code error;
  std::filesystem::directory_iterator entry(directory_, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    TakeOverFile(entry->path().filename().string());
  }
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat("the folder of captures cannot be read: ", error.message()));
  }
  const absl::MutexLock lock(&mutex_);
  Log(LogLevel::kInfo, "captures_found",
      {{"directory", directory_}, {"captures", captures_.size()}, {"bytes", bytes_}});
  return absl::OkStatus();
}

void CaptureStore::TakeOverFile(const std::string& name) {
  const std::string path = absl::StrCat(directory_, "/", name);
  if (name == kLockFile) return;
  if (absl::EndsWith(name, kUnfinishedSuffix)) {
    ::unlink(path.c_str());
    return;
  }
  absl::StatusOr<v1::CaptureInfo> info = absl::DataLossError("it is not a file of a capture");
  if (absl::EndsWith(name, kSuffix)) {
    const absl::StatusOr<FileStart> start = ReadStart(path, kCaptureHeadBytes);
    info = start.ok() ? DecodeCaptureInfo(start->bytes, start->file_bytes) : start.status();
    if (info.ok() && info->id() != absl::StripSuffix(name, kSuffix)) {
      info = absl::DataLossError("its name is not that of its capture");
    }
  }
  if (info.ok()) {
    Index(*std::move(info));
  } else {
    LogLimited(LogLevel::kWarn, "capture_left_out",
               {{"file", path}, {"error", info.status().message()}});
  }
}

void CaptureStore::Index(v1::CaptureInfo info) {
  const absl::MutexLock lock(&mutex_);
  bytes_ += info.bytes();
  times_[info.id()] = info.captured_at_ns();
  Place place(info.captured_at_ns(), info.id());
  captures_.emplace(std::move(place), std::move(info));
  Show();
}

void CaptureStore::SetLimits(const Limits& limits) {
  const absl::MutexLock lock(&writing_);
  limits_ = limits;
  DeleteOlderThan(UnixNs() - static_cast<int64_t>(limits.max_age_s * 1e9));
  MakeRoom(0, 0);
}

absl::Status CaptureStore::Add(v1::Capture capture) {
  const absl::MutexLock lock(&writing_);
  const std::string id = NewId();
  capture.mutable_info()->set_id(id);
  const absl::StatusOr<std::string> bytes = EncodeCaptureFile(capture);
  if (!bytes.ok()) {
    metrics_.captures_too_large.Increment();
    return bytes.status();
  }
  const uint64_t most = std::min(limits_.max_bytes, limits_.max_capture_bytes);
  if (bytes->size() > most) {
    metrics_.captures_too_large.Increment();
    return absl::ResourceExhaustedError(absl::StrCat(
        "a capture must have at most ", most,
        " bytes, by capture.max_bytes and limits.max_message_bytes (got ", bytes->size(), ")"));
  }
  MakeRoom(bytes->size(), 1);
  if (absl::Status status = Write(id, *bytes); !status.ok()) {
    metrics_.captures_failed.Increment();
    return status;
  }
  capture.mutable_info()->set_bytes(bytes->size());
  Index(std::move(*capture.mutable_info()));
  metrics_.captures_written.Increment();
  return absl::OkStatus();
}

std::string CaptureStore::NewId() {
  const absl::ReaderMutexLock lock(&mutex_);
  while (true) {
    std::string id = absl::StrCat(id_prefix_, "-", ++last_number_);
    if (times_.count(id) == 0) return id;
  }
}

absl::Status CaptureStore::Write(const std::string& id, absl::string_view bytes) const {
  const std::string path = PathOf(id);
  const std::string unfinished = absl::StrCat(directory_, "/", id, kUnfinishedSuffix);
  if (absl::Status status = files_.write(unfinished, bytes); !status.ok()) return status;
  if (::rename(unfinished.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(unfinished.c_str());
    return SystemError(path + " cannot be created", error);
  }
  return absl::OkStatus();
}

void CaptureStore::MakeRoom(uint64_t bytes, size_t captures) {
  const auto fits = [&] {
    const absl::ReaderMutexLock lock(&mutex_);
    return bytes_ + bytes <= limits_.max_bytes &&
           captures_.size() + captures <= limits_.max_captures;
  };
  while (!fits() && DeleteOldest()) metrics_.captures_deleted_room.Increment();
}

void CaptureStore::DeleteExpired() {
  const absl::MutexLock lock(&writing_);
  DeleteOlderThan(UnixNs() - static_cast<int64_t>(limits_.max_age_s * 1e9));
}

void CaptureStore::DeleteOlderThan(int64_t unix_ns) {
  const auto expired = [&] {
    const absl::ReaderMutexLock lock(&mutex_);
    return !captures_.empty() && captures_.begin()->first.first < unix_ns;
  };
  while (expired() && DeleteOldest()) metrics_.captures_deleted_age.Increment();
}

bool CaptureStore::DeleteOldest() {
  std::string id;
  {
    const absl::MutexLock lock(&mutex_);
    if (captures_.empty()) return false;
    const auto oldest = captures_.begin();
    id = oldest->first.second;
    bytes_ -= oldest->second.bytes();
    times_.erase(id);
    captures_.erase(oldest);
    Show();
  }
  if (::unlink(PathOf(id).c_str()) != 0 && errno != ENOENT) {
    LogLimited(LogLevel::kWarn, "capture_not_deleted",
               {{"id", id}, {"error", SystemError("it cannot be deleted", errno).message()}});
  }
  return true;
}

std::vector<v1::CaptureInfo> CaptureStore::List(
    const std::optional<Place>& before, const std::function<bool(const v1::CaptureInfo&)>& wanted,
    size_t count) const {
  std::vector<v1::CaptureInfo> found;
  const absl::ReaderMutexLock lock(&mutex_);
  auto next = before.has_value() ? captures_.lower_bound(*before) : captures_.end();
  while (next != captures_.begin() && found.size() < count) {
    --next;
    if (wanted(next->second)) found.push_back(next->second);
  }
  return found;
}

std::optional<v1::CaptureInfo> CaptureStore::Find(const std::string& id) const {
  const absl::ReaderMutexLock lock(&mutex_);
  const auto time = times_.find(id);
  if (time == times_.end()) return std::nullopt;
  return captures_.at({time->second, id});
}

absl::StatusOr<v1::Capture> CaptureStore::Read(const std::string& id) const {
  const std::optional<v1::CaptureInfo> info = Find(id);
  if (!info.has_value()) return absl::NotFoundError("there is no such capture");
  // No more than it had when it was indexed, which bounds the memory.
  const absl::StatusOr<FileStart> file = ReadStart(PathOf(id), info->bytes());
  if (absl::IsNotFound(file.status())) return absl::NotFoundError("the capture has been deleted");
  absl::StatusOr<v1::Capture> capture =
      file.ok() ? DecodeCaptureFile(file->bytes) : absl::StatusOr<v1::Capture>(file.status());
  if (capture.ok() && capture->info().id() == id) return capture;
  LogLimited(LogLevel::kWarn, "capture_damaged",
             {{"id", id},
              {"error", capture.ok() ? "the file is of another capture"
                                     : std::string(capture.status().message())}});
  return absl::DataLossError("the capture is damaged; the server's log has more");
}

std::string CaptureStore::PathOf(const std::string& id) const {
  return absl::StrCat(directory_, "/", id, kSuffix);
}

int64_t CaptureStore::UnixNs() const {
  return files_.unix_ns ? files_.unix_ns() : absl::GetCurrentTimeNanos();
}

void CaptureStore::Show() const {
  metrics_.captures_kept.Set(static_cast<double>(captures_.size()));
  metrics_.capture_bytes.Set(static_cast<double>(bytes_));
}

}  // namespace voxloc::server
