// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/capture_metrics.h"

namespace voxloc::server {
namespace {

constexpr MetricName kCapturesWritten = {"voxloc_captures_written_total",
                                         "Scans that went badly and were written to the disk."};
constexpr MetricName kCapturesDropped = {
    "voxloc_captures_dropped_total",
    "Scans that went badly and were not captured: there were more than capture.max_per_second "
    "(rate), too many bytes waited for the disk (queue_full), they would not fit into "
    "capture.max_bytes or into a reply (too_large), nothing that could be kept leads to the same "
    "pose (not_replayable), the disk was full or not writable (failed).",
    "reason"};
constexpr MetricName kCapturesDeleted = {
    "voxloc_captures_deleted_total",
    "Captures that were deleted: they were older than capture.max_age_s (age), or newer ones "
    "needed the room (room).",
    "reason"};
constexpr MetricName kCapturesKept = {"voxloc_captures_kept", "Captures on the disk."};
constexpr MetricName kCaptureBytes = {"voxloc_capture_bytes", "Bytes of the captures on the disk."};

}  // namespace

CaptureGroup::CaptureGroup(const Registrar& make)
    : captures_written(make.MakeCounter(kCapturesWritten)),
      captures_rate_limited(make.CounterOf(kCapturesDropped, "rate")),
      captures_queue_full(make.CounterOf(kCapturesDropped, "queue_full")),
      captures_too_large(make.CounterOf(kCapturesDropped, "too_large")),
      captures_not_replayable(make.CounterOf(kCapturesDropped, "not_replayable")),
      captures_failed(make.CounterOf(kCapturesDropped, "failed")),
      captures_deleted_age(make.CounterOf(kCapturesDeleted, "age")),
      captures_deleted_room(make.CounterOf(kCapturesDeleted, "room")),
      captures_kept(make.MakeGauge(kCapturesKept)),
      capture_bytes(make.MakeGauge(kCaptureBytes)) {}

}  // namespace voxloc::server
