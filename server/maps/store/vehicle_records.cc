// SPDX-License-Identifier: Apache-2.0
//
// What scans leave in the store: the last poses of vehicles, and how scans fitted the tiles.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/sql_backend.h"

namespace voxloc::server {
namespace {

constexpr char kSelectPoses[] =
    "SELECT vehicle, map, revision, stamp_unix_ns, x, y, z, qw, qx, qy, qz, saved_unix_ns "
    "FROM last_poses ";

LastPose PoseOf(const SqlRows& row) {
  LastPose pose;
  pose.vehicle = row.Text(0);
  pose.map = row.Text(1);
  pose.revision = row.UInt(2);
  pose.stamp_unix_ns = row.Int(3);
  pose.map_T_base.translation = {row.Real(4), row.Real(5), row.Real(6)};
  pose.map_T_base.rotation =
      Eigen::Quaterniond(row.Real(7), row.Real(8), row.Real(9), row.Real(10));
  return pose;
}

constexpr char kFitColumns[] =
    "map, tile_id, digest, last_used_unix_ns, scans, squared_distances_m2, points, "
    "points_unexplained, raised_points, raised_points_unexplained, solid, solid_seen_through, "
    "raised_solid, raised_solid_seen_through";

absl::StatusOr<StoredTileFit> FitOf(const SqlRows& row) {
  StoredTileFit stored;
  stored.map = row.Text(0);
  stored.tile_id = row.Text(1);
  const absl::string_view digest = row.Bytes(2);
  if (digest.size() != stored.digest.size()) {
    return absl::DataLossError(absl::StrCat("the fit of tile \"", stored.tile_id, "\" of map \"",
                                            stored.map, "\" has a digest of ", digest.size(),
                                            " bytes"));
  }
  std::copy(digest.begin(), digest.end(), stored.digest.begin());
  stored.last_used_unix_ns = row.Int(3);
  TileFit& fit = stored.fit;
  fit.scans = row.Real(4);
  fit.squared_distances_m2 = row.Real(5);
  fit.points = {row.Real(6), row.Real(7)};
  fit.raised_points = {row.Real(8), row.Real(9)};
  fit.solid = {row.Real(10), row.Real(11)};
  fit.raised_solid = {row.Real(12), row.Real(13)};
  return stored;
}

}  // namespace

absl::Status MapStore::SaveLastPoses(absl::Span<const LastPose> poses) {
  const auto save = [&](SqlDatabase& database, const StoreTime& now) -> absl::Status {
    for (const LastPose& pose : poses) {
      const Eigen::Vector3d& t = pose.map_T_base.translation;
      const Eigen::Quaterniond& q = pose.map_T_base.rotation;
      VOXLOC_TRY(database.Run(
          "INSERT INTO last_poses (vehicle, map, revision, stamp_unix_ns, saved_unix_ns, x, y, z, "
          "qw, qx, qy, qz) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) "
          "ON CONFLICT (vehicle) DO UPDATE SET map = excluded.map, revision = excluded.revision, "
          "stamp_unix_ns = excluded.stamp_unix_ns, saved_unix_ns = excluded.saved_unix_ns, "
          "x = excluded.x, y = excluded.y, z = excluded.z, qw = excluded.qw, qx = excluded.qx, "
          "qy = excluded.qy, qz = excluded.qz",
          pose.vehicle, pose.map, pose.revision, pose.stamp_unix_ns, now.store_unix_ns, t.x(),
          t.y(), t.z(), q.w(), q.x(), q.y(), q.z()));
    }
    return absl::OkStatus();
  };
  return backend_->Write(SqlBackend::Sync::kNormal, save);
}

absl::StatusOr<LastPose> MapStore::GetLastPose(absl::string_view vehicle) {
  return backend_->Query([&](SqlDatabase& database) -> absl::StatusOr<LastPose> {
    VOXLOC_ASSIGN_OR_RETURN(
        auto pose, database.ReadFirst(
                       PoseOf, absl::StrCat(kSelectPoses, "WHERE vehicle = ?1").c_str(), vehicle));
    if (pose.has_value()) return *std::move(pose);
    return absl::NotFoundError(absl::StrCat("no pose of vehicle \"", vehicle, "\""));
  });
}

absl::StatusOr<std::vector<LastPose>> MapStore::ListLastPoses(absl::string_view map) {
  return backend_->Query([&](SqlDatabase& database) {
    return database.ReadAll(
        PoseOf, absl::StrCat(kSelectPoses, "WHERE map = ?1 ORDER BY vehicle").c_str(), map);
  });
}

absl::StatusOr<SavedPoses> MapStore::ListPosesSavedSince(int64_t unix_ns) {
  return backend_->Query([&](SqlDatabase& database) -> absl::StatusOr<SavedPoses> {
    SavedPoses saved;
    saved.latest_unix_ns = unix_ns;
    VOXLOC_ASSIGN_OR_RETURN(
        saved.poses,
        database.ReadAll(
            [&](const SqlRows& row) {
              saved.latest_unix_ns = row.Int(11);
              return PoseOf(row);
            },
            absl::StrCat(kSelectPoses, "WHERE saved_unix_ns > ?1 ORDER BY saved_unix_ns").c_str(),
            unix_ns));
    return saved;
  });
}

absl::Status MapStore::SaveTileFits(absl::Span<const StoredTileFit> fits) {
  const std::string insert = absl::StrCat(
      "INSERT INTO tile_fits (", kFitColumns,
      ") SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14 "
      "WHERE EXISTS (SELECT 1 FROM maps WHERE name = ?1 AND deleted = 0) "
      "ON CONFLICT (map, tile_id, digest) DO UPDATE SET "
      "last_used_unix_ns = excluded.last_used_unix_ns, scans = excluded.scans, "
      "squared_distances_m2 = excluded.squared_distances_m2, points = excluded.points, "
      "points_unexplained = excluded.points_unexplained, raised_points = excluded.raised_points, "
      "raised_points_unexplained = excluded.raised_points_unexplained, solid = excluded.solid, "
      "solid_seen_through = excluded.solid_seen_through, raised_solid = excluded.raised_solid, "
      "raised_solid_seen_through = excluded.raised_solid_seen_through");
  const auto save = [&](SqlDatabase& database, const StoreTime& /*now*/) -> absl::Status {
    for (const StoredTileFit& stored : fits) {
      const TileFit& fit = stored.fit;
      VOXLOC_TRY(database.Run(insert.c_str(), stored.map, stored.tile_id, stored.digest,
                              stored.last_used_unix_ns, fit.scans, fit.squared_distances_m2,
                              fit.points.all, fit.points.mismatched, fit.raised_points.all,
                              fit.raised_points.mismatched, fit.solid.all, fit.solid.mismatched,
                              fit.raised_solid.all, fit.raised_solid.mismatched));
    }
    return absl::OkStatus();
  };
  return backend_->Write(SqlBackend::Sync::kNormal, save);
}

absl::StatusOr<std::vector<StoredTileFit>> MapStore::ListTileFits(absl::string_view map) {
  return backend_->Query([&](SqlDatabase& database) -> absl::StatusOr<std::vector<StoredTileFit>> {
    std::vector<StoredTileFit> fits;
    const std::string select = absl::StrCat(
        "SELECT ", kFitColumns, " FROM tile_fits WHERE map = ?1 ORDER BY tile_id, digest");
    const auto query = database.Query(select.c_str(), map);
    while (query->Next()) {
      VOXLOC_ASSIGN_OR_RETURN(auto fit, FitOf(*query));
      fits.push_back(std::move(fit));
    }
    if (!query->status().ok()) return query->status();
    return fits;
  });
}

}  // namespace voxloc::server
