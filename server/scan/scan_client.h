// SPDX-License-Identifier: Apache-2.0
//
// ScanClient: who waits for the answer to a scan. Called on a worker, or on the thread that
// submitted the scan.

#ifndef VOXLOC_SERVER_SCAN_SCAN_CLIENT_H_
#define VOXLOC_SERVER_SCAN_SCAN_CLIENT_H_

#include <memory>

#include "voxloc/v1/alignment.pb.h"

namespace voxloc::server {

class ScanClient {
 public:
  virtual ~ScanClient() = default;
  virtual void Answer(std::unique_ptr<v1::AlignmentResult> result) = 0;
  // The client has cancelled the scan's call.
  virtual void AnswerNothing() = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCAN_SCAN_CLIENT_H_
