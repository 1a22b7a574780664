// SPDX-License-Identifier: Apache-2.0
//
// The access file, and the globs in it.

#include <string>

#include "absl/strings/match.h"
#include "server/security/access_control.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {

absl::Status FuzzAccessFile(absl::string_view bytes) {
  const auto policy = server::ParseAccessPolicy(bytes, "access.yaml");
  if (!policy.ok()) {
    FuzzRequire(absl::StartsWith(policy.status().message(), "access.yaml:"),
                "an error begins with the file");
    return policy.status();
  }
  // As long as names may be (ValidateMapName, CheckVehicle), and nearly what any glob matches.
  const std::string map(64, 'a');
  const std::string vehicle(128, 'a');
  for (const server::Identity& identity : policy->identities) {
    FuzzRequire(!identity.name.empty(), "an identity has a name");
    (void)identity.MayUseMap(map);
    (void)identity.MayUseVehicle(vehicle);
    (void)identity.MayUseVehicle("");
    for (const Sha256Digest& token : identity.tokens) {
      FuzzRequire(policy->FindByToken(token) != nullptr, "a token is somebody's");
    }
    if (!identity.certificates.empty()) {
      FuzzRequire(policy->FindByCertificate(identity.certificates) != nullptr,
                  "a certificate is somebody's");
    }
  }
  return absl::OkStatus();
}

}  // namespace voxloc
