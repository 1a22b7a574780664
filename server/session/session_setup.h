// SPDX-License-Identifier: Apache-2.0
//
// From the messages that open and configure a session to what holds for its scans. Thread-safe: no
// shared state.

#ifndef VOXLOC_SERVER_SESSION_SESSION_SETUP_H_
#define VOXLOC_SERVER_SESSION_SESSION_SETUP_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/config/config.h"
#include "server/runtime/runtime.h"
#include "server/scan/scan_source.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::server {

struct OpenedSession {
  ScanSource source;
  uint32_t max_waiting_scans = 1;
  MapView map;
  Profile profile_on_map;
};

// Errors: those that AlignScans gives for `open`.
[[nodiscard]] absl::StatusOr<OpenedSession> OpenSession(const Runtime& runtime,
                                                        const v1::OpenSession& open);

// The source with what `configure` sets replaced; its state is told. InvalidArgument.
[[nodiscard]] absl::StatusOr<ScanSource> ConfigureSession(const Runtime& runtime,
                                                          const ScanSource& source,
                                                          const v1::ConfigureSession& configure);

// The profile as the session's map has it, for replies; as it is where there is no such map now.
[[nodiscard]] Profile CurrentProfile(const Runtime& runtime, const ScanSource& source);

// The recipe of a request that brings everything at once.
[[nodiscard]] absl::StatusOr<ScanRecipe> RecipeFromProto(const Runtime& runtime,
                                                         const v1::AlignmentOptions& options,
                                                         const v1::ScanFilter& filter,
                                                         const v1::OutputOptions& output);

// InvalidArgument: longer than 128 bytes.
[[nodiscard]] absl::Status CheckVehicle(const std::string& vehicle);

// InvalidArgument: not finite, or below 0.
[[nodiscard]] absl::Status CheckSeconds(absl::string_view field, double value);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SESSION_SESSION_SETUP_H_
