// SPDX-License-Identifier: Apache-2.0
//
// GatedEngine: an engine whose alignments wait at a gate, for tests that need to know what happens
// while the engine is busy. Thread-safe.

#ifndef VOXLOC_TESTS_SERVER_GATED_ENGINE_H_
#define VOXLOC_TESTS_SERVER_GATED_ENGINE_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/forwarding_engine.h"
#include "tests/support/gate.h"

namespace voxloc::server {

class GatedEngine : public ForwardingEngine {
 public:
  // Which calls wait; all of them where it is null.
  using Holds = std::function<bool(absl::Span<const AlignJob>)>;

  explicit GatedEngine(std::shared_ptr<Gate> gate, Holds holds = nullptr,
                       std::unique_ptr<Engine> engine = MakeCpuEngine({1}))
      : ForwardingEngine(std::move(engine)), gate_(std::move(gate)), holds_(std::move(holds)) {}

  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    if (holds_ == nullptr || holds_(jobs)) gate_->Pass(jobs.size());
    return ForwardingEngine::DoAlign(jobs, results);
  }

 private:
  const std::shared_ptr<Gate> gate_;
  const Holds holds_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_GATED_ENGINE_H_
