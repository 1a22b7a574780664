// SPDX-License-Identifier: Apache-2.0
//
// Converts and checks the setup of calls with scans, and the messages that open and configure a
// session, to a ScanSource. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_SESSION_SESSION_SETUP_H_
#define VOXLOC_SERVER_SESSION_SESSION_SETUP_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "core/engine/profile.h"
#include "server/config/config.h"
#include "server/maps/last_poses.h"
#include "server/maps/resident_maps.h"
#include "server/session/session_state.h"
#include "voxloc/v1/scan.pb.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::server {

// The limits of the poses that guesses are interpolated from.
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

struct OpenedSession : CheckedSetup {
  uint32_t max_waiting_scans = 1;
  std::optional<LastPose> last_pose = std::nullopt;  // that it begins from
};

// Errors: those that AlignScans gives for `open`.
[[nodiscard]] absl::StatusOr<OpenedSession> OpenSession(const Config& config,
                                                        const ResidentMaps& maps,
                                                        const LastPoses& last_poses,
                                                        const v1::OpenSession& open);

// The source with what `configure` sets replaced; its state receives the new limits.
// InvalidArgument.
[[nodiscard]] absl::StatusOr<ScanSource> ConfigureSession(const Config& config,
                                                          const ResidentMaps& maps,
                                                          const ScanSource& source,
                                                          const v1::ConfigureSession& configure);

// The profile as the session's map has it, for replies; as it is where there is no such map now.
[[nodiscard]] Profile CurrentProfile(const ResidentMaps& maps, const ScanSource& source);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SESSION_SESSION_SETUP_H_
