// SPDX-License-Identifier: Apache-2.0
//
// The name under which a caller has its share of the scheduler (FairQueue).

#ifndef VOXLOC_SERVER_RPC_SUPPORT_FAIR_SHARE_H_
#define VOXLOC_SERVER_RPC_SUPPORT_FAIR_SHARE_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/security/access_policy.h"
#include "server/security/call_access.h"

namespace voxloc::server {

// Of a session: all sessions and calls of an identity share. Empty, a share of its own, where the
// caller has none: many vehicles may have one address.
[[nodiscard]] inline std::string ShareOfSession(const CallAccess& access) {
  const std::string caller = access.caller();
  return caller.empty() || caller == kAnonymous ? "" : absl::StrCat("identity:", caller);
}

// Of a call with one scan: where the caller has no identity, the calls of a connection share.
[[nodiscard]] inline std::string ShareOfCall(const CallAccess& access, absl::string_view peer) {
  std::string share = ShareOfSession(access);
  return share.empty() ? absl::StrCat("peer:", peer) : share;
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_FAIR_SHARE_H_
