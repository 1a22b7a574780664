// SPDX-License-Identifier: Apache-2.0

#include "server/capture/capture_store.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/base/config.h"
#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/checksum/crc32c.h"
#include "core/cloud/io/file_bytes.h"
#include "core/status/try.h"
#include "server/observe/logging.h"

#if !defined(ABSL_IS_LITTLE_ENDIAN)
#error "The file's numbers are little endian, and so must be the host."
#endif

namespace voxloc::server {
namespace {

constexpr absl::string_view kMagic = "voxcap1\n";

// Follows the magic.
struct Header {
  uint64_t capture_bytes = 0;
  uint32_t capture_crc = 0;
  uint32_t info_bytes = 0;
  uint32_t info_crc = 0;
  uint32_t crc = 0;  // of the magic and what stands above
};
static_assert(sizeof(Header) == 24, "the header must have no gaps");

constexpr size_t kHeaderBytes = 8 + sizeof(Header);
constexpr size_t kCrcOffset = kHeaderBytes - sizeof(uint32_t);

// Header and info, from the beginning of a file of `file_bytes`.
struct Head {
  Header header;
  v1::CaptureInfo info;
};

absl::StatusOr<Head> DecodeHead(absl::string_view head, uint64_t file_bytes) {
  if (head.size() < kHeaderBytes || head.substr(0, kMagic.size()) != kMagic) {
    return absl::DataLossError("it is not a file of a capture");
  }
  Header header;
  std::memcpy(&header, head.data() + kMagic.size(), sizeof(header));
  if (header.crc != Crc32c(head.substr(0, kCrcOffset))) {
    return absl::DataLossError("the header is damaged");
  }
  // Without a sum that may overflow.
  const uint64_t rest = file_bytes - kHeaderBytes;
  if (header.info_bytes > rest || header.capture_bytes != rest - header.info_bytes) {
    return absl::DataLossError(absl::StrCat("it must have ", kHeaderBytes, " + ", header.info_bytes,
                                            " + ", header.capture_bytes, " bytes (got ", file_bytes,
                                            ")"));
  }
  const absl::string_view bytes = head.substr(kHeaderBytes, header.info_bytes);
  v1::CaptureInfo info;
  if (bytes.size() < header.info_bytes || Crc32c(bytes) != header.info_crc ||
      !info.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("the info is damaged");
  }
  info.set_bytes(file_bytes);
  return Head{header, std::move(info)};
}

constexpr absl::string_view kSuffix = ".capture";
constexpr absl::string_view kLockFile = "lock";

// Whether the name is that of an unfinished file left by a crash, of this or an earlier version.
bool IsUnfinished(absl::string_view name) {
  return absl::EndsWith(name, ".capture.tmp") ||
         (absl::EndsWith(name, kPartSuffix) && absl::StrContains(name, ".capture."));
}

// The info of a file with this name. DataLoss: it is no capture, is damaged, or cannot be read.
absl::StatusOr<v1::CaptureInfo> ReadInfo(const std::string& path, absl::string_view name) {
  // Not led elsewhere by a link.
  std::error_code error;
  if (!absl::EndsWith(name, kSuffix) || std::filesystem::is_symlink(path, error)) {
    return absl::DataLossError("it is not a file of a capture");
  }
  const absl::StatusOr<RandomAccessFile> file = RandomAccessFile::Open(path);
  if (!file.ok()) return absl::DataLossError(file.status().message());
  std::string head(std::min<uint64_t>(kCaptureHeadBytes, file->size()), '\0');
  if (absl::Status status = file->Read(0, head.size(), head.data()); !status.ok()) {
    return absl::DataLossError(status.message());
  }
  absl::StatusOr<v1::CaptureInfo> info = DecodeCaptureInfo(head, file->size());
  if (info.ok() && info->id() != absl::StripSuffix(name, kSuffix)) {
    return absl::DataLossError("its name is not that of its capture");
  }
  return info;
}

}  // namespace

absl::StatusOr<std::string> EncodeCaptureFile(const v1::Capture& capture) {
  const std::string info = capture.info().SerializeAsString();
  if (kHeaderBytes + info.size() > kCaptureHeadBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the info of a capture must have at most ",
                                                   kCaptureHeadBytes - kHeaderBytes, " bytes (got ",
                                                   info.size(), ")"));
  }
  const std::string body = capture.SerializeAsString();
  Header header;
  header.capture_bytes = body.size();
  header.capture_crc = Crc32c(body);
  header.info_bytes = static_cast<uint32_t>(info.size());
  header.info_crc = Crc32c(info);
  std::string file(kMagic);
  file.append(reinterpret_cast<const char*>(&header), sizeof(header));
  header.crc = Crc32c(absl::string_view(file).substr(0, kCrcOffset));
  std::memcpy(file.data() + kCrcOffset, &header.crc, sizeof(header.crc));
  return absl::StrCat(file, info, body);
}

