// SPDX-License-Identifier: Apache-2.0
//
// A deadline for one exchange within a longer call: cancels the call when it passes.
//
// gRPC's own deadline holds for a whole stream; a stream that lives for hours needs one for each
// exchange. The guard starts a thread, and its destructor ends it. Included by this library's
// sources only.

#ifndef VOXLOC_CLIENTS_CPP_CANCEL_AFTER_H_
#define VOXLOC_CLIENTS_CPP_CANCEL_AFTER_H_

#include <grpcpp/client_context.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace voxloc::client {

class CancelAfter {
 public:
  // 0 or less: never. `context` must outlive the guard.
  CancelAfter(grpc::ClientContext* context, double timeout_s) {
    if (timeout_s <= 0.0) return;
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                              std::chrono::duration<double>(timeout_s));
    thread_ = std::thread([this, context, deadline] {
      std::unique_lock<std::mutex> lock(mutex_);
      if (changed_.wait_until(lock, deadline, [this] { return done_; })) return;
      fired_ = true;
      context->TryCancel();
    });
  }
  ~CancelAfter() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  CancelAfter(const CancelAfter&) = delete;
  CancelAfter& operator=(const CancelAfter&) = delete;

  // Whether the time passed and the call was cancelled.
  [[nodiscard]] bool fired() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return fired_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  bool fired_ = false;
  std::thread thread_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_CANCEL_AFTER_H_
