// SPDX-License-Identifier: Apache-2.0

#include "server/security/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/map/map_name.h"
#include "core/parallel/this_thread.h"
#include "core/status/try.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// What may wait for the disk: as many lines as of the log, and 1 kB of each.
constexpr size_t kMaxWaiting = 8192;
constexpr size_t kMaxWaitingBytes = size_t{8} << 20;
// More than any field has but one that a client has made long. Escaped, a byte has up to four.
constexpr size_t kMaxFieldBytes = 512;
constexpr mode_t kMode = 0640;  // the group may read, such as one that ships logs

std::string Truncated(const std::string& text, size_t most = kMaxFieldBytes) {
  if (text.size() <= most) return text;
  return absl::StrCat(text.substr(0, most), "...(cut from ", text.size(), " bytes)");
}

absl::Status Failed(const std::string& path, const char* what) {
  return absl::InvalidArgumentError(
      absl::StrCat("audit_log: cannot ", what, " ", path, ": ", std::strerror(errno)));
}

}  // namespace

AuditLog::AuditLog(std::string path, const Metrics& metrics)
    : path_(std::move(path)), metrics_(metrics) {
  if (path_.empty()) return;
  writer_ = std::thread([this] {
    SetThreadName("audit");
    Run();
  });
}

AuditLog::~AuditLog() {
  {
    const absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  if (writer_.joinable()) writer_.join();
  const absl::MutexLock lock(&file_mutex_);
  if (file_ >= 0) close(file_);
}

absl::Status AuditLog::Open() {
  if (path_.empty()) return absl::OkStatus();
  const absl::MutexLock lock(&file_mutex_);
  return ReopenIfMoved();
}

void AuditLog::Write(const AuditRecord& record) {
  // The time as the log's lines have it.
  Line line = {absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone()),
               FormatLogLine(LogLevel::kInfo, "audit",
                             {{"caller", Truncated(record.caller)},
                              {"peer", Truncated(record.peer)},
                              {"method", record.method},
                              {"map", Truncated(record.map, kMaxMapNameBytes)},
                              {"revision", record.revision},
                              {"detail", Truncated(record.detail)},
                              {"code", record.code}}),
               // Denied and failed calls, which strangers can make, have a rate of their own.
               record.code == "OK" ? "audit" : "audit_failed_calls"};
  if (path_.empty()) {
    LogLineRateLimited(line.kind, std::move(line.text));
    return;
  }
  {
    const absl::MutexLock lock(&mutex_);
    if (waiting_.size() < kMaxWaiting && waiting_bytes_ + line.text.size() <= kMaxWaitingBytes) {
      waiting_bytes_ += line.text.size();
      waiting_.push_back(std::move(line));
      return;
    }
  }
  LogFailed(absl::ResourceExhaustedError(absl::StrCat("audit_log: ", kMaxWaiting, " lines or ",
                                                      kMaxWaitingBytes >> 20, " MiB wait for ",
                                                      path_, ", the most that may")),
            std::move(line));
}

void AuditLog::Run() {
  while (true) {
    Line line;
    {
      const absl::MutexLock lock(&mutex_);
      const auto any = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return ending_ || !waiting_.empty();
      };
      mutex_.Await(absl::Condition(&any));
      if (waiting_.empty()) return;
      line = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= line.text.size();
    }
    absl::Status status;
    {
      const absl::MutexLock lock(&file_mutex_);
      status = Append(absl::StrCat(line.time, " ", line.text, "\n"));
    }
    if (!status.ok()) LogFailed(status, std::move(line));
  }
}

void AuditLog::LogFailed(const absl::Status& status, Line line) const {
  metrics_.audit_failures.Increment();
  LogRateLimited(LogLevel::kError, "audit_failed", {{"error", status.message()}});
  LogLineRateLimited(line.kind, std::move(line.text));
}

absl::Status AuditLog::Append(const std::string& line) {
  VOXLOC_TRY(ReopenIfMoved());
  ssize_t written = 0;
  do {
    written = write(file_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) return Failed(path_, "write to");
  if (static_cast<size_t>(written) < line.size()) {
    return absl::InvalidArgumentError(absl::StrCat("audit_log: wrote ", written, " of ",
                                                   line.size(), " bytes of a line to ", path_));
  }
  return absl::OkStatus();
}

absl::Status AuditLog::ReopenIfMoved() {
  if (file_ >= 0) {
    struct stat open_file = {};
    struct stat named = {};
    const bool same = fstat(file_, &open_file) == 0 && stat(path_.c_str(), &named) == 0 &&
                      open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
    if (same) return absl::OkStatus();
    close(file_);
  }
  file_ = open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kMode);
  return file_ >= 0 ? absl::OkStatus() : Failed(path_, "open");
}

}  // namespace voxloc::server
