// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/cancel_after.h"

#include <chrono>

namespace voxloc::client {

CancelAfter::CancelAfter(grpc::ClientContext* context, double timeout_s) {
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

CancelAfter::~CancelAfter() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool CancelAfter::fired() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return fired_;
}

}  // namespace voxloc::client
