// SPDX-License-Identifier: Apache-2.0

#include "server/security/caller_credentials.h"

#include <grpc/grpc_security_constants.h>

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace voxloc::server {
namespace {

constexpr absl::string_view kScheme = "Bearer ";  // RFC 6750; its case does not matter

}  // namespace

CallerCredentials CredentialsOf(const grpc::CallbackServerContext& context) {
  CallerCredentials credentials;
  const auto [first, last] = context.client_metadata().equal_range("authorization");
  if (first != last) {
    credentials.has_authorization = true;
    const absl::string_view value(first->second.data(), first->second.size());
    const bool only = std::next(first) == last;
    if (only && absl::StartsWithIgnoreCase(value, kScheme) && value.size() > kScheme.size()) {
      credentials.token = Sha256Of(value.substr(kScheme.size()));
    }
  }
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (peer == nullptr || !peer->IsPeerAuthenticated()) return credentials;
  for (const char* property :
       {GRPC_X509_CN_PROPERTY_NAME, GRPC_PEER_DNS_PROPERTY_NAME, GRPC_PEER_URI_PROPERTY_NAME}) {
    for (const grpc::string_ref& name : peer->FindPropertyValues(property)) {
      credentials.certificate_names.emplace_back(name.data(), name.size());
    }
  }
  return credentials;
}

}  // namespace voxloc::server