absl::StatusOr<v1::CaptureInfo> DecodeCaptureInfo(absl::string_view head, uint64_t file_bytes) {
  VOXLOC_ASSIGN_OR_RETURN(Head decoded, DecodeHead(head, file_bytes));
  return std::move(decoded.info);
}

absl::StatusOr<v1::Capture> DecodeCaptureFile(absl::string_view file) {
  VOXLOC_ASSIGN_OR_RETURN(Head head, DecodeHead(file, file.size()));
  const absl::string_view body = file.substr(kHeaderBytes + head.header.info_bytes);
  v1::Capture capture;
  if (body.size() > INT32_MAX || Crc32c(body) != head.header.capture_crc ||
      !capture.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return absl::DataLossError("the capture is damaged");
  }
  *capture.mutable_info() = std::move(head.info);
  return capture;
}

absl::Status WriteCaptureFile(const std::string& path, absl::string_view bytes) {
  return WriteFileBytes(path, bytes, 0600);
}

absl::StatusOr<std::unique_ptr<CaptureStore>> CaptureStore::Open(const std::string& directory,
                                                                 std::string id_prefix,
                                                                 const Limits& limits,
                                                                 const CaptureMetrics& metrics,
                                                                 Files files) {
  VOXLOC_ASSIGN_OR_RETURN(auto lock, DirectoryLock::Acquire(directory));
  auto store = absl::WrapUnique(new CaptureStore(directory, std::move(id_prefix), std::move(lock),
                                                 metrics, std::move(files)));
  VOXLOC_TRY(store->LoadIndex());
  store->SetLimits(limits);
  return store;
}

