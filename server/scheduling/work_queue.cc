// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/work_queue.h"

#include <system_error>
#include <utility>

#include "core/parallel/this_thread.h"
#include "server/observe/seconds.h"

namespace voxloc::server {

WorkQueue::WorkQueue(const std::string& thread_name, const Options& options, QueueMetrics metrics)
    : thread_name_(thread_name),
      background_(options.background),
      metrics_(metrics),
      capacity_(options.capacity),
      max_threads_(options.max_threads) {}

bool WorkQueue::Post(std::function<void()> task) {
  const absl::MutexLock lock(&mutex_);
  if (stopping_ || tasks_.size() >= capacity_) return false;
  if (tasks_.size() >= idle_threads_ && threads_.size() < max_threads_) StartThread();
  if (threads_.empty()) return false;
  tasks_.push_back({std::move(task), Clock::now()});
  metrics_.depth.Set(static_cast<double>(tasks_.size()));
  return true;
}

void WorkQueue::StartThread() {
  try {
    threads_.emplace_back([this] {
      SetThreadName(thread_name_);
      if (background_) LowerThreadPriority();
      Run();
    });
    ++idle_threads_;
  } catch (const std::system_error&) {
    // The system has no thread left: the task waits for those there are.
  }
}

void WorkQueue::Stop() {
  std::deque<Task> dropped;
  std::vector<std::thread> threads;
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    dropped.swap(tasks_);
    threads.swap(threads_);
    metrics_.depth.Set(0.0);
  }
  for (std::thread& thread : threads) thread.join();
}

void WorkQueue::Run() {
  while (true) {
    std::function<void()> task;
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](WorkQueue* queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(queue->mutex_) {
            return queue->stopping_ || !queue->tasks_.empty();
          },
          this));
      if (stopping_) return;
      task = std::move(tasks_.front().run);
      const Clock::time_point posted = tasks_.front().posted;
      tasks_.pop_front();
      metrics_.wait_s.Observe(ToSeconds(Clock::now() - posted));
      metrics_.depth.Set(static_cast<double>(tasks_.size()));
      --idle_threads_;
    }
    task();
    task = nullptr;  // what it holds goes before the thread counts as idle
    const absl::MutexLock lock(&mutex_);
    ++idle_threads_;
  }
}

}  // namespace voxloc::server
