// SPDX-License-Identifier: Apache-2.0
//
// What an error of this library says besides its code and text, where the server said it. Programs
// decide by these, people read the text. Thread-safe: no shared state.

#ifndef VOXLOC_CLIENTS_CPP_ERROR_DETAILS_H_
#define VOXLOC_CLIENTS_CPP_ERROR_DETAILS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace voxloc::client {

// Why, as one of the server's constants, such as "MAP_NOT_FOUND" (docs/errors.md lists them).
// Empty: the error is not the server's, or the server is too old to say.
[[nodiscard]] std::string ReasonOf(const absl::Status& status);

// A value that belongs to the reason, such as "revision". Empty: there is none.
[[nodiscard]] std::string ReasonValue(const absl::Status& status, const std::string& key);

// Seconds after which trying again can help. nullopt: the server does not say.
[[nodiscard]] std::optional<double> RetryAfterS(const absl::Status& status);

// Whether another server, or the same one later, may do what this one refused: it is full, or does
// not have the map yet.
[[nodiscard]] bool MayHelpElsewhere(const absl::Status& refusal);

// Whether an open stream was cut off on its way, by a connection that was lost or by a proxy that
// has lost the server. gRPC reports the latter as Internal or Unknown; the server's own errors of
// these codes have a reason.
[[nodiscard]] bool WasCutOff(const absl::Status& end);

// Whether the server has ended a session only because it had nothing from its client for too long.
[[nodiscard]] bool EndedForSilence(const absl::Status& end);

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_ERROR_DETAILS_H_
