// SPDX-License-Identifier: Apache-2.0
//
// WorkQueue: a bounded queue of tasks and the threads that take them in order. For work that must
// not run on gRPC's threads and is not tracking: building maps, scoring, searching. Thread-safe.
//
// A task is run exactly once or, when the queue is stopped before its turn, destroyed without being
// run.

#ifndef VOXLOC_SERVER_SCHEDULING_WORK_QUEUE_H_
#define VOXLOC_SERVER_SCHEDULING_WORK_QUEUE_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/observe/metrics/instruments.h"

namespace voxloc::server {

class WorkQueue {
 public:
  struct Options {
    size_t capacity = 0;  // tasks that may wait
    // Tasks at once. A thread is started when a task finds all others busy, and stays.
    size_t max_threads = 1;
    bool background = false;  // the threads have a lower priority
  };

  WorkQueue(const std::string& thread_name, const Options& options, QueueMetrics metrics);
  // One thread.
  WorkQueue(const std::string& thread_name, size_t capacity, QueueMetrics metrics)
      : WorkQueue(thread_name, Options{capacity, 1, false}, metrics) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  ~WorkQueue() { Stop(); }

  // False: the queue is full or stopped, or no thread can be started for it; the task is dropped.
  [[nodiscard]] bool Post(std::function<void()> task);

  // As of Options. What waits stays, and so do threads that were started.
  void SetLimits(size_t capacity, size_t max_threads) {
    const absl::MutexLock lock(&mutex_);
    capacity_ = capacity;
    max_threads_ = max_threads;
  }

  // Drops what waits and returns when the running tasks have ended. Later posts are refused.
  void Stop();

 private:
  using Clock = std::chrono::steady_clock;

  struct Task {
    std::function<void()> run;
    Clock::time_point posted;
  };

  void Run();
  void StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string thread_name_;
  const bool background_;
  const QueueMetrics metrics_;
  absl::Mutex mutex_;
  size_t capacity_ ABSL_GUARDED_BY(mutex_);
  size_t max_threads_ ABSL_GUARDED_BY(mutex_);
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  size_t idle_threads_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_WORK_QUEUE_H_
