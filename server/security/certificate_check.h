// SPDX-License-Identifier: Apache-2.0
//
// Checks certificates and keys before they are given to gRPC, which would fail handshakes and say
// why only in its own log. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_SECURITY_CERTIFICATE_CHECK_H_
#define VOXLOC_SERVER_SECURITY_CERTIFICATE_CHECK_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace voxloc::server {

// When the first certificate of the chain ends. InvalidArgument: one of both is not PEM, the key
// does not belong to the first certificate, or that one has ended or not begun by `now`.
[[nodiscard]] absl::StatusOr<absl::Time> CheckKeyPair(absl::string_view certificate_chain,
                                                      absl::string_view private_key,
                                                      absl::Time now);

// InvalidArgument: no certificate in PEM, or text in it that is none.
[[nodiscard]] absl::Status CheckAuthorities(absl::string_view certificates);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_CERTIFICATE_CHECK_H_
