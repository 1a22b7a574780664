// SPDX-License-Identifier: Apache-2.0

#include "server/security/access_control.h"

#include <chrono>
#include <utility>

#include "server/observe/logging.h"
#include "server/security/access_file.h"

namespace voxloc::server {
namespace {

// The delay of a token's revocation. A poll is one stat, of microseconds.
constexpr std::chrono::seconds kPollPeriod(1);

}  // namespace

AccessControl::AccessControl(std::string path, const Metrics& metrics)
    : path_(std::move(path)), metrics_(metrics), policy_(std::make_shared<const AccessPolicy>()) {}

absl::Status AccessControl::Reload() {
  if (path_.empty()) return absl::OkStatus();
  // Taken before the file is read: what changes meanwhile is read again.
  const FileStamp stamp = StampOf(path_);
  auto policy = ReadAccessFile(path_);
  const absl::MutexLock lock(&mutex_);
  last_read_ = stamp;
  if (!policy.ok()) {
    metrics_.access_reloads_failed.Increment();
    Log(LogLevel::kError, "access_file_refused", {{"error", policy.status().message()}});
    return policy.status();
  }
  policy_ = std::make_shared<const AccessPolicy>(*std::move(policy));
  generation_.fetch_add(1, std::memory_order_release);
  metrics_.access_reloads_ok.Increment();
  Log(LogLevel::kInfo, "access_file_read",
      {{"file", path_}, {"identities", policy_->identities.size()}});
  return absl::OkStatus();
}

std::shared_ptr<const AccessPolicy> AccessControl::policy() const {
  const absl::MutexLock lock(&mutex_);
  return policy_;
}

TimeoutWatch::Clock::time_point AccessControl::Poll(Clock::time_point now) {
  if (path_.empty()) return TimeoutWatch::kNever;
  const FileStamp stamp = StampOf(path_);
  bool changed = false;
  {
    const absl::MutexLock lock(&mutex_);
    changed = stamp != last_read_;
  }
  if (changed) static_cast<void>(Reload());
  return now + kPollPeriod;
}

}  // namespace voxloc::server
