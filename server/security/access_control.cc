// SPDX-License-Identifier: Apache-2.0

#include "server/security/access_control.h"

#include <fnmatch.h>
#include <openssl/crypto.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "core/text/names.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// Some thousands of identities: the token of every call is compared with all of them.
constexpr size_t kMaxAccessFileBytes = size_t{1} << 20;
constexpr size_t kMaxNameBytes = 128;  // as a vehicle's name

// The delay of a token's revocation. A poll is one stat, of microseconds.
constexpr std::chrono::seconds kPollPeriod(1);

constexpr absl::string_view kRoleNames[] = {"track", "score", "map-read", "map-write", "admin"};

// One document; every error names its line.
class Reader {
 public:
  explicit Reader(absl::string_view name) : name_(name) {}

  absl::StatusOr<AccessPolicy> Read(const YAML::Node& root) {
    AccessPolicy policy;
    VOXLOC_TRY(CheckKeys(root, "the file", {"identities", "anonymous"}));
    if (const YAML::Node anonymous = root["anonymous"]; anonymous.IsDefined()) {
      policy.anonymous.emplace().name = kAnonymous;
      VOXLOC_TRY(CheckKeys(anonymous, kAnonymous, {"roles", "maps", "vehicles"}));
      VOXLOC_TRY(ReadScope(anonymous, kAnonymous, *policy.anonymous));
    }
    const YAML::Node identities = root["identities"];
    if (!identities.IsDefined()) return policy;
    if (!identities.IsMap()) return InvalidError(identities, "identities must be a map of names");
    std::set<std::string> names;
    for (const auto& entry : identities) {
      VOXLOC_ASSIGN_OR_RETURN(auto identity, ReadIdentity(entry.first, entry.second));
      if (!names.insert(identity.name).second) {
        return InvalidError(entry.first, "identity ", identity.name, " occurs twice");
      }
      policy.identities.push_back(std::move(identity));
    }
    return policy;
  }

 private:
  template <typename... Parts>
  absl::Status InvalidError(const YAML::Node& where, const Parts&... what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(name_, ":", where.Mark().line + 1, ": ", what...));
  }

  absl::Status CheckKeys(const YAML::Node& node, absl::string_view place,
                         const std::vector<std::string>& known) const {
    if (!node.IsMap()) return InvalidError(node, place, " must be a map of keys to values");
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        return InvalidError(entry.first, place, " has an unknown key '", absl::CEscape(key), "'",
                            DidYouMean(key, known));
      }
      if (!seen.insert(key).second) {
        return InvalidError(entry.first, place, " has the key ", key, " twice");
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Identity> ReadIdentity(const YAML::Node& key, const YAML::Node& node) {
    Identity identity;
    identity.name = key.IsScalar() ? key.Scalar() : "";
    if (identity.name.empty() || identity.name.size() > kMaxNameBytes ||
        identity.name == kAnonymous) {
      return InvalidError(key, "the name of an identity must have 1 to ", kMaxNameBytes,
                          " bytes and must not be ", kAnonymous);
    }
    const std::string place = absl::StrCat("identity ", absl::CEscape(identity.name));
    VOXLOC_TRY(CheckKeys(node, place,
                         {"token_sha256", "certificate", "expires", "roles", "maps", "vehicles"}));
    VOXLOC_TRY(ReadCredentials(node, place, identity));
    VOXLOC_TRY(ReadScope(node, place, identity));
    return identity;
  }

  absl::Status ReadCredentials(const YAML::Node& node, const std::string& place,
                               Identity& identity) {
    VOXLOC_ASSIGN_OR_RETURN(const auto tokens, ReadList(node, place, "token_sha256"));
    VOXLOC_ASSIGN_OR_RETURN(identity.certificates, ReadList(node, place, "certificate"));
    if (tokens.empty() && identity.certificates.empty()) {
      return InvalidError(node, place, " needs token_sha256 or certificate");
    }
    for (const std::string& token : tokens) {
      const YAML::Node where = node["token_sha256"];
      const auto digest = Sha256FromHex(token);
      if (!digest.ok()) {
        return InvalidError(where, place,
                            ".token_sha256 must have 64 lower-case hexadecimal digits, the "
                            "SHA-256 of the token");
      }
      if (*digest == Sha256Of("")) {
        return InvalidError(where, place, ".token_sha256 is the SHA-256 of nothing");
      }
      if (!tokens_.insert(*digest).second) {
        return InvalidError(where, place, ".token_sha256 has a token that is used twice");
      }
      identity.tokens.push_back(*digest);
    }
    for (const std::string& name : identity.certificates) {
      if (!certificates_.insert(name).second) {
        return InvalidError(node["certificate"], place, ".certificate has the name ", name,
                            " that is used twice");
      }
    }
    const YAML::Node expires = node["expires"];
    if (!expires.IsDefined()) return absl::OkStatus();
    std::string error;
    if (!expires.IsScalar() ||
        !absl::ParseTime(absl::RFC3339_full, expires.Scalar(), &identity.expires, &error)) {
      return InvalidError(expires, place, ".expires must be a time such as 2027-01-31T00:00:00Z");
    }
    return absl::OkStatus();
  }

  absl::Status ReadScope(const YAML::Node& node, const std::string& place, Identity& identity) {
    VOXLOC_ASSIGN_OR_RETURN(const auto names, ReadList(node, place, "roles"));
    if (names.empty()) return InvalidError(node, place, " needs roles");
    for (const std::string& name : names) {
      const std::optional<Role> role = RoleOf(name);
      if (!role.has_value()) {
        return InvalidError(node["roles"], place, ".roles has an unknown role '",
                            absl::CEscape(name), "'",
                            DidYouMean(name, {std::begin(kRoleNames), std::end(kRoleNames)}));
      }
      identity.roles.insert(*role);
    }
    if (node["maps"].IsDefined()) {
      VOXLOC_ASSIGN_OR_RETURN(identity.maps, ReadList(node, place, "maps"));
    }
    if (node["vehicles"].IsDefined()) {
      VOXLOC_ASSIGN_OR_RETURN(identity.vehicles, ReadList(node, place, "vehicles"));
    }
    return absl::OkStatus();
  }

  // The list under a key; empty: there is no such key.
  absl::StatusOr<std::vector<std::string>> ReadList(const YAML::Node& node,
                                                    const std::string& place,
                                                    const char* key) const {
    std::vector<std::string> values;
    const YAML::Node list = node[key];
    if (!list.IsDefined()) return values;
    if (!list.IsSequence()) {
      return InvalidError(list, place, ".", key, " must be a list, such as [a, b]");
    }
    for (const YAML::Node& entry : list) {
      if (!entry.IsScalar() || entry.Scalar().empty()) {
        return InvalidError(entry, place, ".", key, " must be a list of texts that are not empty");
      }
      values.push_back(entry.Scalar());
    }
    return values;
  }

  const std::string name_;
  // Of all identities so far.
  std::set<Sha256Digest> tokens_;
  std::set<std::string> certificates_;
};

