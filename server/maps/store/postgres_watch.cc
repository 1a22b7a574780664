// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/postgres_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/maps/store/sql_database.h"

namespace voxloc::server {

PostgresWatch::PostgresWatch(PostgresOptions options, std::function<void()> reachable)
    : options_(std::move(options)),
      reachable_(std::move(reachable)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

PostgresWatch::~PostgresWatch() {
  if (wake_ >= 0) ::close(wake_);
}

absl::StatusOr<std::string> PostgresWatch::Next(absl::Duration at_most) {
  // What has changed while there was no connection was announced to nobody here, so the mark is
  // read at once then.
  const absl::Status ready = database_ == nullptr ? Connect() : Await(at_most);
  auto mark = ready.ok() ? ReadMark() : absl::StatusOr<std::string>(ready);
  if (!mark.ok()) database_.reset();
  return mark;
}

void PostgresWatch::Wake() {
  const uint64_t one = 1;
  // Full or not there: the wait ends with its time then.
  static_cast<void>(!::write(wake_, &one, sizeof(one)));
}

absl::Status PostgresWatch::Connect() {
  auto database = PostgresDatabase::Connect(options_);
  if (!database.ok()) return database.status();
  if (absl::Status status = (*database)->Execute("LISTEN voxloc_maps"); !status.ok()) return status;
  database_ = *std::move(database);
  reachable_();
  return absl::OkStatus();
}

absl::Status PostgresWatch::Await(absl::Duration at_most) {
  const absl::Time deadline = absl::Now() + at_most;
  for (;;) {
    const auto announced = database_->TakeNotifications();
    if (!announced.ok()) return announced.status();
    if (*announced) return absl::OkStatus();
    const int64_t left_ms = std::min<int64_t>(
        std::max<int64_t>(absl::ToInt64Milliseconds(deadline - absl::Now()), 0), 60'000);
    std::array<pollfd, 2> waited = {{{database_->socket(), POLLIN, 0}, {wake_, POLLIN, 0}}};
    const int ready = ::poll(waited.data(), waited.size(), static_cast<int>(left_ms));
    if (ready < 0 && errno != EINTR) return absl::InternalError("poll failed");
    if (ready == 0 && absl::Now() >= deadline) return absl::OkStatus();
    if ((waited[1].revents & POLLIN) != 0) {
      uint64_t count = 0;
      static_cast<void>(!::read(wake_, &count, sizeof(count)));
      return absl::OkStatus();
    }
  }
}

absl::StatusOr<std::string> PostgresWatch::ReadMark() {
  SqlQuery query(*database_, "SELECT generation, changed_unix_ns FROM store_state");
  if (query.Next()) return absl::StrCat(query.Int(0), "/", query.Int(1));
  if (!query.status().ok()) return query.status();
  return absl::UnavailableError("the database has no maps, and no place for them");
}

}  // namespace voxloc::server
