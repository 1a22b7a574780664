// SPDX-License-Identifier: Apache-2.0
//
// Where scans come from, and where their answers go.

#ifndef VOXLOC_SERVER_SCAN_SCAN_SOURCE_H_
#define VOXLOC_SERVER_SCAN_SCAN_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/scan/scan_recipe.h"
#include "server/session/session_state.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::server {

// What the scans of one client have in common. Shared unchanged by the scans that it holds for;
// only what `state` points to changes from scan to scan.
struct ScanSource {
  std::string session;  // for logs; empty for callers without one
  std::string vehicle;
  std::string map;
  ScanRecipe recipe;
  uint64_t max_points = 0;
  double timeout_s = 0.0;    // of scans that name none; 0: none
  double max_delay_s = 0.0;  // 0: no limit
  std::shared_ptr<SessionState> state;
};

// Who waits for the answer. Called on a worker, or on the thread that submitted the scan.
class ScanClient {
 public:
  virtual ~ScanClient() = default;
  virtual void Answer(std::unique_ptr<v1::AlignmentResult> result) = 0;
  // A fault of the server kept the scan from being answered.
  virtual void Fail(const absl::Status& status) = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCAN_SCAN_SOURCE_H_
