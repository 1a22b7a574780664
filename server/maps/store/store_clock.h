// SPDX-License-Identifier: Apache-2.0
//
// The time of the store: the system's, and one that never goes back, by which things expire.
// Not thread-safe.

#ifndef VOXLOC_SERVER_MAPS_STORE_STORE_CLOCK_H_
#define VOXLOC_SERVER_MAPS_STORE_STORE_CLOCK_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "server/maps/store/sql_database.h"

namespace voxloc::server {

// Now.
struct StoreTime {
  int64_t system_unix_ns = 0;  // as the system's clock has it, which may be set back
  int64_t store_unix_ns = 0;   // never earlier than before
};

// Of a time that an option has in seconds.
[[nodiscard]] int64_t ToStoreNs(double seconds);

class StoreClock {
 public:
  // `unix_ns`: nanoseconds since the Unix epoch; empty: the system's clock.
  explicit StoreClock(std::function<int64_t()> unix_ns);

  // Continues from the latest time in the database, so that a clock set back between two runs makes
  // nothing expire early. Times over 30 days ahead were written by a wrong clock and are set to
  // now. Call it within a transaction.
  [[nodiscard]] absl::Status Resume(SqlDatabase& database, const StoreTime& now);

  [[nodiscard]] StoreTime Now();
  // Where another clock says that it is `system_unix_ns`.
  [[nodiscard]] StoreTime At(int64_t system_unix_ns);

 private:
  const std::function<int64_t()> unix_ns_;
  int64_t latest_unix_ns_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_STORE_CLOCK_H_
