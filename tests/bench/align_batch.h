// SPDX-License-Identifier: Apache-2.0
//
// Alignments of one call of a benchmark.

#ifndef VOXLOC_TESTS_BENCH_ALIGN_BATCH_H_
#define VOXLOC_TESTS_BENCH_ALIGN_BATCH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/engine/engine.h"
#include "core/parallel/thread_pool.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/gpu_row.h"

namespace voxloc::bench {

// Jobs of a call and the truth of each; the maps come with the engine.
struct AlignBatch {
  std::vector<AlignJob> jobs;
  std::vector<Pose> truth;

  void Add(const BenchScan& scan, const Pose& guess, const Profile& profile);
};

// One call. With `packers` its time begins before the jobs are packed, by those threads; without,
// the engine packs them itself.
[[nodiscard]] absl::StatusOr<CallResult> AlignOnce(Engine& engine, AlignBatch& batch,
                                                   bool with_errors, ThreadPool* packers);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_ALIGN_BATCH_H_
