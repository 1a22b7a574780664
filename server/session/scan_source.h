// SPDX-License-Identifier: Apache-2.0
//
// ScanSource: what the scans of one client have in common. A plain value, shared unchanged by the
// scans that it holds for; only the object that `state` points to changes from scan to scan.

#ifndef VOXLOC_SERVER_SESSION_SCAN_SOURCE_H_
#define VOXLOC_SERVER_SESSION_SCAN_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "server/convert/scan_recipe.h"
#include "server/session/session_state.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

struct ScanSource {
  std::string session;  // for logs; empty for callers without one
  std::string vehicle;
  std::string map;
  ScanRecipe recipe;
  uint64_t max_points = 0;
  double timeout_s = 0.0;    // of scans that name none; 0: none
  double max_delay_s = 0.0;  // 0: no limit
  bool own_clock = false;    // stamps are of a clock of the vehicle's own
  std::shared_ptr<SessionState> state;
  // As the client asked for it, in effect now, for captures; null: there are none.
  std::shared_ptr<const v1::ScanSetup> setup;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SESSION_SCAN_SOURCE_H_
