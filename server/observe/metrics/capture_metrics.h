// SPDX-License-Identifier: Apache-2.0
//
// The metrics of captures: scans that went badly, kept on the disk. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_CAPTURE_METRICS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_CAPTURE_METRICS_H_

#include "server/observe/metrics/instruments.h"
#include "server/observe/metrics/registrar.h"

namespace voxloc::server {

struct CaptureGroup {
  explicit CaptureGroup(const Registrar& make);

  Counter captures_written;
  Counter captures_rate_limited;    // more than capture.max_per_second
  Counter captures_queue_full;      // too much waited for the disk
  Counter captures_too_large;       // over capture.max_bytes, or over what a reply may have
  Counter captures_not_replayable;  // nothing that could be kept leads to the same pose
  Counter captures_failed;          // the disk was full, or the folder cannot be written
  Counter captures_deleted_age;
  Counter captures_deleted_room;  // for newer ones
  Gauge captures_kept;
  Gauge capture_bytes;  // on the disk
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_CAPTURE_METRICS_H_
