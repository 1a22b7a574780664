// SPDX-License-Identifier: Apache-2.0

#include "server/capture/capture_recorder.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/status/try.h"
#include "server/observe/logging.h"
#include "server/scheduling/this_thread.h"

namespace voxloc::server {
namespace {

// Scans of the largest size that may wait for the disk.
constexpr uint64_t kMaxQueuedScans = 4;

// Between two looks for captures that are too old: a sixth of the smallest capture.max_age_s.
constexpr absl::Duration kExpiryPeriod = absl::Seconds(10);

uint64_t BitOf(v1::AlignmentStatus status) { return uint64_t{1} << static_cast<unsigned>(status); }

uint64_t BitsOf(const std::vector<std::string>& statuses) {
  uint64_t bits = 0;
  for (const std::string& name : statuses) {
    v1::AlignmentStatus status = v1::ALIGNMENT_STATUS_UNSPECIFIED;
    // The settings allow no others.
    if (v1::AlignmentStatus_Parse("ALIGNMENT_STATUS_" + name, &status)) bits |= BitOf(status);
  }
  return bits;
}

CaptureStore::Limits StoreLimits(const Config& config) {
  CaptureStore::Limits limits;
  limits.max_bytes = config.capture.max_bytes;
  limits.max_capture_bytes = config.limits.max_message_bytes;
  limits.max_age_s = config.capture.max_age_s;
  return limits;
}

}  // namespace

CaptureRecorder::CaptureRecorder(std::string id_prefix, const Metrics& metrics,
                                 CaptureStore::Files files)
    : id_prefix_(std::move(id_prefix)), metrics_(metrics), files_(std::move(files)) {}

CaptureRecorder::~CaptureRecorder() { Stop(); }

void CaptureRecorder::Configure(const Config& config) {
  statuses_ = BitsOf(config.capture.statuses);
  rate_.Set(config.capture.max_per_second);
  if (config.capture.max_bytes == 0) {
    enabled_ = false;
    return;
  }
  const absl::Status status = OpenStore(config);
  if (!status.ok()) {
    Log(LogLevel::kError, "captures_unusable",
        {{"directory", CaptureDirectory(config)}, {"error", status.message()}});
  }
  const absl::MutexLock lock(&mutex_);
  store_error_ = status;
  max_waiting_bytes_ = kMaxQueuedScans * config.limits.max_message_bytes;
  enabled_ = status.ok() && !stopping_;
}

absl::Status CaptureRecorder::OpenStore(const Config& config) {
  std::shared_ptr<CaptureStore> store;
  {
    const absl::MutexLock lock(&mutex_);
    store = store_;
  }
  if (store != nullptr) {
    store->SetLimits(StoreLimits(config));
    return absl::OkStatus();
  }
  const std::string directory = CaptureDirectory(config);
  if (directory.empty()) {
    return absl::FailedPreconditionError("neither capture.directory nor data_dir is set");
  }
  VOXLOC_ASSIGN_OR_RETURN(auto opened, CaptureStore::Open(directory, id_prefix_,
                                                          StoreLimits(config), metrics_, files_));
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

bool CaptureRecorder::ShouldCapture(v1::AlignmentStatus status) {
  if (!enabled() || (statuses_.load(std::memory_order_relaxed) & BitOf(status)) == 0) return false;
  if (rate_.Admit(CaptureRate::Clock::now())) return true;
  metrics_.captures_rate_limited.Increment();
  return false;
}

void CaptureRecorder::Record(CapturedScan scan) {
  if (scan.inputs.has_value() && !IsReplayable(*scan.source, *scan.inputs)) {
    metrics_.captures_not_replayable.Increment();
    return;
  }
  const uint64_t bytes = scan.bytes();
  const absl::MutexLock lock(&mutex_);
  if (stopping_ || waiting_bytes_ + bytes > max_waiting_bytes_) {
    metrics_.captures_queue_full.Increment();
    return;
  }
  waiting_bytes_ += bytes;
  waiting_.push_back(std::move(scan));
}

absl::StatusOr<std::shared_ptr<const CaptureStore>> CaptureRecorder::store() const {
  const absl::MutexLock lock(&mutex_);
  if (enabled() && store_ != nullptr) return store_;
  return absl::FailedPreconditionError(
      store_error_.ok() ? "the server captures no scans; capture.max_bytes switches it on"
                        : "the folder of captures cannot be used; the server's log says why");
}

void CaptureRecorder::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
  enabled_ = false;
}

void CaptureRecorder::Run() {
  SetThreadName("captures");
  LowerThreadPriority();
  const auto has_work = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !waiting_.empty();
  };
  while (true) {
    CapturedScan next;
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
        waiting_bytes_ -= next.bytes();
      }
    }
    if (store == nullptr) continue;
    store->DeleteExpired();
    if (next.scan == nullptr) continue;
    const std::string session = next.source->session;
    const absl::Status status =
        store->Add(MakeCapture(std::move(next), absl::GetCurrentTimeNanos()));
    if (!status.ok()) {
      LogRateLimited(LogLevel::kWarn, "capture_failed",
                     {{"session", session}, {"error", status.message()}});
    }
  }
}

}  // namespace voxloc::server
