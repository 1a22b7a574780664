// SPDX-License-Identifier: Apache-2.0
//
// ScanWork: one scan from its message to its answer. It answers its client exactly once, or not at
// all when it is destroyed because the client has gone. One thread at a time uses it.

#ifndef VOXLOC_SERVER_SCAN_SCAN_WORK_H_
#define VOXLOC_SERVER_SCAN_SCAN_WORK_H_

#include <Eigen/Core>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "core/estimate/quality/sweep_slices.h"
#include "core/tracking/verdict.h"
#include "server/convert/scan.h"
#include "server/runtime/runtime.h"
#include "server/scan/scan_client.h"
#include "server/scan/scan_preparation.h"
#include "server/scan/scan_reply.h"
#include "server/scheduling/scheduler.h"
#include "server/session/scan_source.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/scan.pb.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::server {

class ScanWork : public ScanTask {
 public:
  // `scan` is part of `message`, or stays alive by other means where that is null. `call_trace` is
  // that of the scan's call.
  ScanWork(Runtime& runtime, std::shared_ptr<const ScanSource> source,
           std::shared_ptr<ScanClient> client, std::unique_ptr<v1::AlignScansRequest> message,
           const v1::Scan& scan, const StopToken& stop, const TraceContext& call_trace);

  // Looks at everything but the points. False: the scan is malformed and has been answered.
  [[nodiscard]] bool Check();

  [[nodiscard]] size_t points() const override { return facts_.points + earlier_points_; }
  [[nodiscard]] size_t bytes() const override { return bytes_; }
  [[nodiscard]] absl::Time deadline() const override { return stop_.deadline; }
  [[nodiscard]] bool abandoned() const override {
    return stop_.cancelled != nullptr && stop_.cancelled->load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool Prepare(AlignJob& job, EstimateRequest& estimate, ThreadPool* idle) override;
  [[nodiscard]] std::optional<Pose> SecondGuess() const override { return own_guess_; }
  [[nodiscard]] bool PrefersSecond(const AlignResult& first, const AlignResult& second) override;
  void Complete(AlignResult result, const ScanEstimate* estimate, const BatchFacts& batch) override;
  void Supersede() override;
  void Refuse(absl::string_view why, double retry_after_s) override;
  void Fail(const absl::Status& status) override;
  void GiveUp() override;

 private:
  struct Refusal {
    v1::AlignmentStatus status = v1::ALIGNMENT_STATUS_UNSPECIFIED;
    std::string detail;
  };

  [[nodiscard]] absl::Status CheckFields();

  // The steps of Prepare.
  void FindPlace();
  void FindMap();
  // Which tiles are missing around the guess.
  void FindSurroundings();
  // Why the scan is not to be aligned, whatever its points are.
  [[nodiscard]] std::optional<Refusal> RefusalOfScan() const;
  // `joins`: with the earlier scans of a session that accumulates them.
  [[nodiscard]] absl::Status PreparePoints(bool joins);
  void JoinEarlierScans();
  // Whether a point may have a cell near it at the guess.
  [[nodiscard]] bool IsWithinMap() const;
  void FillJob(AlignJob& job);
  void FillEstimate(const AlignJob& job, EstimateRequest& estimate, ThreadPool* idle);
  // Where the scan was deskewed while the vehicle moved.
  void RequestSweep(AlignJob& job);

  // What the request and the session say of the scan's pose without the scan.
  [[nodiscard]] PriorKnowledge KnownBeforehand() const;
  // Of an accepted result: whether the sweep fits the motion that it was deskewed by.
  void CheckSweep(const AlignResult& result);
  // Of one that has been answered: it may be compared with the map's tiles.
  void TraceDevice(const DeviceTimes& times, std::chrono::steady_clock::time_point end);
  void OfferToFit(const AlignResult& result, double tracking_s);

  // The ends. A malformed scan ends before the checks of the gate, one whose points cannot be used
  // in the midst of them; one that missed its vehicle may lead to a search for it.
  void AnswerInvalid(const absl::Status& status);
  void Answer(v1::AlignmentStatus status, absl::string_view detail);
  // By the engine, in any of its calls.
  void AnswerFailed(const absl::Status& status, double retry_after_s = 0.0);
  void AnswerMissed(v1::AlignmentStatus status, absl::string_view detail,
                    std::optional<AlignResult> own = std::nullopt);
  void AnswerOutOfMap();
  void FinishDiagnostics();
  // What a capture needs to find the same pose again.
  void NoteInputs();
  // Of an aligned scan: the poses that its guess was interpolated from.
  void InterpolatedGuessToProto(const Pose& result_map_T_base);

  Runtime& runtime_;
  const std::shared_ptr<const ScanSource> source_;
  ScanReply reply_;
  std::unique_ptr<v1::AlignScansRequest> message_;  // or its capture has it
  const v1::Scan* scan_;                            // null once the points have been taken
  const size_t bytes_;                              // of the message
  // That it may be joined with, as many as there were when it came.
  size_t earlier_points_ = 0;
  StopToken stop_;
  std::chrono::steady_clock::time_point prepared_at_;

  ScanHints hints_;
  std::optional<Pose> guess_;
  // What the session's poses say, where a recovery has moved the guess away from it.
  std::optional<Pose> own_guess_;
  bool interpolated_ = false;  // the guess is the session's
  bool own_suffices_ = false;  // the alignment from there led to the pose that counts
  std::optional<Matrix6> guess_covariance_;
  std::optional<Eigen::Vector3d> reference_;
  SessionState::Place place_;
  bool placed_ = false;  // it has been looked for
  absl::Status map_status_;
  MapView map_;
  Profile profile_;  // as it is on the map
  TileResidency::Counts tiles_near_;
  PreparedScan prepared_;
  // What is estimated of a deskewed scan, which has no skew; nullopt: what the recipe says.
  std::optional<EstimateOptions> own_estimate_;
  // Of a deskewed scan, and the place of their pass.
  std::optional<SweepSlices> sweep_;
  size_t sweep_pass_ = 0;
  ScanFacts facts_;
  int64_t shown_stamp_ns_ = 0;  // when the base was where the scan shows it
  ScanGate gate_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCAN_SCAN_WORK_H_
