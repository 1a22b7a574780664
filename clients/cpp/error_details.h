// SPDX-License-Identifier: Apache-2.0
//
// The structured details of an error, as sent by the server: use these in programs, and the message
// for people. Thread-safe: no shared state.

#ifndef VOXLOC_CLIENTS_CPP_ERROR_DETAILS_H_
#define VOXLOC_CLIENTS_CPP_ERROR_DETAILS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace voxloc::client {

// The reason code, such as "MAP_NOT_FOUND" (listed in docs/errors.md). Empty: the error is not the
// server's, or the server is too old to send one.
[[nodiscard]] std::string ReasonOf(const absl::Status& status);

// A metadata value of the reason, such as that of "revision". Empty: there is none.
[[nodiscard]] std::string ReasonValue(const absl::Status& status, const std::string& key);

// Seconds to wait before a retry. nullopt: not given by the server.
[[nodiscard]] std::optional<double> RetryAfterS(const absl::Status& status);

// Whether another server, or this one later, may accept the request: this one is full or does not
// have the map yet.
[[nodiscard]] bool IsRetryableElsewhere(const absl::Status& refusal);

// Whether an open stream was broken by a lost connection, or by a proxy that lost the server. gRPC
// reports the latter as Internal or Unknown; the server's own errors of these codes have a reason.
[[nodiscard]] bool IsConnectionLoss(const absl::Status& end);

// Whether the server ended the session because its client was idle for too long.
[[nodiscard]] bool IsIdleTimeout(const absl::Status& end);

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_ERROR_DETAILS_H_
