// SPDX-License-Identifier: Apache-2.0
//
// ClassRecorder: a forwarding engine that records the work classes of its calls. Thread-safe.

#ifndef VOXLOC_TESTS_SUPPORT_CLASS_RECORDER_H_
#define VOXLOC_TESTS_SUPPORT_CLASS_RECORDER_H_

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "core/engine/align.h"
#include "tests/support/forwarding_engine.h"

namespace voxloc {

struct RecordedClasses {
  std::set<WorkClass> align;
  std::set<WorkClass> score;
  std::set<WorkClass> bound;
  std::set<WorkClass> filter;
};

class ClassRecorder : public ForwardingEngine {
 public:
  using ForwardingEngine::ForwardingEngine;

  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    for (const AlignJob& job : jobs) Record(&RecordedClasses::align, job.work_class);
    return ForwardingEngine::DoAlign(jobs, results);
  }
  absl::StatusOr<ScoreResult> DoScore(const ScoreRequest& request) override {
    Record(&RecordedClasses::score, request.work_class);
    return ForwardingEngine::DoScore(request);
  }
  absl::StatusOr<std::vector<BoundHit>> DoBound(const BoundRequest& request) override {
    Record(&RecordedClasses::bound, request.work_class);
    return ForwardingEngine::DoBound(request);
  }
  absl::StatusOr<FilteredCloud> DoFilter(const PointCloud& cloud, const FilterOptions& options,
                                         WorkClass work_class) override {
    Record(&RecordedClasses::filter, work_class);
    return ForwardingEngine::DoFilter(cloud, options, work_class);
  }

  // Since the last time.
  [[nodiscard]] RecordedClasses Take() {
    absl::MutexLock lock(&mutex_);
    return std::exchange(classes_, {});
  }

 private:
  void Record(std::set<WorkClass> RecordedClasses::*kind, WorkClass work_class) {
    absl::MutexLock lock(&mutex_);
    (classes_.*kind).insert(work_class);
  }

  absl::Mutex mutex_;
  RecordedClasses classes_;
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_CLASS_RECORDER_H_