bool MatchesAny(const std::vector<std::string>& globs, const std::string& name) {
  if (name.find('\0') != std::string::npos) return false;  // fnmatch would see its beginning alone
  return std::any_of(globs.begin(), globs.end(), [&name](const std::string& glob) {
    return fnmatch(glob.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
  });
}

}  // namespace

absl::string_view ToString(Role role) { return kRoleNames[static_cast<size_t>(role)]; }

std::optional<Role> RoleOf(absl::string_view name) {
  for (const Role role : kRoles) {
    if (ToString(role) == name) return role;
  }
  return std::nullopt;
}

std::optional<Role> RequiredRole(RpcMethod method) {
  const absl::string_view role = NameOf(method).role;
  if (role.empty()) return std::nullopt;
  return RoleOf(role).value_or(Role::kAdmin);
}

bool Permits(const std::set<Role>& roles, RpcMethod method) {
  const std::optional<Role> required = RequiredRole(method);
  if (!required.has_value() || roles.count(*required) != 0) return true;
  return *required == Role::kMapRead && roles.count(Role::kMapWrite) != 0;
}

bool IsAudited(RpcMethod method) {
  const std::optional<Role> required = RequiredRole(method);
  return required == Role::kMapWrite || required == Role::kAdmin;
}

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

absl::StatusOr<AccessPolicy> ParseAccessPolicy(absl::string_view yaml, absl::string_view name) {
  try {
    return Reader(name).Read(YAML::Load(std::string(yaml)));
  } catch (const YAML::Exception& error) {  // yaml-cpp reports by exception
    return absl::InvalidArgumentError(
        absl::StrCat(name, ":", error.mark.line + 1, ": ", error.msg));
  }
}

absl::StatusOr<AccessPolicy> ReadAccessFile(const std::string& path) {
  VOXLOC_ASSIGN_OR_RETURN(const auto text, ReadTextFile(path, kMaxAccessFileBytes));
  return ParseAccessPolicy(text, path);
}

AccessControl::AccessControl(std::string path, const Metrics& metrics)
    : path_(std::move(path)), metrics_(metrics), policy_(std::make_shared<const AccessPolicy>()) {}

absl::Status AccessControl::Reload() {
  if (path_.empty()) return absl::OkStatus();
  // Taken before the file is read: what changes meanwhile is read again.
  const FileStamp stamp = StampOf(path_);
  auto policy = ReadAccessFile(path_);
  const absl::MutexLock lock(&mutex_);
  last_read_ = stamp;
  if (!policy.ok()) {
    metrics_.access_reloads_failed.Increment();
    Log(LogLevel::kError, "access_file_refused", {{"error", policy.status().message()}});
    return policy.status();
  }
  policy_ = std::make_shared<const AccessPolicy>(*std::move(policy));
  generation_.fetch_add(1, std::memory_order_release);
  metrics_.access_reloads_ok.Increment();
  Log(LogLevel::kInfo, "access_file_read",
      {{"file", path_}, {"identities", policy_->identities.size()}});
  return absl::OkStatus();
}

std::shared_ptr<const AccessPolicy> AccessControl::policy() const {
  const absl::MutexLock lock(&mutex_);
  return policy_;
}

TimeoutWatch::Clock::time_point AccessControl::Poll(Clock::time_point now) {
  if (path_.empty()) return TimeoutWatch::kNever;
  const FileStamp stamp = StampOf(path_);
  bool changed = false;
  {
    const absl::MutexLock lock(&mutex_);
    changed = stamp != last_read_;
  }
  if (changed) static_cast<void>(Reload());
  return now + kPollPeriod;
}

}  // namespace voxloc::server
