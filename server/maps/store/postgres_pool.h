// SPDX-License-Identifier: Apache-2.0
//
// PostgresPool: connections to one database that are taken, used by one thread at a time, and given
// back. While the database does not answer, taking one fails at once, but for one attempt from time
// to time. Thread-safe.

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

  // A connection, and whether it was used before: it may be lost without anybody having noticed.
  struct Taken {
    std::unique_ptr<PostgresDatabase> database;
    bool used = false;
  };
  // Waits for its turn, at most for the request timeout. Unavailable, without an address: clients
  // see it.
  [[nodiscard]] absl::StatusOr<Taken> Take();
  // Null, or lost: it is closed, and with it all others that wait here, of which the same is to be
  // expected.
  void Return(std::unique_ptr<PostgresDatabase> database);

  // The database answers: the next attempt is made at once.
  void NoteReachable();

  [[nodiscard]] const PostgresOptions& options() const { return options_; }

 private:
  const PostgresOptions options_;
  const size_t max_connections_;
  absl::Mutex mutex_;
  size_t in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<PostgresDatabase>> idle_ ABSL_GUARDED_BY(mutex_);
  int failures_ ABSL_GUARDED_BY(mutex_) = 0;  // to connect, since the database was reached
  bool trying_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time next_attempt_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_POSTGRES_POOL_H_
