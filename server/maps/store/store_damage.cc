// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/store_damage.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace voxloc::server {
namespace {

// Each with its indexes. A few findings tell as much as many.
constexpr const char* kTableChecks[] = {
    "PRAGMA integrity_check('map_numbers')",  "PRAGMA integrity_check('maps')",
    "PRAGMA integrity_check('revisions')",    "PRAGMA integrity_check('canaries')",
    "PRAGMA integrity_check('contents')",     "PRAGMA integrity_check('tiles')",
    "PRAGMA integrity_check('staged_tiles')", "PRAGMA integrity_check('last_poses')",
    "PRAGMA integrity_check('tile_fits')"};
constexpr size_t kMaxFindings = 8;

void AddFindings(SqliteDatabase& database, const char* check, std::vector<std::string>& findings) {
  SqlQuery query(database, check);
  while (query.Next()) {
    if (query.Bytes(0) != "ok" && findings.size() < kMaxFindings) {
      findings.push_back(query.Text(0));
    }
  }
  if (!query.status().ok() && findings.size() < kMaxFindings) {
    findings.emplace_back(query.status().message());
  }
}

}  // namespace

std::vector<std::string> FindDamage(SqliteDatabase& database) {
  std::vector<std::string> findings;
  for (const char* const check : kTableChecks) AddFindings(database, check, findings);
  return findings;
}

absl::Status CheckWhole(SqliteDatabase& database) {
  std::vector<std::string> findings;
  AddFindings(database, "PRAGMA integrity_check", findings);
  if (findings.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(database.path(), " is damaged: ", findings.front()));
}

absl::Status WithRemedy(const absl::Status& status) {
  if (absl::StrContains(status.message(), "voxlocd restore")) return status;
  return absl::DataLossError(
      absl::StrCat(status.message(),
                   "; `voxlocd restore --data-dir DIR --from BACKUP` puts a backup in its place"));
}

}  // namespace voxloc::server
