// SPDX-License-Identifier: Apache-2.0

#include "server/security/call_access.h"

#include <grpc/grpc_security_constants.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "server/errors/error_details.h"
#include "server/observe/logging.h"
#include "server/security/access_control.h"

namespace voxloc::server {
namespace {

constexpr absl::string_view kScheme = "Bearer ";  // RFC 6750; its case does not matter
constexpr size_t kMaxPrintedBytes = 128;  // of a name that a client sent; names that are valid fit

std::string Printable(const std::string& name) {
  return absl::CEscape(name.substr(0, kMaxPrintedBytes));
}

// Null: nobody's. Callers without credentials are anonymous, where the policy has that.
const Identity* FindIdentity(const AccessPolicy& policy, const CallerCredentials& credentials) {
  if (credentials.token.has_value()) return policy.FindByToken(*credentials.token);
  if (credentials.has_authorization) return nullptr;
  const Identity* identity = policy.FindByCertificate(credentials.certificate_names);
  return identity == nullptr && policy.anonymous.has_value() ? &*policy.anonymous : identity;
}

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

struct CallAccess::Denial {
  absl::Status status;
  const Counter& count;
};

CallAccess::CallAccess(AccessControl& control, const Metrics& metrics, RpcMethod method,
                       CallerCredentials credentials, std::string peer)
    : control_(control),
      metrics_(metrics),
      method_(method),
      credentials_(std::move(credentials)),
      peer_(std::move(peer)) {}

absl::Status CallAccess::Check() const {
  if (!control_.asks_for_credentials()) return absl::OkStatus();
  const absl::MutexLock lock(&mutex_);
  return CheckLocked();
}

absl::Status CallAccess::CheckLocked() const {
  const bool as_before = policy_ != nullptr && generation_ == control_.generation();
  if (as_before && permitted_ && absl::Now() < identity_->expires) {
    return absl::OkStatus();
  }
  return Evaluate();
}

absl::Status CallAccess::UseMap(const std::string& map) {
  if (!control_.asks_for_credentials()) return absl::OkStatus();
  const absl::MutexLock lock(&mutex_);
  map_ = map;
  return Evaluate();
}

absl::Status CallAccess::UseMapAs(const std::string& map, const std::string& vehicle) {
  if (!control_.asks_for_credentials()) return absl::OkStatus();
  const absl::MutexLock lock(&mutex_);
  map_ = map;
  vehicle_ = vehicle;
  return Evaluate();
}

bool CallAccess::MaySee(const std::string& map) const {
  if (!control_.asks_for_credentials()) return true;
  const absl::MutexLock lock(&mutex_);
  return CheckLocked().ok() && identity_->MayUseMap(map);
}

bool CallAccess::MaySeeAllMaps() const {
  if (!control_.asks_for_credentials()) return true;
  const absl::MutexLock lock(&mutex_);
  return CheckLocked().ok() && identity_->MayUseAllMaps();
}

std::string CallAccess::caller() const {
  const absl::MutexLock lock(&mutex_);
  return identity_ == nullptr ? "" : identity_->name;
}

std::set<Role> CallAccess::roles() const {
  if (!control_.asks_for_credentials()) return {kRoles.begin(), kRoles.end()};
  const absl::MutexLock lock(&mutex_);
  return identity_ == nullptr ? std::set<Role>() : identity_->roles;
}

absl::Status CallAccess::Evaluate() const {
  // Generation before policy: a policy newer than its generation is only evaluated once more.
  generation_ = control_.generation();
  policy_ = control_.policy();
  const std::optional<Denial> denial = FindDenial();
  permitted_ = !denial.has_value();
  if (permitted_) return absl::OkStatus();
  denial->count.Increment();
  // Every denial is counted; the log has at most one line a second.
  LogOncePerSecond(LogLevel::kWarn, "access_denied",
                   {{"caller", identity_ == nullptr ? "" : identity_->name},
                    {"peer", peer_},
                    {"method", NameOf(method_).method},
                    {"why", denial->status.message()}});
  return denial->status;
}

std::optional<CallAccess::Denial> CallAccess::FindDenial() const {
  const auto deny = [](const Counter& count, absl::Status status, const char* reason,
                       std::initializer_list<std::pair<const char*, std::string>> values = {}) {
    return std::optional<Denial>({WithReason(std::move(status), reason, values), count});
  };
  identity_ = FindIdentity(*policy_, credentials_);
  if (identity_ != nullptr && absl::Now() >= identity_->expires) {
    return deny(metrics_.denied_expired, absl::UnauthenticatedError("the credentials have expired"),
                "CREDENTIALS_EXPIRED");
  }
  if (identity_ == nullptr && credentials_.has_authorization) {
    return deny(
        metrics_.denied_unknown,
        absl::UnauthenticatedError(credentials_.token.has_value()
                                       ? "the server does not know the token"
                                       : "the authorization must be one: \"Bearer \" and a token"),
        "CREDENTIALS_UNKNOWN");
  }
  if (identity_ == nullptr || !Permits(identity_->roles, method_)) {
    const std::optional<Role> role = RequiredRole(method_);
    const std::string needed(role.has_value() ? ToString(*role) : "");
    const std::string needs =
        role.has_value()
            ? absl::StrCat(NameOf(method_).method, " needs the role ", needed)
            : absl::StrCat(NameOf(method_).method, " needs credentials that the server knows");
    const bool anonymous = identity_ == nullptr || identity_->name == kAnonymous;
    if (anonymous && credentials_.certificate_names.empty()) {
      return deny(metrics_.denied_missing,
                  absl::UnauthenticatedError(absl::StrCat("the call has no credentials; ", needs)),
                  "CREDENTIALS_MISSING", {{"role", needed}});
    }
    if (anonymous) {
      return deny(metrics_.denied_unknown,
                  absl::UnauthenticatedError(absl::StrCat(
                      "the server does not know the names in the client's certificate; ", needs)),
                  "CREDENTIALS_UNKNOWN", {{"role", needed}});
    }
    return deny(metrics_.denied_role,
                absl::PermissionDeniedError(
                    absl::StrCat(needs, ", which ", Printable(identity_->name), " does not have")),
                "ROLE_MISSING", {{"role", needed}});
  }
  if (map_.has_value() && !identity_->MayUseMap(*map_)) {
    return deny(metrics_.denied_map,
                absl::PermissionDeniedError(absl::StrCat(
                    Printable(identity_->name), " may not use map '", Printable(*map_), "'")),
                "MAP_NOT_ALLOWED", {{"map", Printable(*map_)}});
  }
  if (vehicle_.has_value() && !identity_->MayUseVehicle(*vehicle_)) {
    return deny(metrics_.denied_vehicle,
                absl::PermissionDeniedError(absl::StrCat(Printable(identity_->name),
                                                         " may not use the vehicle name '",
                                                         Printable(*vehicle_), "'")),
                "VEHICLE_NOT_ALLOWED", {{"vehicle", Printable(*vehicle_)}});
  }
  return std::nullopt;
}

bool MaySeeMap(const AccessControl& control, const CallerCredentials& credentials,
               const std::string& map) {
  if (!control.asks_for_credentials()) return true;
  const std::shared_ptr<const AccessPolicy> policy = control.policy();
  const Identity* const identity = FindIdentity(*policy, credentials);
  return identity != nullptr && absl::Now() < identity->expires && identity->MayUseMap(map);
}

}  // namespace voxloc::server
