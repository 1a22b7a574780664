// SPDX-License-Identifier: Apache-2.0
//
// A row under background load of another row.

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/bench/gpu_row.h"

namespace voxloc::bench {
namespace {

// Makes one call after another until it is destroyed, or until one fails.
class CallLoop {
 public:
  explicit CallLoop(Call call) : call_(std::move(call)) {
    thread_ = std::thread([this] {
      for (size_t round = 0; !stopped_ && !failed_; ++round) failed_ = !call_(round).ok();
    });
  }
  ~CallLoop() {
    stopped_ = true;
    thread_.join();
  }
  CallLoop(const CallLoop&) = delete;
  CallLoop& operator=(const CallLoop&) = delete;

  [[nodiscard]] bool failed() const { return failed_; }

 private:
  Call call_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> failed_{false};
  std::thread thread_;
};

}  // namespace

Row WithBackgroundLoad(const Row& row, const Row& other) {
  Row both;
  both.name = absl::StrCat(row.name, ", beside: ", other.name);
  both.item = row.item;
  both.on_device_only = true;
  both.prepare = [row, other](Engine& engine) -> absl::StatusOr<Call> {
    absl::StatusOr<Call> call = row.prepare(engine);
    if (!call.ok()) return call.status();
    absl::StatusOr<Call> beside = other.prepare(engine);
    if (!beside.ok()) return beside.status();
    const auto loop = std::make_shared<CallLoop>(*std::move(beside));
    return Call([call = *std::move(call), loop](size_t round) -> absl::StatusOr<CallResult> {
      if (loop->failed()) return absl::InternalError("what runs beside has failed");
      return call(round);
    });
  };
  return both;
}

}  // namespace voxloc::bench
