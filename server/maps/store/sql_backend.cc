// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/sql_backend.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/time/clock.h"
#include "core/status/try.h"

namespace voxloc::server {
namespace {

// Hours are what people and wrong time zones set a clock back by; 30 days are beyond all that, and
// short enough that nothing is kept for years because a clock was years ahead once.
constexpr int64_t kFarAheadNs = int64_t{30} * 24 * 3600 * 1000000000;

}  // namespace

int64_t ToStoreNs(double seconds) {
  const double ns = seconds * 1e9;
  return ns < 9e18 ? static_cast<int64_t>(ns) : std::numeric_limits<int64_t>::max() / 2;
}

StoreClock::StoreClock(std::function<int64_t()> unix_ns)
    : unix_ns_(std::move(unix_ns)), latest_unix_ns_(std::numeric_limits<int64_t>::min()) {}

StoreTime StoreClock::Now() { return At(unix_ns_ ? unix_ns_() : absl::GetCurrentTimeNanos()); }

StoreTime StoreClock::At(int64_t system_unix_ns) {
  latest_unix_ns_ = std::max(latest_unix_ns_, system_unix_ns);
  return {system_unix_ns, latest_unix_ns_};
}

absl::Status StoreClock::Resume(SqlDatabase& database, const StoreTime& time) {
  const int64_t now = time.store_unix_ns;
  const int64_t far_ahead = now + kFarAheadNs;
  VOXLOC_TRY(database.Run("UPDATE contents SET wanted_unix_ns = ?1 WHERE wanted_unix_ns > ?2", now,
                          far_ahead));
  VOXLOC_TRY(database.Run("UPDATE revisions SET changed_unix_ns = ?1 WHERE changed_unix_ns > ?2",
                          now, far_ahead));
  VOXLOC_ASSIGN_OR_RETURN(
      const auto latest,
      database.Number("SELECT COALESCE(MAX(latest), CAST(?1 AS BIGINT)) FROM (SELECT "
                      "MAX(wanted_unix_ns) AS latest FROM contents "
                      "UNION ALL SELECT MAX(changed_unix_ns) FROM revisions) AS times",
                      now));
  latest_unix_ns_ = std::max(latest_unix_ns_, latest);
  return absl::OkStatus();
}

}  // namespace voxloc::server
