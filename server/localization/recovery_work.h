// SPDX-License-Identifier: Apache-2.0
//
// RecoveryWork: one recovery step of a session that has lost its vehicle, with the reply that waits
// for it: a search for the vehicle, or a check whether the scan agrees with a pose found before.
// Runs on the searching queue, in parallel to tracking. Used by one thread at a time.

#ifndef VOXLOC_SERVER_LOCALIZATION_RECOVERY_WORK_H_
#define VOXLOC_SERVER_LOCALIZATION_RECOVERY_WORK_H_

#include <memory>
#include <optional>
#include <utility>

#include "core/tracking/recovery.h"
#include "server/localization/scan_inputs.h"
#include "server/localization/scan_reply.h"
#include "server/scheduling/limits.h"
#include "server/session/session_state.h"

namespace voxloc::server {

// What is to be found, and where.
struct RecoveryTask {
  MapView map;
  AlignJob job;  // its guess is not used
  RecoveryStep step;
  std::optional<AlignResult> own;  // of the alignment from the scan's own guess, if there was one
  ScanRays rays;
  std::optional<Pose> odometry_T_base;  // at the scan
};

class RecoveryWork {
 public:
  // Queues the step, which the source's session has returned. At the limit of recoveries the reply
  // is sent at once and says so.
  static void Start(const ScanParts& parts, std::shared_ptr<const ScanSource> source,
                    RecoveryTask task, ScanReply reply);

  RecoveryWork(const ScanParts& parts, std::shared_ptr<const ScanSource> source, RecoveryTask task,
               ScanReply reply)
      : parts_(parts),
        source_(std::move(source)),
        task_(std::move(task)),
        reply_(std::move(reply)),
        pass_(parts_.recoveries.Enter()) {}
  RecoveryWork(const RecoveryWork&) = delete;
  RecoveryWork& operator=(const RecoveryWork&) = delete;
  ~RecoveryWork() {
    if (!ended_) source_->state->AbandonStep(task_.step);
  }

 private:
  // Each of these ends the session's step.
  void Run();
  void Reject(absl::string_view detail);
  // Writes the outcome and sends the reply.
  void Conclude(const RecoveryOutcome& outcome);

  const ScanParts parts_;
  const std::shared_ptr<const ScanSource> source_;
  const RecoveryTask task_;
  ScanReply reply_;
  Admission::Pass pass_;  // until the reply is sent; null: at the limit, it can only be rejected
  std::optional<Matrix6> covariance_;  // of the pose whose confidence was computed last
  bool ended_ = false;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LOCALIZATION_RECOVERY_WORK_H_
