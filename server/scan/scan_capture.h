// SPDX-License-Identifier: Apache-2.0
//
// ScanCapture: what a scan keeps until it is answered, so that it can be captured if it goes badly.
// While nothing is captured there is none; while something is, it costs a scan a few pointers, and
// the memory of its message for as long as it is worked on. Moved along with the scan; one thread
// at a time uses it.

#ifndef VOXLOC_SERVER_SCAN_SCAN_CAPTURE_H_
#define VOXLOC_SERVER_SCAN_SCAN_CAPTURE_H_

#include <memory>
#include <optional>

#include "server/capture/capture_recorder.h"
#include "server/capture/captured_scan.h"
#include "server/session/scan_source.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::server {

class ScanCapture {
 public:
  // `scan` is part of `message` or, where that is null, stays alive until the scan is answered.
  ScanCapture(CaptureRecorder& recorder, std::unique_ptr<v1::AlignScansRequest> message,
              const v1::Scan& scan)
      : recorder_(recorder), message_(std::move(message)), scan_(scan) {}

  // What the scan was aligned with, or would have been. Without it the scan is kept as it came.
  void SetInputs(AlignmentInputs inputs) { inputs_ = std::move(inputs); }

  // The scan is answered so, now. Once.
  void Offer(std::shared_ptr<const ScanSource> source, v1::AlignmentResult& result);

 private:
  CaptureRecorder& recorder_;
  std::unique_ptr<v1::AlignScansRequest> message_;
  const v1::Scan& scan_;
  std::optional<AlignmentInputs> inputs_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCAN_SCAN_CAPTURE_H_
