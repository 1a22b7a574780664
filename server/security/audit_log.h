// SPDX-License-Identifier: Apache-2.0
//
// AuditLog: one line for each call that writes maps or needs the role admin, also denied ones. A
// separate file is written by its own thread, so that no call waits for a disk: one write per line;
// the file is reopened after it has been moved. Long fields are truncated, with a mark. The queue
// is bounded in lines and bytes, and is flushed at the end. A line that cannot be written or
// queued is logged and counted, and the call continues. Without a file, lines go to the log at a
// limited rate (LogLineRateLimited), counted separately for calls that succeed and others.
// Thread-safe.

#ifndef VOXLOC_SERVER_SECURITY_AUDIT_LOG_H_
#define VOXLOC_SERVER_SECURITY_AUDIT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
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

  // Hands a line over. Does not wait for the file.
  void Write(const AuditRecord& record);

 private:
  struct Line {
    std::string time;
    std::string text;        // as the log has it
    absl::string_view kind;  // of LogLineRateLimited
  };

  void Run();
  void LogFailed(const absl::Status& status, Line line) const;
  absl::Status Append(const std::string& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(file_mutex_);
  absl::Status ReopenIfMoved() ABSL_EXCLUSIVE_LOCKS_REQUIRED(file_mutex_);

  const std::string path_;
  const Metrics& metrics_;
  absl::Mutex file_mutex_;
  int file_ ABSL_GUARDED_BY(file_mutex_) = -1;
  absl::Mutex mutex_;
  std::deque<Line> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread writer_;  // none without a file
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_AUDIT_LOG_H_
