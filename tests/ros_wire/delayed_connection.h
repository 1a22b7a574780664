// SPDX-License-Identifier: Apache-2.0
//
// A connection of a SlowLink: what comes from one side is handed to the other when it is time.

#ifndef VOXLOC_TESTS_ROS_WIRE_DELAYED_CONNECTION_H_
#define VOXLOC_TESTS_ROS_WIRE_DELAYED_CONNECTION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "tests/ros_wire/slow_link.h"

namespace voxloc::ros_wire {

// A thread that reads, and one that writes when it is time.
class DelayedDirection {
 public:
  // Counts what was lost in `lost`. The sockets are the connection's.
  DelayedDirection(int from, int to, const SlowLinkOptions& options, uint64_t seed,
                   std::atomic<uint64_t>* lost);
  // The sockets must have been shut down.
  ~DelayedDirection();
  DelayedDirection(const DelayedDirection&) = delete;
  DelayedDirection& operator=(const DelayedDirection&) = delete;

 private:
  struct Piece {
    absl::Time due;
    std::string bytes;  // empty: the end
  };

  [[nodiscard]] absl::Time Arrival(size_t bytes);
  void Read();
  void Write();

  const int from_;
  const int to_;
  const SlowLinkOptions options_;
  std::mt19937_64 random_;  // of the reader
  std::atomic<uint64_t>& lost_;
  absl::Mutex mutex_;
  std::deque<Piece> pieces_ ABSL_GUARDED_BY(mutex_);
  size_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time last_due_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::thread reader_;
  std::thread writer_;
};

class DelayedConnection {
 public:
  // Takes both sockets over.
  DelayedConnection(int client, int server, const SlowLinkOptions& options, uint64_t seed,
                    std::atomic<uint64_t>* lost);
  ~DelayedConnection();
  DelayedConnection(const DelayedConnection&) = delete;
  DelayedConnection& operator=(const DelayedConnection&) = delete;

 private:
  const int client_;
  const int server_;
  std::unique_ptr<DelayedDirection> up_;
  std::unique_ptr<DelayedDirection> down_;
};

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_DELAYED_CONNECTION_H_
