// SPDX-License-Identifier: Apache-2.0
//
// PostgresWatch: the StoreWatch of the PostgreSQL store, on a connection of its own.

#ifndef VOXLOC_SERVER_MAPS_STORE_POSTGRES_WATCH_H_
#define VOXLOC_SERVER_MAPS_STORE_POSTGRES_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/postgres_database.h"
#include "server/maps/store/store_options.h"

namespace voxloc::server {

class PostgresWatch : public StoreWatch {
 public:
  // `reachable` is called when the database answers, at first or again.
  PostgresWatch(PostgresOptions options, std::function<void()> reachable);
  PostgresWatch(const PostgresWatch&) = delete;
  PostgresWatch& operator=(const PostgresWatch&) = delete;
  ~PostgresWatch() override;

  absl::StatusOr<StoreChange> Next(absl::Duration timeout) override;
  void Wake() override;

 private:
  // Of the maps: how many changes there were, and when the last one was.
  struct State {
    int64_t generation = 0;
    int64_t changed_unix_ns = 0;
    std::string schema;
  };
  // Parsed notifications: changed maps by the generation after the change.
  struct Announcements {
    bool in_order = false;  // there are some, each understood and later than those before
    int64_t last = 0;
    std::map<int64_t, std::string> maps;  // later than the last look
  };

  [[nodiscard]] absl::Status Connect();
  // Until an announcement comes, or Wake is called.
  [[nodiscard]] absl::Status Await(absl::Duration timeout);
  // Sets change_. Where each change since the last look was announced, it names their maps.
  [[nodiscard]] absl::Status Poll();
  [[nodiscard]] Announcements ParseNotifications(absl::string_view schema);
  [[nodiscard]] static absl::StatusOr<State> ReadState(PostgresDatabase& database);
  [[nodiscard]] static std::string FingerprintOf(const State& state);

  const PostgresOptions options_;
  const std::function<void()> on_reachable_;
  const int wake_;  // an eventfd
  std::unique_ptr<PostgresDatabase> database_;
  std::vector<std::string> texts_;  // that have come and were not looked at
  int64_t announced_ = 0;           // the generation that was announced last
  std::optional<int64_t>
      polled_generation_;  // the generation of change_; nullopt: of another connection
  StoreChange change_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_POSTGRES_WATCH_H_
