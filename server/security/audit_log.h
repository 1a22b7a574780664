// SPDX-License-Identifier: Apache-2.0
//
// AuditLog: one line for each call that writes maps or does what only admins may, denied ones too.
// In a file of its own each line is written at once with one call of write, so that none is lost in
// a queue; the file is opened anew when it has been moved away. A line that cannot be written is
// logged and counted, and the call goes on. Thread-safe.

#ifndef VOXLOC_SERVER_SECURITY_AUDIT_LOG_H_
#define VOXLOC_SERVER_SECURITY_AUDIT_LOG_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/observe/metrics/metrics.h"

namespace voxloc::server {

struct AuditRecord {
  std::string caller;  // empty: not known, or not asked
  std::string peer;
  std::string method;
  std::string map;        // empty: none
  uint64_t revision = 0;  // 0: none
  std::string detail;     // what was changed, or was to be
  std::string code;       // of gRPC: "OK"
};

class AuditLog {
 public:
  // `path`: the file; empty: the log takes the lines, as event `audit` whatever its level. The
  // metrics must outlive it.
  AuditLog(std::string path, const Metrics& metrics);
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;
  ~AuditLog();

  // InvalidArgument: the file cannot be written to.
  [[nodiscard]] absl::Status Open();

  void Write(const AuditRecord& record);

 private:
  absl::Status Append(const std::string& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status OpenWhereMoved() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const Metrics& metrics_;
  absl::Mutex mutex_;
  int file_ ABSL_GUARDED_BY(mutex_) = -1;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_AUDIT_LOG_H_
