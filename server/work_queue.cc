// SPDX-License-Identifier: Apache-2.0

#include "server/work_queue.h"

#include <utility>

#include "server/thread_name.h"

namespace voxloc::server {

WorkQueue::WorkQueue(const std::string& thread_name, size_t capacity, Gauge depth)
    : capacity_(capacity), depth_(depth), thread_([this, thread_name] {
        NameThisThread(thread_name);
        Run();
      }) {}

WorkQueue::~WorkQueue() { Stop(); }

bool WorkQueue::Post(std::function<void()> task) {
  const absl::MutexLock lock(&mutex_);
  if (stopping_ || tasks_.size() >= capacity_) return false;
  tasks_.push_back(std::move(task));
  depth_.Set(static_cast<double>(tasks_.size()));
  return true;
}

void WorkQueue::Stop() {
  std::deque<std::function<void()>> dropped;
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    dropped.swap(tasks_);
    depth_.Set(0.0);
  }
  if (thread_.joinable()) thread_.join();
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
      task = std::move(tasks_.front());
      tasks_.pop_front();
      depth_.Set(static_cast<double>(tasks_.size()));
    }
    task();
  }
}

}  // namespace voxloc::server
