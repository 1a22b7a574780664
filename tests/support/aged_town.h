// SPDX-License-Identifier: Apache-2.0
//
// AgedTown: a simulated town, an old map of it, and vehicles that drive through it with other
// parked cars in every pass. Scans have the poses that they were aligned at with the old map. One
// thread at a time.

#ifndef VOXLOC_TESTS_SUPPORT_AGED_TOWN_H_
#define VOXLOC_TESTS_SUPPORT_AGED_TOWN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/sim/drive.h"
#include "clients/sim/lidar.h"
#include "clients/sim/map_changes.h"
#include "clients/sim/world.h"
#include "core/engine/engine.h"
#include "core/engine/profile.h"
#include "core/map_update/map_extension.h"
#include "core/map_update/map_proposal.h"

namespace voxloc {

struct AgedTownOptions {
  uint64_t seed = 1;
  double size_m = 140.0;
  std::string sensor;  // a preset; empty: so many rings and steps
  int rings = 32;
  int azimuth_steps = 1800;
  double missing_structures = 0.1;
  double moved_structures = 0.1;
  double moved_by_m = 0.3;
  double changed_parking = 0.5;  // in the map, and drawn for each pass
  double cars_per_km = 20.0;
  double pedestrians_per_km = 100.0;
  double drift_sigma_m = 0.03;
  double map_spacing_m = 0.2;
  double tile_size_m = 20.0;
  double drive_s = 40.0;
  double sample_every_s = 0.5;
  double hours_between_passes = 3.0;
  // Recorded poses: the share that is 0.3 m off, in any direction along the ground, and whether
  // every fifth pass is one of a vehicle whose mount is wrong, by 0.2 m and 1 degree.
  double wrong_poses = 0.0;
  bool wrong_mount = false;
  // Tiles so far from one of the town's edges are not in the map: of the edge where most of the
  // drive is beyond, up to half of it, of those from which the drive returns. Scans that the map
  // does not carry have poses by odometry (sim::OdometryOptions).
  double removed_edge_m = 0.0;
};

class AgedTown {
 public:
  // The maps are of this engine, for this profile; both must outlive the town. NotFound: there is
  // no edge to remove.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<AgedTown>> Make(
      Engine& engine, const Profile& profile, const AgedTownOptions& options);

  // One more pass, each second one in the opposite direction. Its accepted scans are added.
  [[nodiscard]] absl::Status Drive();

  [[nodiscard]] const std::vector<UpdateTile>& tiles() const { return tiles_; }
  [[nodiscard]] const std::vector<UpdateScan>& scans() const { return scans_; }
  [[nodiscard]] UpdateRequest Request() const;
  [[nodiscard]] const sim::MapAgeCounts& age() const { return age_; }

  struct Quality {
    size_t new_points = 0;
    // Of new points from the surfaces that stay, in the map's frame: without drift.
    double median_m = 0.0;
    double p95_m = 0.0;
    double transient = 0.0;  // share of new points more than 0.2 m from such a surface
    // Of the points that the passes saw, over 2.5 m above the ground, of surfaces that the old map
    // does not have within 0.15 m: the share with a point of the new map within 0.3 m.
    size_t changed_seen = 0;
    double recalled = 0.0;
    // Of the old map's points in changed tiles over that height, where now there is nothing within
    // 0.15 m, that the vehicle can see from within 15 m, between the sensor's lowest and highest
    // rings: the share that is left.
    size_t ghosts = 0;
    double ghosts_left = 0.0;
    // SeamOffsets of changed tiles with unchanged ones, now and before.
    std::vector<double> seams_m;
    std::vector<double> old_seams_m;
    // Median errors of the scans of a fresh pass in and near the changed tiles, m.
    size_t scans = 0;
    double error_old_m = 0.0;
    double error_new_m = 0.0;
    double error_fresh_m = 0.0;
  };
  [[nodiscard]] absl::StatusOr<Quality> Judge(const UpdateProposal& proposal);

  struct WayError {
    double way_m = 0.0;
    double error_m = 0.0;
  };
  struct ExtensionQuality {
    std::vector<WayError> placed;  // scans
    size_t new_points = 0;
    // As of Quality.
    double median_m = 0.0;
    double p95_m = 0.0;
    double transient = 0.0;
    // Of the points of a fresh pass's scans beyond the map, up to 15 m from the sensor, on surfaces
    // that stay, in new tiles: the share with a new point within 0.3 m.
    size_t seen = 0;
    double recalled = 0.0;
    // SeamOffsets of new tiles with the map's; and of the tiles that were removed, for comparison.
    std::vector<double> seams_m;
    std::vector<double> removed_seams_m;
    // Median errors of these scans with the new tiles, and with the tiles that were removed, m.
    size_t scans = 0;
    double error_new_m = 0.0;
    double error_fresh_m = 0.0;
  };
  [[nodiscard]] absl::StatusOr<ExtensionQuality> JudgeExtension(const ExtensionProposal& proposal);

 private:
  static constexpr uint64_t kFreshPass = 10'000;  // to judge by
  struct SeenScan {
    PointCloud cloud;
    Pose map_T_base;  // true, in the drifted map
    Pose world_T_base;
  };
  using Residents = std::vector<std::shared_ptr<const ResidentTile>>;

  AgedTown(Engine& engine, const Profile& profile, const AgedTownOptions& options)
      : engine_(engine), profile_(profile), options_(options) {}

  [[nodiscard]] absl::Status Build();
  [[nodiscard]] absl::Status RemoveEdge();
  [[nodiscard]] absl::StatusOr<std::vector<UpdateTile>> SampleTiles(const sim::World& world,
                                                                    uint64_t seed) const;
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const ResidentMap>> Compose(
      const std::vector<UpdateTile>& tiles) const;
  [[nodiscard]] Eigen::Vector3d Undrifted(const Eigen::Vector3d& point_map) const {
    return point_map - drift_->DisplacementAt(point_map);
  }
  [[nodiscard]] sim::LidarOptions SensorOptions() const;
  // A pass with cars of its own; scans in parallel.
  [[nodiscard]] std::vector<SeenScan> Scan(uint64_t pass) const;
  [[nodiscard]] std::vector<AlignResult> Align(const std::vector<SeenScan>& scans,
                                               const std::shared_ptr<const ResidentMap>& map,
                                               uint64_t seed) const;
  [[nodiscard]] double MedianError(const std::vector<SeenScan>& scans,
                                   const std::shared_ptr<const ResidentMap>& map) const;

  Engine& engine_;
  const Profile& profile_;
  const AgedTownOptions options_;
  std::unique_ptr<sim::World> world_;
  std::unique_ptr<sim::Scene> lasting_;  // without cars
  std::unique_ptr<sim::Scene> aged_;     // that the map was made of
  std::unique_ptr<sim::MapDrift> drift_;
  sim::MapAgeCounts age_;
  std::vector<sim::DrivePose> poses_;
  std::vector<UpdateTile> tiles_;
  std::vector<UpdateTile> removed_;  // of the edge
  std::shared_ptr<const ResidentMap> map_;
  std::vector<UpdateScan> scans_;
  std::vector<Pose> truth_;  // of them, in the drifted map
  std::vector<int64_t> pass_start_ns_;
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_AGED_TOWN_H_
