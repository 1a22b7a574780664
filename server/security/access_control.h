// SPDX-License-Identifier: Apache-2.0
//
// AccessControl: the policy in force. A changed file is reloaded within seconds; an invalid one
// leaves the policy as it is. Without a file everybody may do everything. Thread-safe.

#ifndef VOXLOC_SERVER_SECURITY_ACCESS_CONTROL_H_
#define VOXLOC_SERVER_SECURITY_ACCESS_CONTROL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/config/text_file.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/timeout_watch.h"
#include "server/security/access_policy.h"

namespace voxloc::server {

// The access file: a YAML document that says who is known and may do what (docs/security.md).
// Thread-safe: no shared state.

// InvalidArgument: what is wrong, beginning with "NAME:LINE: ". No error repeats a digest.
[[nodiscard]] absl::StatusOr<AccessPolicy> ParseAccessPolicy(absl::string_view yaml,
                                                             absl::string_view name);

// NotFound: the file cannot be read. InvalidArgument: it is wrong, or over 1 MiB.
[[nodiscard]] absl::StatusOr<AccessPolicy> ReadAccessFile(const std::string& path);

class AccessControl : public TimeoutWatch::Watched {
 public:
  // `path`: of the access file; empty: there is none. The metrics must outlive it.
  AccessControl(std::string path, const Metrics& metrics);

  // Reads the file and applies it. Errors: those of ReadAccessFile. Logged and counted either way.
  // Without a file: OK.
  absl::Status Reload();

  [[nodiscard]] bool asks_for_credentials() const { return !path_.empty(); }
  // Of the last valid file; empty before the first.
  [[nodiscard]] std::shared_ptr<const AccessPolicy> policy() const;
  // Changes with the policy.
  [[nodiscard]] uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Reads the file if it has changed.
  TimeoutWatch::Clock::time_point Poll(TimeoutWatch::Clock::time_point now) override;

 private:
  using Clock = TimeoutWatch::Clock;

  const std::string path_;
  const Metrics& metrics_;
  std::atomic<uint64_t> generation_{0};
  mutable absl::Mutex mutex_;
  std::shared_ptr<const AccessPolicy> policy_ ABSL_GUARDED_BY(mutex_);
  FileStamp last_read_ ABSL_GUARDED_BY(mutex_);  // of the file that was read last, right or wrong
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_ACCESS_CONTROL_H_
