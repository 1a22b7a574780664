// SPDX-License-Identifier: Apache-2.0
//
// PostgresPool: a pool of connections to one database. While the database does not respond,
// Acquire fails immediately, except for one attempt per backoff period. Thread-safe.

#ifndef VOXLOC_SERVER_MAPS_STORE_POSTGRES_POOL_H_
#define VOXLOC_SERVER_MAPS_STORE_POSTGRES_POOL_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/maps/store/postgres_database.h"

namespace voxloc::server {

class PostgresPool {
 public:
  PostgresPool(PostgresOptions options, size_t max_connections)
      : options_(std::move(options)), max_connections_(max_connections) {}

  // A connection, and whether it was used before: then it may have been lost unnoticed.
  struct Lease {
    std::unique_ptr<PostgresDatabase> database;
    bool used = false;
  };
  // Waits for a free connection, at most for the request timeout. Unavailable: no connection; the
  // message is shown to clients and has no address.
  [[nodiscard]] absl::StatusOr<Lease> Acquire();
  // If null or lost, all idle connections are closed as well, since they are probably lost too.
  void Release(std::unique_ptr<PostgresDatabase> database);

  // The database answers: the next attempt is made at once.
  void MarkReachable();

  [[nodiscard]] const PostgresOptions& options() const { return options_; }

 private:
  const PostgresOptions options_;
  const size_t max_connections_;
  absl::Mutex mutex_;
  size_t in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<PostgresDatabase>> idle_ ABSL_GUARDED_BY(mutex_);
  int failures_ ABSL_GUARDED_BY(mutex_) = 0;  // to connect, since the database was reached
  bool connecting_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time next_attempt_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_POSTGRES_POOL_H_
