// SPDX-License-Identifier: Apache-2.0
//
// ScanWork: one scan from its message to its reply, through these stages:
//
//   received   Check validates everything but the points: ScanHints
//   placed     guess, map and profile: PlacedScan
//   prepared   points in the base frame: PreparedScan; then the engine's job
//   aligned    the scheduler delivers the result and its estimates
//   judged     whether the result is accepted: Verdict
//   replied    to the client, or handed to a RecoveryWork that searches for a lost vehicle
//
// Every stage may end with the reply. The client gets exactly one reply, or none where the work is
// destroyed because the client has gone. Used by one thread at a time.

#ifndef VOXLOC_SERVER_LOCALIZATION_SCAN_WORK_H_
#define VOXLOC_SERVER_LOCALIZATION_SCAN_WORK_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "core/estimate/quality/sweep_check.h"
#include "core/tracking/verdict.h"
#include "server/convert/scan.h"
#include "server/localization/scan_inputs.h"
#include "server/localization/scan_reply.h"
#include "server/scheduling/scan_task.h"
#include "server/session/session_state.h"
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
  [[nodiscard]] bool Prepare(AlignJob& job, EstimateRequest& estimate) override;
  [[nodiscard]] std::optional<Pose> SecondGuess() const override {
    return placed_->uncorrected_guess_map_T_base;
  }
  [[nodiscard]] bool PrefersSecond(const AlignResult& first, const AlignResult& second) override;
  void Complete(AlignResult result, const ScanEstimate* estimate, const BatchFacts& batch) override;
  void Supersede() override;
  void Reject(absl::string_view why, double retry_after_s) override;
  void Fail(const absl::Status& status) override;
  void Cancel() override { reply_.Cancel(); }

 private:
  using Clock = std::chrono::steady_clock;

  struct Rejection {
    v1::AlignmentStatus status = v1::ALIGNMENT_STATUS_UNSPECIFIED;
    std::string detail;
  };
  // The extra pass of an alignment that checks the motion by which the points were deskewed.
  struct Sweep {
    SweepSlices slices;
    size_t pass = 0;  // of the alignment
  };

  [[nodiscard]] absl::Status CheckFields();

  void Place();
  // Why the scan is not aligned, apart from its points. nullopt: it is.
  [[nodiscard]] std::optional<Rejection> FindRejection() const;
  // `joins`: with the earlier scans of a session that accumulates them.
  [[nodiscard]] absl::Status PreparePoints(bool joins);
  void FillJob(AlignJob& job);
  void FillEstimate(const AlignJob& job, EstimateRequest& estimate);
  // Has an effect where the scan was deskewed while the vehicle moved.
  void RequestSweep(AlignJob& job);

  void TraceEngine(const AlignResult& result, const BatchFacts& batch, Clock::time_point aligned);
  [[nodiscard]] Verdict Judge(const AlignResult& result, const ScanEstimate* estimate) const;
  // For an accepted result: whether the sweep is consistent with the motion of its deskewing.
  void CheckSweep(const AlignResult& result);
  // After the reply: offers the scan for a comparison with the map's tiles (FitSampler).
  void OfferFitSample(const AlignResult& result, double tracking_s);
  // Likewise to the MapUpdateRecorder.
  void OfferForMapUpdate(const AlignResult& result, double tracking_s);
  // What is left of a scan that was joined with earlier ones: its own points.
  [[nodiscard]] const std::shared_ptr<const PointCloud>& own_points_base() const {
    return prepared_.rays.points_base != nullptr ? prepared_.rays.points_base : prepared_.base;
  }

  // The replies. AnswerOrRecover may start a recovery in place of a reply.
  void Answer(v1::AlignmentStatus status, absl::string_view detail);
  // The engine failed, in any of its calls.
  void AnswerFailed(const absl::Status& status, double retry_after_s = 0.0);
  void AnswerOutOfMap();
  void AnswerOrRecover(v1::AlignmentStatus status, absl::string_view detail,
                       std::optional<AlignResult> own = std::nullopt);
  // Ends the scan in the session's filter, where it has one.
  void Fuse();
  // Completes the reply without sending it, and sets the inputs for a capture.
  void CompleteReply(v1::AlignmentStatus status, absl::string_view detail);
  // Reports the poses that the guess of an aligned scan was interpolated from.
  void InterpolatedGuessToProto(const Pose& result_map_T_base);

  const ScanParts parts_;
  const std::shared_ptr<const ScanSource> source_;
  ScanReply reply_;  // owns the message until ReleasePoints
  ScanFacts facts_;
  ScanGate gate_;

  // Received.
  const size_t bytes_;  // of the message
  StopToken stop_;
  ScanHints hints_;
  // Points of earlier scans that it may be joined with, as of its receipt.
  size_t earlier_points_ = 0;

  std::optional<PlacedScan> placed_;  // nullopt: it is not

  // Prepared.
  PreparedScan prepared_;
  // The recipe's, with what is known of this scan's sweep and stamp.
  EstimateOptions estimate_;
  std::optional<Sweep> sweep_;
  Clock::time_point prepared_at_;

  // Aligned: the alignment from the uncorrected guess converged to the same pose.
  bool uncorrected_suffices_ = false;
  // Judged: of an accepted result, for the session's filter.
  std::optional<ScanObservation> observation_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LOCALIZATION_SCAN_WORK_H_
