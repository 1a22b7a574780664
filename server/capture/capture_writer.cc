// SPDX-License-Identifier: Apache-2.0

#include "server/capture/capture_writer.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/parallel/this_thread.h"
#include "core/status/try.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// Between two looks for captures that are too old: a sixth of the smallest max_age_s.
constexpr absl::Duration kExpiryPeriod = absl::Seconds(10);
// Scans of the largest size that may wait for the disk.
constexpr uint64_t kMaxWaitingScans = 4;

}  // namespace

CaptureWriter::CaptureWriter(std::string settings, std::string id_prefix,
                             const CaptureMetrics& metrics, CaptureStore::Files files)
    : settings_(std::move(settings)),
      id_prefix_(std::move(id_prefix)),
      metrics_(metrics),
      files_(std::move(files)) {}

void CaptureWriter::Configure(const std::string& directory, const CaptureStore::Limits& limits) {
  if (limits.max_bytes == 0) {
    enabled_ = false;
    return;
  }
  const absl::Status status = OpenStore(directory, limits);
  if (!status.ok()) {
    Log(LogLevel::kError, "captures_unusable",
        {{"directory", directory}, {"error", status.message()}});
  }
  const absl::MutexLock lock(&mutex_);
  store_error_ = status;
  max_waiting_bytes_ = kMaxWaitingScans * limits.max_capture_bytes;
  enabled_ = status.ok() && !stopping_;
}

absl::Status CaptureWriter::OpenStore(const std::string& directory,
                                      const CaptureStore::Limits& limits) {
  std::shared_ptr<CaptureStore> store;
  {
    const absl::MutexLock lock(&mutex_);
    store = store_;
  }
  if (store != nullptr) {
    store->SetLimits(limits);
    return absl::OkStatus();
  }
  if (directory.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("neither ", settings_, ".directory nor data_dir is set"));
  }
  VOXLOC_ASSIGN_OR_RETURN(auto opened,
                          CaptureStore::Open(directory, id_prefix_, limits, metrics_, files_));
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(absl::StrCat("no thread can be started: ", error.what()));
    }
  }
  const absl::MutexLock lock(&mutex_);
  store_ = std::move(opened);
  return absl::OkStatus();
}

bool CaptureWriter::Post(std::string session, uint64_t bytes, Work work) {
  const absl::MutexLock lock(&mutex_);
  if (stopping_ || waiting_bytes_ + bytes > max_waiting_bytes_) {
    metrics_.queue_full.Increment();
    return false;
  }
  waiting_bytes_ += bytes;
  waiting_.push_back({std::move(session), bytes, std::move(work)});
  return true;
}

absl::StatusOr<std::shared_ptr<const CaptureStore>> CaptureWriter::store() const {
  const absl::MutexLock lock(&mutex_);
  if (enabled() && store_ != nullptr) return store_;
  return absl::FailedPreconditionError(
      store_error_.ok()
          ? absl::StrCat("the server keeps no such scans; ", settings_, ".max_bytes switches it on")
          : "the folder of captures cannot be used; the server's log says why");
}

void CaptureWriter::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
  enabled_ = false;
}

void CaptureWriter::Run() {
  SetThreadName("captures");
  LowerThreadPriority();
  const auto has_work = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !waiting_.empty();
  };
  while (true) {
    Task next;
    std::shared_ptr<CaptureStore> store;
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&has_work), kExpiryPeriod);
      store = store_;
      if (waiting_.empty()) {
        if (stopping_) return;
      } else {
        next = std::move(waiting_.front());
        waiting_.pop_front();
        waiting_bytes_ -= next.bytes;
      }
    }
    if (store == nullptr) continue;
    store->DeleteExpired();
    if (next.work == nullptr) continue;
    const absl::Status status = next.work(*store);
    if (!status.ok()) {
      LogRateLimited(LogLevel::kWarn, "capture_failed",
                     {{"session", next.session}, {"error", status.message()}});
    }
  }
}

}  // namespace voxloc::server