absl::Status CaptureStore::LoadIndex() {
  std::error_code error;
  std::filesystem::directory_iterator entry(directory_, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string();
    const std::string name = entry->path().filename().string();
    if (name == kLockFile) continue;
    if (IsUnfinished(name)) {
      ::unlink(path.c_str());
      continue;
    }
    absl::StatusOr<v1::CaptureInfo> info = ReadInfo(path, name);
    if (info.ok()) {
      Index(*std::move(info));
    } else {
      LogRateLimited(LogLevel::kWarn, "capture_left_out",
                     {{"file", path}, {"error", info.status().message()}});
    }
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

void CaptureStore::Index(v1::CaptureInfo info) {
  const absl::MutexLock lock(&mutex_);
  bytes_ += info.bytes();
  Key place(info.captured_at_ns(), info.id());
  times_ns_.emplace(info.id(), info.captured_at_ns());
  captures_.emplace(std::move(place), std::move(info));
  UpdateMetrics();
}

void CaptureStore::SetLimits(const Limits& limits) {
  const absl::MutexLock lock(&write_mutex_);
  limits_ = limits;
  DeleteUntilFree(0, 0);
}

absl::Status CaptureStore::Add(v1::Capture capture) {
  const absl::MutexLock lock(&write_mutex_);
  const std::string id = NewId();
  capture.mutable_info()->set_id(id);
  const absl::StatusOr<std::string> bytes = EncodeCaptureFile(capture);
  if (!bytes.ok()) {
    metrics_.too_large.Increment();
    return bytes.status();
  }
  const uint64_t most = std::min(limits_.max_bytes, limits_.max_capture_bytes);
  if (bytes->size() > most) {
    metrics_.too_large.Increment();
    return absl::ResourceExhaustedError(absl::StrCat(
        "a capture must have at most ", most,
        " bytes, by capture.max_bytes and limits.max_message_bytes (got ", bytes->size(), ")"));
  }
  DeleteUntilFree(bytes->size(), 1);
  if (absl::Status status = files_.write(PathOf(id), *bytes); !status.ok()) {
    metrics_.failed.Increment();
    return status;
  }
  capture.mutable_info()->set_bytes(bytes->size());
  Index(std::move(*capture.mutable_info()));
  metrics_.written.Increment();
  return absl::OkStatus();
}

std::string CaptureStore::NewId() {
  std::string id;
  do {
    id = absl::StrCat(id_prefix_, "-", ++last_number_);
  } while (Find(id).has_value());
  return id;
}

void CaptureStore::DeleteExpired() {
  const absl::MutexLock lock(&write_mutex_);
  DeleteUntilFree(0, 0);
}

void CaptureStore::DeleteUntilFree(uint64_t bytes, size_t captures) {
  const int64_t oldest_ns = files_.unix_ns() - static_cast<int64_t>(limits_.max_age_s * 1e9);
  while (true) {
    std::string id;
    {
      const absl::MutexLock lock(&mutex_);
      if (captures_.empty()) return;
      const auto oldest = captures_.begin();
      const bool expired = oldest->first.first < oldest_ns;
      const bool fits = bytes_ + bytes <= limits_.max_bytes &&
                        captures_.size() + captures <= limits_.max_captures;
      if (!expired && fits) return;
      (expired ? metrics_.deleted_age : metrics_.deleted_room).Increment();
      id = oldest->first.second;
      bytes_ -= oldest->second.bytes();
      captures_.erase(oldest);
      times_ns_.erase(id);
      UpdateMetrics();
    }
    if (::unlink(PathOf(id).c_str()) != 0 && errno != ENOENT) {
      LogRateLimited(LogLevel::kWarn, "capture_not_deleted",
                     {{"id", id}, {"error", SystemError("it cannot be deleted", errno).message()}});
    }
  }
}

std::vector<v1::CaptureInfo> CaptureStore::List(
    const std::optional<Key>& before, const std::function<bool(const v1::CaptureInfo&)>& filter,
    size_t count) const {
  std::vector<v1::CaptureInfo> found;
  const absl::ReaderMutexLock lock(&mutex_);
  auto next = before.has_value() ? captures_.lower_bound(*before) : captures_.end();
  while (next != captures_.begin() && found.size() < count) {
    --next;
    if (filter(next->second)) found.push_back(next->second);
  }
  return found;
}

std::optional<v1::CaptureInfo> CaptureStore::Find(const std::string& id) const {
  const absl::ReaderMutexLock lock(&mutex_);
  const auto time_ns = times_ns_.find(id);
  if (time_ns == times_ns_.end()) return std::nullopt;
  return captures_.at(Key(time_ns->second, id));
}

absl::StatusOr<v1::Capture> CaptureStore::Read(const std::string& id) const {
  const std::optional<v1::CaptureInfo> info = Find(id);
  if (!info.has_value()) return absl::NotFoundError("there is no such capture");
  // No more than it had when it was indexed, which bounds the memory.
  const absl::StatusOr<FileBytes> file = ReadFileBytes(PathOf(id), info->bytes());
  if (absl::IsNotFound(file.status())) return absl::NotFoundError("the capture has been deleted");
  absl::StatusOr<v1::Capture> capture =
      file.ok() ? DecodeCaptureFile(file->view()) : absl::StatusOr<v1::Capture>(file.status());
  if (capture.ok() && capture->info().id() == id) return capture;
  LogRateLimited(LogLevel::kWarn, "capture_damaged",
                 {{"id", id},
                  {"error", capture.ok() ? "the file is of another capture"
                                         : std::string(capture.status().message())}});
  return absl::DataLossError("the capture is damaged; the server's log has more");
}

std::string CaptureStore::PathOf(const std::string& id) const {
  return absl::StrCat(directory_, "/", id, kSuffix);
}

void CaptureStore::UpdateMetrics() const {
  metrics_.kept.Set(static_cast<double>(captures_.size()));
  metrics_.bytes.Set(static_cast<double>(bytes_));
}

}  // namespace voxloc::server
