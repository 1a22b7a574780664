// SPDX-License-Identifier: Apache-2.0

// How scans fitted the tiles.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/sql_backend.h"

namespace voxloc::server {
namespace {

absl::StatusOr<StoredTileFit> FitOf(const SqlQuery& query) {
  StoredTileFit stored;
  stored.map = query.Text(0);
  stored.tile_id = query.Text(1);
  const absl::string_view digest = query.Bytes(2);
  if (digest.size() != stored.digest.size()) {
    return absl::DataLossError(absl::StrCat("the fit of tile \"", stored.tile_id, "\" of map \"",
                                            stored.map, "\" has a digest of ", digest.size(),
                                            " bytes"));
  }
  std::copy(digest.begin(), digest.end(), stored.digest.begin());
  stored.last_used_unix_ns = query.Int(3);
  TileFit& fit = stored.fit;
  fit.scans = query.Real(4);
  fit.squared_distances_m2 = query.Real(5);
  fit.points = {query.Real(6), query.Real(7)};
  fit.raised_points = {query.Real(8), query.Real(9)};
  fit.solid = {query.Real(10), query.Real(11)};
  fit.raised_solid = {query.Real(12), query.Real(13)};
  return stored;
}

}  // namespace

absl::Status MapStore::SaveTileFits(absl::Span<const StoredTileFit> fits) {
  const auto save = [&](SqlDatabase& database, const StoreTime& /*now*/) {
    absl::Status status;
    for (const StoredTileFit& stored : fits) {
      const TileFit& fit = stored.fit;
      status = database.Run(
          "INSERT INTO tile_fits (map, tile_id, digest, last_used_unix_ns, scans, "
          "squared_distances_m2, points, points_unexplained, raised_points, "
          "raised_points_unexplained, solid, solid_seen_through, raised_solid, "
          "raised_solid_seen_through) "
          "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14 "
          "WHERE EXISTS (SELECT 1 FROM maps WHERE name = ?1 AND deleted = 0) "
          "ON CONFLICT (map, tile_id, digest) DO UPDATE SET "
          "last_used_unix_ns = excluded.last_used_unix_ns, scans = excluded.scans, "
          "squared_distances_m2 = excluded.squared_distances_m2, points = excluded.points, "
          "points_unexplained = excluded.points_unexplained, "
          "raised_points = excluded.raised_points, "
          "raised_points_unexplained = excluded.raised_points_unexplained, "
          "solid = excluded.solid, solid_seen_through = excluded.solid_seen_through, "
          "raised_solid = excluded.raised_solid, "
          "raised_solid_seen_through = excluded.raised_solid_seen_through",
          stored.map, stored.tile_id, stored.digest, stored.last_used_unix_ns, fit.scans,
          fit.squared_distances_m2, fit.points.all, fit.points.mismatched, fit.raised_points.all,
          fit.raised_points.mismatched, fit.solid.all, fit.solid.mismatched, fit.raised_solid.all,
          fit.raised_solid.mismatched);
      if (!status.ok()) break;
    }
    return status;
  };
  return backend_->Write(SqlBackend::Sync::kNormal, save);
}

absl::StatusOr<std::vector<StoredTileFit>> MapStore::ListTileFits(absl::string_view map) {
  return backend_->Query([&](SqlDatabase& database) -> absl::StatusOr<std::vector<StoredTileFit>> {
    std::vector<StoredTileFit> fits;
    SqlQuery query(database,
                   "SELECT map, tile_id, digest, last_used_unix_ns, scans, squared_distances_m2, "
                   "points, points_unexplained, raised_points, raised_points_unexplained, solid, "
                   "solid_seen_through, raised_solid, raised_solid_seen_through "
                   "FROM tile_fits WHERE map = ?1 ORDER BY tile_id, digest",
                   map);
    while (query.Next()) {
      VOXLOC_ASSIGN_OR_RETURN(auto fit, FitOf(query));
      fits.push_back(std::move(fit));
    }
    if (!query.status().ok()) return query.status();
    return fits;
  });
}

}  // namespace voxloc::server
