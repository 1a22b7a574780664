// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/serial_worker.h"

#include <utility>

namespace voxloc::ros {

SerialWorker::SerialWorker(size_t max_waiting)
    : max_waiting_(max_waiting), thread_([this] { Run(); }) {}

SerialWorker::~SerialWorker() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

bool SerialWorker::Post(std::function<void()> task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stopping_ || waiting_.size() >= max_waiting_) return false;
  waiting_.push_back(std::move(task));
  changed_.notify_all();
  return true;
}

void SerialWorker::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    const std::function<void()> task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace voxloc::ros
