// SPDX-License-Identifier: Apache-2.0
//
// What a server is and how it is run: version, engine, devices, limits, profiles, sessions,
// configuration, logs, captured scans, and its drain. Thread-safe; every call blocks until the
// answer or its deadline, `timeout_s` from now (0: none). Errors are the server's, with its name
// and the call in the message.

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

// The open sessions, oldest first, page after page: those on one map, or all where `map` is empty.
[[nodiscard]] absl::StatusOr<std::vector<v1::SessionInfo>> ListSessions(const Channel& channel,
                                                                        const std::string& map,
                                                                        double timeout_s);

// The configuration in effect, and where each value comes from.
[[nodiscard]] absl::StatusOr<v1::GetConfigResponse> GetConfig(const Channel& channel,
                                                              double timeout_s);

// The level before.
[[nodiscard]] absl::StatusOr<v1::LogLevel> SetLogLevel(const Channel& channel, v1::LogLevel level,
                                                       double timeout_s);

// Makes the server ready to be stopped: its streams are ended after `grace_s` (>= 0). Asking again
// may only shorten the time.
[[nodiscard]] absl::StatusOr<v1::DrainResponse> Drain(const Channel& channel, double grace_s,
                                                      const std::string& reason, double timeout_s);

// Ends a drain; the sessions that are still open. FailedPrecondition: the server does not drain, is
// being stopped, or ends its streams now.
[[nodiscard]] absl::StatusOr<v1::UndrainResponse> Undrain(const Channel& channel, double timeout_s);

// What the server has captured of scans that went badly, newest first, page after page: those on
// one map, or all where `map` is empty; at most `most`, or all where that is 0.
[[nodiscard]] absl::StatusOr<std::vector<v1::CaptureInfo>> ListCaptures(const Channel& channel,
                                                                        const std::string& map,
                                                                        size_t most,
                                                                        double timeout_s);

// A captured scan with its answer. NotFound: there is none of this id, or no longer.
[[nodiscard]] absl::StatusOr<v1::Capture> GetCapture(const Channel& channel, const std::string& id,
                                                     double timeout_s);

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_ADMIN_CLIENT_H_
