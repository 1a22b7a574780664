// SPDX-License-Identifier: Apache-2.0

#ifndef VOXLOC_CLIENTS_CLI_REPORT_EVERY_NTH_H_
#define VOXLOC_CLIENTS_CLI_REPORT_EVERY_NTH_H_

#include <cstddef>
#include <utility>
#include <vector>

namespace voxloc::cli {

// Keeps every n-th of the things that it is offered, n the least power of two with which at most
// `most` are left. Works online. For one thread.
template <typename Thing>
class EveryNth {
 public:
  explicit EveryNth(size_t most) : most_(most) {}

  void Offer(const Thing& thing) {
    if (offered_++ % step_ != 0 || most_ == 0) return;
    kept_.push_back(thing);
    if (kept_.size() <= most_) return;
    step_ *= 2;
    for (size_t i = 0; 2 * i < kept_.size(); ++i) kept_[i] = kept_[2 * i];
    kept_.resize((kept_.size() + 1) / 2);
  }

  [[nodiscard]] size_t offered() const { return offered_; }
  [[nodiscard]] std::vector<Thing> Take() { return std::move(kept_); }

 private:
  size_t most_;
  size_t step_ = 1;
  size_t offered_ = 0;
  std::vector<Thing> kept_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPORT_EVERY_NTH_H_
