// SPDX-License-Identifier: Apache-2.0
//
// CallAccess: the identity of a call's caller and what it may use, by the current policy: a stream
// whose caller loses a permission is denied from its next message on. Thread-safe.
//
// The denials are Unauthenticated, with the reasons CREDENTIALS_MISSING, CREDENTIALS_UNKNOWN and
// CREDENTIALS_EXPIRED, and PermissionDenied, with ROLE_MISSING, MAP_NOT_ALLOWED and
// VEHICLE_NOT_ALLOWED. None reveals whether a map exists.

#ifndef VOXLOC_SERVER_SECURITY_CALL_ACCESS_H_
#define VOXLOC_SERVER_SECURITY_CALL_ACCESS_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "core/checksum/sha256.h"
#include "server/observe/metrics/metrics.h"
#include "server/security/access_control.h"

namespace voxloc::server {

// CallerCredentials: the credentials of a call. It keeps the digest of a token, never the token.
// Thread-safe: no shared state.
struct CallerCredentials {
  // `authorization` metadata is there; it decides alone. Without a digest it is not "Bearer TOKEN".
  bool has_authorization = false;
  std::optional<Sha256Digest> token;
  // Common name, DNS names and URIs of a client certificate that TLS has verified.
  std::vector<std::string> certificate_names;
};

[[nodiscard]] CallerCredentials CredentialsOf(const grpc::CallbackServerContext& context);

class CallAccess {
 public:
  // `control` and `metrics` must outlive it. `peer`: for the log.
  CallAccess(AccessControl& control, const Metrics& metrics, RpcMethod method,
             CallerCredentials credentials, std::string peer);

  // Whether the caller is known, has the role, and may use the maps and vehicles that the call has
  // used so far, by the policy in force now. Cheap while the policy stays.
  [[nodiscard]] absl::Status Check() const;

  // Check, and whether the caller may use this map from now on.
  [[nodiscard]] absl::Status UseMap(const std::string& map);
  // Check, and whether it may use this map under this vehicle's name.
  [[nodiscard]] absl::Status UseMapAs(const std::string& map, const std::string& vehicle);

  // Whether the caller may be shown the map, by the policy in force now.
  [[nodiscard]] bool MaySee(const std::string& map) const;
  [[nodiscard]] bool MaySeeAllMaps() const;

  // By the last of those above. The name is empty for a caller who is not known, or is not asked
  // for credentials.
  [[nodiscard]] std::string caller() const;
  [[nodiscard]] std::set<Role> roles() const;

 private:
  struct Denial;

  [[nodiscard]] absl::Status CheckLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] absl::Status Evaluate() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] std::optional<Denial> FindDenial() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  AccessControl& control_;
  const Metrics& metrics_;
  const RpcMethod method_;
  const CallerCredentials credentials_;
  const std::string peer_;
  mutable absl::Mutex mutex_;
  // As last looked at.
  mutable uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;  // of policy_
  mutable std::shared_ptr<const AccessPolicy> policy_ ABSL_GUARDED_BY(mutex_);
  mutable const Identity* identity_ ABSL_GUARDED_BY(mutex_) = nullptr;  // in policy_
  mutable bool permitted_ ABSL_GUARDED_BY(mutex_) = false;              // of an identity
  std::optional<std::string> map_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::string> vehicle_ ABSL_GUARDED_BY(mutex_);
};

// For RPCs that everybody may call: whether a caller with these credentials may be shown the map,
// by the policy in force now. Neither logged nor counted.
[[nodiscard]] bool MaySeeMap(const AccessControl& control, const CallerCredentials& credentials,
                             const std::string& map);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_CALL_ACCESS_H_
