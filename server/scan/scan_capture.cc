// SPDX-License-Identifier: Apache-2.0

#include "server/scan/scan_capture.h"

#include <utility>

namespace voxloc::server {

void ScanCapture::Offer(std::shared_ptr<const ScanSource> source, v1::AlignmentResult& result) {
  if (!recorder_.Wants(result.status())) return;
  CapturedScan captured;
  captured.source = std::move(source);
  if (message_ != nullptr) {
    captured.scan.reset(message_->release_scan());
  } else {
    captured.scan = std::make_unique<v1::Scan>(scan_);
  }
  captured.inputs = std::move(inputs_);
  captured.result = ResultToCapture(result);
  recorder_.Record(std::move(captured));
}

}  // namespace voxloc::server
