// SPDX-License-Identifier: Apache-2.0
//
// CaptureWriter: a CaptureStore that the configuration switches on and off, and the low-priority
// thread that writes to it. Responses never wait for it. Thread-safe; Configure and Stop from one
// thread at a time.

#ifndef VOXLOC_SERVER_CAPTURE_CAPTURE_WRITER_H_
#define VOXLOC_SERVER_CAPTURE_CAPTURE_WRITER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/capture/capture_store.h"
#include "server/observe/metrics/metrics.h"

namespace voxloc::server {

class CaptureWriter {
 public:
  // Writes to the store. Run once, or destroyed without being run where there is no store.
  using Work = absl::AnyInvocable<absl::Status(CaptureStore& store)>;

  // Nothing is kept until it is configured. `settings`: the group of the settings that switch it
  // on, for messages. `id_prefix`: see CaptureStore::Open. The metrics must outlive it.
  CaptureWriter(std::string settings, std::string id_prefix, const CaptureMetrics& metrics,
                CaptureStore::Files files);
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;
  ~CaptureWriter() { Stop(); }

  // Puts the limits into effect; 0 bytes switch it off. The folder is the one that was opened
  // first. One that cannot be used is logged, nothing is kept, and the next Configure tries again.
  void Configure(const std::string& directory, const CaptureStore::Limits& limits);

  [[nodiscard]] bool enabled() const { return enabled_.load(std::memory_order_relaxed); }

  // Queues work on a scan of this session that takes so many bytes of memory. An error is logged.
  // False: there is no room, which is counted, or it was stopped. Never blocks.
  bool Post(std::string session, uint64_t bytes, Work work);

  // FailedPrecondition: nothing is kept, or the folder cannot be used.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const CaptureStore>> store() const;

  // Does what is queued. Nothing is kept afterwards.
  void Stop();

 private:
  struct Task {
    std::string session;
    uint64_t bytes = 0;
    Work work;
  };

  void Run();
  [[nodiscard]] absl::Status OpenStore(const std::string& directory,
                                       const CaptureStore::Limits& limits);

  const std::string settings_;
  const std::string id_prefix_;
  const CaptureMetrics& metrics_;
  const CaptureStore::Files files_;

  std::atomic<bool> enabled_{false};
  mutable absl::Mutex mutex_;
  std::shared_ptr<CaptureStore> store_ ABSL_GUARDED_BY(mutex_);  // null: not opened
  absl::Status store_error_ ABSL_GUARDED_BY(mutex_);             // why there is none
  std::deque<Task> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t max_waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // Configure starts it
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CAPTURE_CAPTURE_WRITER_H_
