// SPDX-License-Identifier: Apache-2.0

#include "server/security/access_policy.h"

#include <fnmatch.h>
#include <openssl/crypto.h>

#include <algorithm>

namespace voxloc::server {
namespace {

bool MatchesAny(const std::vector<std::string>& globs, const std::string& name) {
  if (name.find('\0') != std::string::npos) return false;  // fnmatch would see its beginning alone
  return std::any_of(globs.begin(), globs.end(), [&name](const std::string& glob) {
    return fnmatch(glob.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
  });
}

}  // namespace

bool Identity::MayUseMap(const std::string& map) const { return MatchesAny(maps, map); }

bool Identity::MayUseAllMaps() const {
  return std::find(maps.begin(), maps.end(), "*") != maps.end();
}

bool Identity::MayUseVehicle(const std::string& vehicle) const {
  return MatchesAny(vehicles, vehicle);
}

const Identity* AccessPolicy::FindByToken(const Sha256Digest& token) const {
  const Identity* found = nullptr;
  for (const Identity& identity : identities) {
    for (const Sha256Digest& candidate : identity.tokens) {
      if (CRYPTO_memcmp(candidate.data(), token.data(), token.size()) == 0) found = &identity;
    }
  }
  return found;
}

const Identity* AccessPolicy::FindByCertificate(const std::vector<std::string>& names) const {
  for (const Identity& identity : identities) {
    for (const std::string& name : identity.certificates) {
      if (std::find(names.begin(), names.end(), name) != names.end()) return &identity;
    }
  }
  return nullptr;
}

}  // namespace voxloc::server
