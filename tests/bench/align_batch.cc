// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/align_batch.h"

#include <utility>

namespace voxloc::bench {

void AlignBatch::Add(const BenchScan& scan, const Pose& guess, const Profile& profile) {
  AlignJob job;
  job.scan = scan.cloud;
  job.map_T_base_guess = guess;
  job.profile = profile;
  job.work_class = WorkClass::kTracking;
  jobs.push_back(std::move(job));
  truth.push_back(scan.map_T_base);
}

absl::StatusOr<CallResult> AlignOnce(Engine& engine, AlignBatch& batch, bool with_errors,
                                     ThreadPool* packers) {
  std::vector<AlignResult> results;
  CallResult call;
  call.ms = TimeMs([&] {
    if (packers != nullptr) {
      packers->ParallelFor(batch.jobs.size(),
                           [&](size_t i) { batch.jobs[i].packed = engine.Pack(batch.jobs[i]); });
    }
    results = engine.Align(batch.jobs);
  });
  call.items = static_cast<double>(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const AlignResult& result = results[i];
    if (!result.status.ok()) return result.status;
    call.iterations += result.iterations;
    call.point_evaluations +=
        static_cast<double>(result.evaluations) * static_cast<double>(result.after.points);
    if (with_errors) {
      call.errors_m.push_back(TranslationDistance(result.map_T_base, batch.truth[i]));
    }
  }
  return call;
}

}  // namespace voxloc::bench
