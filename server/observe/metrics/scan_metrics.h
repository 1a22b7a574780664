// SPDX-License-Identifier: Apache-2.0
//
// The metrics of scans: their ways, their stages, their results. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_SCAN_METRICS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_SCAN_METRICS_H_

#include <array>
#include <cstddef>

#include "server/observe/metrics/instruments.h"
#include "server/observe/metrics/registrar.h"

namespace voxloc::server {

inline constexpr size_t kAlignmentStatuses = 18;  // of voxloc.v1.AlignmentStatus

struct ScanGroup {
  explicit ScanGroup(const Registrar& make);

  Counter scans_received;
  Counter scan_points_received;
  Counter dropped_superseded;
  Counter dropped_stale;
  Counter dropped_queue_full;
  Counter dropped_invalid;
  Counter dropped_deadline;
  Counter dropped_closed;  // their client had gone
  std::array<Counter, kAlignmentStatuses> results;

  Histogram scan_duration_s;  // receipt to hand-over of the reply
  Histogram pose_age_s;       // stamp to hand-over of the reply
  Counter pose_age_unknown;   // replies to scans whose stamps are of another clock
  Histogram stage_prepare_s;
  Histogram stage_align_s;
  Histogram stage_estimate_s;
  Histogram stage_encode_s;
  Histogram stage_score_s;
  Histogram stage_build_s;

  Histogram batch_size;
  Histogram iterations;
  Histogram nvtl;
  Histogram matched_ratio;
  Histogram confidence;
  Counter sweeps_suspect;            // scans whose times, stamps or motion look wrong
  Counter scans_near_missing_tiles;  // their map is in memory in part
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_SCAN_METRICS_H_
