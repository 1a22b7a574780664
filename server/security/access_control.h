// SPDX-License-Identifier: Apache-2.0
//
// AccessControl: the policy in force. A changed file is reloaded within seconds; an invalid one
// leaves the policy as it is. Without a file everybody may do everything. Thread-safe.

#ifndef VOXLOC_SERVER_SECURITY_ACCESS_CONTROL_H_
#define VOXLOC_SERVER_SECURITY_ACCESS_CONTROL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/checksum/sha256.h"
#include "server/config/config_input.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/metrics/rpc_metrics.h"
#include "server/scheduling/timeout_watch.h"

namespace voxloc::server {

// What callers may do, as the access file names it.
enum class Role { kTrack, kScore, kMapRead, kMapWrite, kAdmin };

inline constexpr std::array<Role, 5> kRoles = {Role::kTrack, Role::kScore, Role::kMapRead,
                                               Role::kMapWrite, Role::kAdmin};

[[nodiscard]] absl::string_view ToString(Role role);  // "map-read"

[[nodiscard]] std::optional<Role> RoleOf(absl::string_view name);

// By the table of RPCs (rpc_metrics.h). None: every caller that the server knows may use it.
[[nodiscard]] std::optional<Role> RequiredRole(RpcMethod method);

// Whether these roles let a caller use the RPC. kMapWrite stands for kMapRead too.
[[nodiscard]] bool Permits(const std::set<Role>& roles, RpcMethod method);

// Whether its calls are in the audit log: RPCs that write maps, and those of admins.
[[nodiscard]] bool IsAudited(RpcMethod method);

// The name of callers without credentials, where they may do anything.
inline constexpr char kAnonymous[] = "anonymous";

struct Identity {
  std::string name;
  std::vector<Sha256Digest> tokens;       // digests of their bytes
  std::vector<std::string> certificates;  // names in verified client certificates
  absl::Time expires = absl::InfiniteFuture();
  std::set<Role> roles;
  std::vector<std::string> maps = {"*"};      // globs
  std::vector<std::string> vehicles = {"*"};  // globs

  [[nodiscard]] bool MayUseMap(const std::string& map) const;
  // Those that will come included.
  [[nodiscard]] bool MayUseAllMaps() const;
  // An empty name, which is that of no vehicle, is matched by `*` alone.
  [[nodiscard]] bool MayUseVehicle(const std::string& vehicle) const;
};

// Who is known and may do what, as an access file says it. Constant once it is made.
struct AccessPolicy {
  std::vector<Identity> identities;
  std::optional<Identity> anonymous;  // none: callers need credentials

  // Null: nobody's. The time that it takes does not depend on how much of a digest is right.
  [[nodiscard]] const Identity* FindByToken(const Sha256Digest& token) const;
  // The first that one of the names belongs to; null: nobody.
  [[nodiscard]] const Identity* FindByCertificate(const std::vector<std::string>& names) const;
};

// Reads an access file, a YAML document (docs/security.md). InvalidArgument: what is wrong,
// beginning with "NAME:LINE: ". No error repeats a digest.
[[nodiscard]] absl::StatusOr<AccessPolicy> ParseAccessPolicy(absl::string_view yaml,
                                                             absl::string_view name);

// NotFound: the file cannot be read. InvalidArgument: it is wrong, or over 1 MiB.
[[nodiscard]] absl::StatusOr<AccessPolicy> ReadAccessFile(const std::string& path);

class AccessControl : public TimeoutWatch::Watched {
 public:
  // `path`: of the access file; empty: there is none. The metrics must outlive it.
  AccessControl(std::string path, const Metrics& metrics);

  // Reads the file and applies it. Errors: those of ReadAccessFile. Logged and counted either way.
  // Without a file: OK.
  absl::Status Reload();

  [[nodiscard]] bool asks_for_credentials() const { return !path_.empty(); }
  // Of the last valid file; empty before the first.
  [[nodiscard]] std::shared_ptr<const AccessPolicy> policy() const;
  // Changes with the policy.
  [[nodiscard]] uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Reads the file if it has changed.
  TimeoutWatch::Clock::time_point Poll(TimeoutWatch::Clock::time_point now) override;

 private:
  using Clock = TimeoutWatch::Clock;

  const std::string path_;
  const Metrics& metrics_;
  std::atomic<uint64_t> generation_{0};
  mutable absl::Mutex mutex_;
  std::shared_ptr<const AccessPolicy> policy_ ABSL_GUARDED_BY(mutex_);
  FileStamp last_read_ ABSL_GUARDED_BY(mutex_);  // of the file that was read last, right or wrong
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_ACCESS_CONTROL_H_
