// SPDX-License-Identifier: Apache-2.0
//
// From the setup that every call with scans brings to what holds for its scans. Thread-safe: no
// shared state.

#ifndef VOXLOC_SERVER_SESSION_SCAN_SETUP_H_
#define VOXLOC_SERVER_SESSION_SCAN_SETUP_H_

#include "absl/status/statusor.h"
#include "core/engine/profile.h"
#include "server/config/config.h"
#include "server/maps/resident_maps.h"
#include "server/session/scan_source.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

// Of the poses that guesses are interpolated from.
[[nodiscard]] PoseBufferOptions PoseLimits(const Limits& limits, const AlignOptions& align);

struct CheckedSetup {
  ScanSource source;  // without a session and its state
  MapView map;
  Profile profile_on_map;
};

// Errors: InvalidArgument names the field, its value and what is allowed; NotFound: no such map;
// FailedPrecondition: the map is too old, or was built without the profile.
[[nodiscard]] absl::StatusOr<CheckedSetup> CheckSetup(const Config& config,
                                                      const ResidentMaps& maps,
                                                      const v1::ScanSetup& setup);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SESSION_SCAN_SETUP_H_
