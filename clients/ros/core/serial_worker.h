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

namespace voxloc::ros {

class SerialWorker {
 public:
  // At most `max_waiting` tasks wait.
  explicit SerialWorker(size_t max_waiting);
  // Ends the task that runs, and drops those that wait.
  ~SerialWorker();
  SerialWorker(const SerialWorker&) = delete;
  SerialWorker& operator=(const SerialWorker&) = delete;

  // False: the queue is full or the worker is being destroyed; the task is dropped.
  [[nodiscard]] bool Post(std::function<void()> task);

 private:
  void Run();

  const size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_SERIAL_WORKER_H_
