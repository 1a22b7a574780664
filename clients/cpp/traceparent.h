// SPDX-License-Identifier: Apache-2.0
//
// The W3C trace context that calls belong to (https://www.w3.org/TR/trace-context/). Thread-safe:
// no shared state.

#ifndef VOXLOC_CLIENTS_CPP_TRACEPARENT_H_
#define VOXLOC_CLIENTS_CPP_TRACEPARENT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace voxloc::client {

// Whether it is "00-<32 hexadecimal digits>-<16>-<2>", lower case, with ids that are not all zeros.
// Versions after 00 may append '-' and printable characters without spaces. Servers ignore others.
[[nodiscard]] bool IsTraceparent(absl::string_view text);

// The environment variable TRACEPARENT, by which programs hand their trace context to those that
// they start; empty where it is not set or not one.
[[nodiscard]] std::string TraceparentOfEnvironment();

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_TRACEPARENT_H_
