// SPDX-License-Identifier: Apache-2.0
//
// SerialWorker: a thread that runs posted tasks one after another. Post does not block.
// Thread-safe.

#ifndef VOXLOC_CLIENTS_ROS_CORE_SERIAL_WORKER_H_
#define VOXLOC_CLIENTS_ROS_CORE_SERIAL_WORKER_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace voxloc::ros {

class SerialWorker {
 public:
  // At most `max_waiting` tasks wait.
  explicit SerialWorker(size_t max_waiting)
      : max_waiting_(max_waiting), thread_([this] { Run(); }) {}
  // Ends the task that runs, and drops those that wait.
  ~SerialWorker() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  SerialWorker(const SerialWorker&) = delete;
  SerialWorker& operator=(const SerialWorker&) = delete;

  // False: the queue is full or the worker is being destroyed; the task is dropped.
  [[nodiscard]] bool Post(std::function<void()> task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_ || waiting_.size() >= max_waiting_) return false;
    waiting_.push_back(std::move(task));
    changed_.notify_all();
    return true;
  }

 private:
  void Run() {
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

  const size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_SERIAL_WORKER_H_
