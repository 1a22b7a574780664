// SPDX-License-Identifier: Apache-2.0
//
// ScanWork: one scan from its message to its answer, through these stages:
//
//   received   Check looks at everything but the points: ScanHints
//   placed     where it is to be aligned, and on what: PlacedScan
//   prepared   its points in the base frame: PreparedScan; then what is asked of the engine
//   aligned    the scheduler brings the result and what was estimated of it
//   judged     whether the result is accepted: Verdict
//   replied    to its client, or handed to a RecoveryWork that looks for a lost vehicle
//
// It answers its client exactly once, or not at all when it is destroyed because the client has
// gone. It may be answered at each stage. One thread at a time uses it.

#ifndef VOXLOC_SERVER_LOCALIZATION_SCAN_WORK_H_
#define VOXLOC_SERVER_LOCALIZATION_SCAN_WORK_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "core/estimate/quality/sweep_slices.h"
#include "core/tracking/verdict.h"
#include "server/convert/scan.h"
#include "server/localization/placed_scan.h"
#include "server/localization/scan_parts.h"
#include "server/localization/scan_preparation.h"
#include "server/localization/scan_reply.h"
#include "server/scheduling/scan_task.h"
#include "server/session/scan_source.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::server {

class ScanWork : public ScanTask {
 public:
  // `call_trace` is that of the scan's call.
  ScanWork(const ScanParts& parts, std::shared_ptr<const ScanSource> source,
           std::shared_ptr<ScanClient> client, ScanMessage message, const StopToken& stop,
           const TraceContext& call_trace);

  // False: the scan is malformed and has been answered.
  [[nodiscard]] bool Check();

  [[nodiscard]] size_t points() const override { return facts_.points + earlier_points_; }
  [[nodiscard]] size_t bytes() const override { return bytes_; }
  [[nodiscard]] absl::Time deadline() const override { return stop_.deadline; }
  [[nodiscard]] bool abandoned() const override {
    return stop_.cancelled != nullptr && stop_.cancelled->load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool Prepare(AlignJob& job, EstimateRequest& estimate, ThreadPool* idle) override;
  [[nodiscard]] std::optional<Pose> SecondGuess() const override {
    return placed_->own_guess_map_T_base;
  }
  [[nodiscard]] bool PrefersSecond(const AlignResult& first, const AlignResult& second) override;
  void Complete(AlignResult result, const ScanEstimate* estimate, const BatchFacts& batch) override;
  void Supersede() override;
  void Refuse(absl::string_view why, double retry_after_s) override;
  void Fail(const absl::Status& status) override;
  void GiveUp() override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Refusal {
    v1::AlignmentStatus status = v1::ALIGNMENT_STATUS_UNSPECIFIED;
    std::string detail;
  };
  // The part of an alignment that shows whether the points were deskewed by the right motion.
  struct Sweep {
    SweepSlices slices;
    size_t pass = 0;  // of the alignment
  };

  [[nodiscard]] absl::Status CheckFields();

  void Place();
  // Why the scan is not to be aligned, whatever its points are.
  [[nodiscard]] std::optional<Refusal> RefusalOfScan() const;
  // `joins`: with the earlier scans of a session that accumulates them.
  [[nodiscard]] absl::Status PreparePoints(bool joins);
  void FillJob(AlignJob& job);
  void FillEstimate(const AlignJob& job, EstimateRequest& estimate, ThreadPool* idle);
  // Where the scan was deskewed while the vehicle moved.
  void RequestSweep(AlignJob& job);

  void TraceEngine(const AlignResult& result, const BatchFacts& batch, Clock::time_point aligned);
  [[nodiscard]] Verdict Judge(const AlignResult& result, const ScanEstimate* estimate) const;
  // Of an accepted result: whether the sweep fits the motion that it was deskewed by.
  void CheckSweep(const AlignResult& result);
  // Of one that has been answered: it may be compared with the map's tiles.
  void OfferToFit(const AlignResult& result, double tracking_s);

  // The answers. A malformed scan ends before the checks of the gate, one whose points cannot be
  // used in the midst of them; one that missed its vehicle may lead to a search for it.
  void Answer(v1::AlignmentStatus status, absl::string_view detail);
  // The engine failed, in any of its calls.
  void AnswerFailed(const absl::Status& status, double retry_after_s = 0.0);
  void AnswerOutOfMap();
  void AnswerMissed(v1::AlignmentStatus status, absl::string_view detail,
                    std::optional<AlignResult> own = std::nullopt);
  // All of an answer but its sending, and what a capture needs to find the same pose again.
  void CompleteReply(v1::AlignmentStatus status, absl::string_view detail);
  // Of an aligned scan: the poses that its guess was interpolated from.
  void InterpolatedGuessToProto(const Pose& result_map_T_base);

  const ScanParts parts_;
  const std::shared_ptr<const ScanSource> source_;
  ScanReply reply_;  // which has the message, until the points have been taken
  ScanFacts facts_;
  ScanGate gate_;

  // Received.
  const size_t bytes_;  // of the message
  StopToken stop_;
  ScanHints hints_;
  // That it may be joined with, as many as there were when it came.
  size_t earlier_points_ = 0;

  std::optional<PlacedScan> placed_;  // nullopt: it is not

  // Prepared.
  PreparedScan prepared_;
  // What is estimated of a deskewed scan, which has no skew; nullopt: what the recipe says.
  std::optional<EstimateOptions> own_estimate_;
  std::optional<Sweep> sweep_;
  Clock::time_point prepared_at_;

  // Aligned: the alignment from the scan's own guess led to the pose that counts.
  bool own_suffices_ = false;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LOCALIZATION_SCAN_WORK_H_
