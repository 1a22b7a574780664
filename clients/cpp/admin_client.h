// SPDX-License-Identifier: Apache-2.0
//
// Administration of a server: version, engine, devices, limits, profiles, sessions, configuration,
// log level, captured scans and draining. Thread-safe. Every call blocks until the answer or its
// deadline, `timeout_s` from now (0: none). Errors are the server's; the message starts with its
// address and the call.

#ifndef VOXLOC_CLIENTS_CPP_ADMIN_CLIENT_H_
#define VOXLOC_CLIENTS_CPP_ADMIN_CLIENT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"
#include "voxloc/v1/admin_service.pb.h"

namespace voxloc::client {

[[nodiscard]] absl::StatusOr<v1::GetServerInfoResponse> GetServerInfo(const Channel& channel,
                                                                      double timeout_s);

// All open sessions, oldest first; reads all pages. `map` empty: sessions on any map.
[[nodiscard]] absl::StatusOr<std::vector<v1::SessionInfo>> ListSessions(const Channel& channel,
                                                                        const std::string& map,
                                                                        double timeout_s);

// The configuration in effect, and where each value comes from.
[[nodiscard]] absl::StatusOr<v1::GetConfigResponse> GetConfig(const Channel& channel,
                                                              double timeout_s);

// Returns the previous level.
[[nodiscard]] absl::StatusOr<v1::LogLevel> SetLogLevel(const Channel& channel, v1::LogLevel level,
                                                       double timeout_s);

// Drains the server: it accepts no new sessions and ends its streams after `grace_s` (>= 0). A
// repeated call can only shorten the grace period.
[[nodiscard]] absl::StatusOr<v1::DrainResponse> Drain(const Channel& channel, double grace_s,
                                                      const std::string& reason, double timeout_s);

// Cancels a drain; returns the sessions that are still open. FailedPrecondition: the server is not
// draining, is shutting down, or is already ending its streams.
[[nodiscard]] absl::StatusOr<v1::UndrainResponse> Undrain(const Channel& channel, double timeout_s);

// The captured scans of a map and for a purpose, newest first, page after page. `max_captures`:
// upper limit of the number of captures; 0: none.
[[nodiscard]] absl::StatusOr<std::vector<v1::CaptureInfo>> ListCaptures(
    const Channel& channel, v1::ListCapturesRequest request, size_t max_captures, double timeout_s);

// A captured scan with its result. NotFound: unknown id, or the capture was deleted.
[[nodiscard]] absl::StatusOr<v1::Capture> GetCapture(const Channel& channel, const std::string& id,
                                                     double timeout_s);

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_ADMIN_CLIENT_H_
