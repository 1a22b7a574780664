// SPDX-License-Identifier: Apache-2.0
//
// GatedEngine: a CPU engine whose alignments wait at a gate, for tests that need to know what
// happens while the engine is busy. Thread-safe.

#ifndef VOXLOC_TESTS_SERVER_GATED_ENGINE_H_
#define VOXLOC_TESTS_SERVER_GATED_ENGINE_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/forwarding_engine.h"
#include "tests/support/gate.h"

namespace voxloc::server {

class GatedEngine : public ForwardingEngine {
 public:
  explicit GatedEngine(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}

  std::vector<AlignResult> Align(absl::Span<const AlignJob> jobs) override {
    gate_->Pass(jobs.size());
    return ForwardingEngine::Align(jobs);
  }

 private:
  const std::shared_ptr<Gate> gate_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_GATED_ENGINE_H_
