// SPDX-License-Identifier: Apache-2.0

// The last poses of vehicles.

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/sql_backend.h"

namespace voxloc::server {
namespace {

// Columns from vehicle to qz.
LastPose PoseOf(const SqlQuery& query) {
  LastPose pose;
  pose.vehicle = query.Text(0);
  pose.map = query.Text(1);
  pose.revision = query.UInt(2);
  pose.stamp_unix_ns = query.Int(3);
  pose.map_T_base.translation = {query.Real(4), query.Real(5), query.Real(6)};
  pose.map_T_base.rotation =
      Eigen::Quaterniond(query.Real(7), query.Real(8), query.Real(9), query.Real(10));
  return pose;
}

}  // namespace

absl::Status MapStore::SaveLastPoses(absl::Span<const LastPose> poses) {
  const auto save = [&](SqlDatabase& database, const StoreTime& now) {
    absl::Status status;
    for (const LastPose& pose : poses) {
      const Eigen::Vector3d& t = pose.map_T_base.translation;
      const Eigen::Quaterniond& q = pose.map_T_base.rotation;
      status = database.Run(
          "INSERT INTO last_poses (vehicle, map, revision, stamp_unix_ns, saved_unix_ns, x, y, z, "
          "qw, qx, qy, qz) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) "
          "ON CONFLICT (vehicle) DO UPDATE SET map = excluded.map, revision = excluded.revision, "
          "stamp_unix_ns = excluded.stamp_unix_ns, saved_unix_ns = excluded.saved_unix_ns, "
          "x = excluded.x, y = excluded.y, z = excluded.z, qw = excluded.qw, qx = excluded.qx, "
          "qy = excluded.qy, qz = excluded.qz",
          pose.vehicle, pose.map, pose.revision, pose.stamp_unix_ns, now.store_unix_ns, t.x(),
          t.y(), t.z(), q.w(), q.x(), q.y(), q.z());
      if (!status.ok()) break;
    }
    return status;
  };
  return backend_->Write(SqlBackend::Sync::kNormal, save);
}

absl::StatusOr<LastPose> MapStore::GetLastPose(absl::string_view vehicle) {
  return backend_->Query([&](SqlDatabase& database) -> absl::StatusOr<LastPose> {
    SqlQuery query(database,
                   "SELECT vehicle, map, revision, stamp_unix_ns, x, y, z, qw, qx, qy, qz "
                   "FROM last_poses WHERE vehicle = ?1",
                   vehicle);
    if (query.Next()) return PoseOf(query);
    if (!query.status().ok()) return query.status();
    return absl::NotFoundError(absl::StrCat("no pose of vehicle \"", vehicle, "\""));
  });
}

absl::StatusOr<std::vector<LastPose>> MapStore::ListLastPoses(absl::string_view map) {
  return backend_->Query([&](SqlDatabase& database) -> absl::StatusOr<std::vector<LastPose>> {
    std::vector<LastPose> poses;
    SqlQuery query(database,
                   "SELECT vehicle, map, revision, stamp_unix_ns, x, y, z, qw, qx, qy, qz "
                   "FROM last_poses WHERE map = ?1 ORDER BY vehicle",
                   map);
    while (query.Next()) poses.push_back(PoseOf(query));
    if (!query.status().ok()) return query.status();
    return poses;
  });
}

absl::StatusOr<SavedPoses> MapStore::ListPosesSavedSince(int64_t unix_ns) {
  return backend_->Query([&](SqlDatabase& database) -> absl::StatusOr<SavedPoses> {
    SavedPoses saved;
    saved.latest_unix_ns = unix_ns;
    SqlQuery query(database,
                   "SELECT vehicle, map, revision, stamp_unix_ns, x, y, z, qw, qx, qy, qz, "
                   "saved_unix_ns FROM last_poses WHERE saved_unix_ns > ?1 ORDER BY saved_unix_ns",
                   unix_ns);
    while (query.Next()) {
      saved.poses.push_back(PoseOf(query));
      saved.latest_unix_ns = query.Int(11);
    }
    if (!query.status().ok()) return query.status();
    return saved;
  });
}

}  // namespace voxloc::server
