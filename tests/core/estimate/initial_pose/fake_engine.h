// SPDX-License-Identifier: Apache-2.0
//
// An engine that aligns as a test says, and remembers what it was asked. One thread at a time.

#ifndef VOXLOC_TESTS_CORE_ESTIMATE_INITIAL_POSE_FAKE_ENGINE_H_
#define VOXLOC_TESTS_CORE_ESTIMATE_INITIAL_POSE_FAKE_ENGINE_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "tests/support/forwarding_engine.h"

namespace voxloc {

class FakeEngine : public ForwardingEngine {
 public:
  // `index` counts all jobs so far.
  using Aligner = std::function<AlignResult(const AlignJob& job, size_t index)>;
  explicit FakeEngine(Aligner aligner) : aligner_(std::move(aligner)) {}

  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    batches.push_back(jobs.size());
    const size_t first = starts.size();
    for (const AlignJob& job : jobs) {
      results[starts.size() - first] = aligner_(job, starts.size());
      starts.push_back(job.map_T_base_guess);
    }
    return absl::OkStatus();
  }
  std::vector<size_t> batches;  // jobs of each call
  std::vector<Pose> starts;     // of all jobs

 private:
  const Aligner aligner_;
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CORE_ESTIMATE_INITIAL_POSE_FAKE_ENGINE_H_
