// SPDX-License-Identifier: Apache-2.0
//
// Admission: a counting semaphore without waiting. A Pass holds one of `limit` places and releases
// it when destroyed. Thread-safe. The Admission must outlive its passes.

#ifndef VOXLOC_SERVER_SCHEDULING_ADMISSION_H_
#define VOXLOC_SERVER_SCHEDULING_ADMISSION_H_

#include <atomic>
#include <cstdint>
#include <memory>

namespace voxloc::server {

class Admission {
 public:
  class Pass {
   public:
    explicit Pass(Admission& admission) : admission_(admission) {}
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    ~Pass() { admission_.inside_.fetch_sub(1); }

   private:
    Admission& admission_;
  };

  explicit Admission(uint32_t limit) : limit_(limit) {}

  // Null at the limit.
  [[nodiscard]] std::unique_ptr<Pass> Enter() {
    if (inside_.fetch_add(1) >= limit_) {
      inside_.fetch_sub(1);
      return nullptr;
    }
    return std::make_unique<Pass>(*this);
  }

  [[nodiscard]] uint32_t limit() const { return limit_; }
  // Passes that were given stay valid, also beyond a lower limit.
  void set_limit(uint32_t limit) { limit_ = limit; }

 private:
  std::atomic<uint32_t> limit_;
  std::atomic<uint32_t> inside_{0};
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_ADMISSION_H_
