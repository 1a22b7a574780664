// SPDX-License-Identifier: Apache-2.0
//
// WorkQueue: a bounded queue of tasks and one thread that runs them in order. For work that must
// not run on gRPC's threads and is not tracking: building maps, scoring. Thread-safe.
//
// A task is run exactly once or, when the queue is stopped before its turn, destroyed without being
// run.

#ifndef VOXLOC_SERVER_WORK_QUEUE_H_
#define VOXLOC_SERVER_WORK_QUEUE_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/metrics/instruments.h"

namespace voxloc::server {

class WorkQueue {
 public:
  // `depth` shows how many tasks wait.
  WorkQueue(const std::string& thread_name, size_t capacity, Gauge depth);
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  ~WorkQueue();

  // False: the queue is full or stopped, and the task is dropped.
  [[nodiscard]] bool Post(std::function<void()> task);

  // Drops what waits and returns when the running task has ended. Later posts are refused.
  void Stop();

 private:
  void Run();

  const size_t capacity_;
  const Gauge depth_;
  absl::Mutex mutex_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_WORK_QUEUE_H_
