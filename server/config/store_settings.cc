// SPDX-License-Identifier: Apache-2.0

#include "server/config/store_settings.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/text/host_port.h"
#include "server/config/setting_kinds.h"

namespace voxloc::server {
namespace {

// Between "//" and the path: USER:PASSWORD@HOST:PORT.
absl::string_view AuthorityOf(absl::string_view url) {
  url.remove_prefix(url.find("//") + 2);
  return url.substr(0, url.find_first_of("/?"));
}

// Whether it has a password, which the list of processes and the printed configuration would show.
bool HasPassword(absl::string_view url) {
  const absl::string_view authority = AuthorityOf(url);
  const size_t at = authority.rfind('@');
  const bool of_user =
      at != absl::string_view::npos && authority.substr(0, at).find(':') != absl::string_view::npos;
  return of_user || absl::StrContains(url, "password=");
}

// A value that is refused is not repeated: it may have a password.
Setting StoreUrl(const std::string& key, std::string help) {
  auto set = [key](absl::string_view value, Config& config) {
    if (!value.empty()) {
      if (!absl::StartsWith(value, "postgresql://") && !absl::StartsWith(value, "postgres://")) {
        return absl::InvalidArgumentError(
            absl::StrCat(key, " must be a URL such as postgresql://voxloc@db.example.com/voxloc"));
      }
      if (HasPassword(value)) {
        return absl::InvalidArgumentError(absl::StrCat(
            key,
            " must not have a password, which others could read; put it into the variable "
            "PGPASSWORD, or into a file that the variable PGPASSFILE names"));
      }
      // libpq takes several hosts.
      for (const absl::string_view host : absl::StrSplit(AuthorityOf(value), ',')) {
        if (const absl::Status port = CheckUrlPort(host); !port.ok()) {
          return absl::InvalidArgumentError(absl::StrCat(key, " ", port.message()));
        }
      }
    }
    config.store.url = std::string(value);
    return absl::OkStatus();
  };
  return {key, "URL", std::move(help), std::move(set),
          [](const Config& config) { return config.store.url; }};
}

}  // namespace

void AppendStoreSettings(std::vector<Setting>& table) {
  using setting_kinds::Count;
  using setting_kinds::Number;
  table.push_back(
      StoreUrl("store.url",
               "keep maps in this database of PostgreSQL, which several servers may share, such as "
               "postgresql://voxloc@db.example.com/voxloc; the password comes from PGPASSWORD or "
               "PGPASSFILE; "
               "empty: in data_dir"));
  table.push_back(Number(
      "store.poll_period_s", 0.1, 3600.0,
      "look for changes that other servers have made so often, seconds, besides when the database "
      "announces them",
      [](auto& c) -> auto& { return c.store.poll_period_s; }));
  table.push_back(Number(
      "store.connect_timeout_s", 0.1, 60.0,
      "give up connecting to the database after this many seconds",
      [](auto& c) -> auto& { return c.store.connect_timeout_s; }));
  table.push_back(Number(
      "store.request_timeout_s", 1.0, 20.0,
      "give up a statement that the database does not answer, or that waits for other servers, "
      "after this many seconds",
      [](auto& c) -> auto& { return c.store.request_timeout_s; }));
  table.push_back(Count(
      "store.max_readers", 1, 1000,
      "limit the connections to the database that read; two are used for the rest",
      [](auto& c) -> auto& { return c.store.max_readers; }));
}

}  // namespace voxloc::server
