// SPDX-License-Identifier: Apache-2.0
//
// PostgresWatch: the StoreWatch of the PostgreSQL store, on a connection of its own.

#ifndef VOXLOC_SERVER_MAPS_STORE_POSTGRES_WATCH_H_
#define VOXLOC_SERVER_MAPS_STORE_POSTGRES_WATCH_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/postgres_database.h"
#include "server/maps/store/postgres_options.h"

namespace voxloc::server {

class PostgresWatch : public StoreWatch {
 public:
  // `reachable` is called when the database answers, at first or again.
  PostgresWatch(PostgresOptions options, std::function<void()> reachable);
  PostgresWatch(const PostgresWatch&) = delete;
  PostgresWatch& operator=(const PostgresWatch&) = delete;
  ~PostgresWatch() override;

  absl::StatusOr<std::string> Next(absl::Duration at_most) override;
  void Wake() override;

 private:
  [[nodiscard]] absl::Status Connect();
  // Until an announcement comes, or Wake is called.
  [[nodiscard]] absl::Status Await(absl::Duration at_most);
  [[nodiscard]] absl::StatusOr<std::string> ReadMark();

  const PostgresOptions options_;
  const std::function<void()> reachable_;
  const int wake_;  // an eventfd
  std::unique_ptr<PostgresDatabase> database_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_POSTGRES_WATCH_H_
