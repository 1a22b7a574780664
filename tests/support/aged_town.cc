// SPDX-License-Identifier: Apache-2.0

#include "tests/support/aged_town.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "clients/sim/map_sampler.h"
#include "clients/sim/odometry.h"
#include "clients/sim/scenes.h"
#include "core/container/flat_table.h"
#include "core/parallel/thread_pool.h"
#include "core/status/try.h"
#include "tests/support/random_numbers.h"
#include "tests/support/scene_distance.h"
#include "tests/support/seams.h"
#include "tests/support/simulated.h"

namespace voxloc {
namespace {

constexpr uint64_t kPassSeed = 1000;
// Of the points of a scan, those with a cell of the map, for its pose to be one by alignment.
constexpr double kMinCarried = 0.7;

sim::World WithParking(const sim::World& world, double share, uint64_t seed) {
  sim::MapAgeOptions age;
  age.seed = seed;
  age.changed_parking = share;
  return sim::MakeAgedWorld(world, age).world;
}

sim::Scene WithoutCars(const sim::World& world) {
  std::vector<bool> car(world.scene.solids().size(), false);
  for (const sim::SceneObject& object : world.objects) {
    for (size_t i = 0; i < object.solids; ++i) {
      car[object.first_solid + i] = object.kind == sim::ObjectKind::kParkingPlace;
    }
  }
  std::vector<sim::Solid> kept;
  for (size_t i = 0; i < car.size(); ++i) {
    if (!car[i]) kept.push_back(world.scene.solids()[i]);
  }
  return {world.scene.ground(), std::move(kept)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<AgedTown>> AgedTown::Make(Engine& engine, const Profile& profile,
                                                         const AgedTownOptions& options) {
  auto town = absl::WrapUnique(new AgedTown(engine, profile, options));
  VOXLOC_TRY(town->Build());
  return town;
}

absl::Status AgedTown::Build() {
  sim::TownOptions town;
  town.seed = options_.seed;
  town.size_m = options_.size_m;
  VOXLOC_ASSIGN_OR_RETURN(sim::World world, sim::BuildTown(town));
  world_ = std::make_unique<sim::World>(std::move(world));
  sim::DriveOptions drive;
  drive.seed = options_.seed;
  drive.rate_hz = 1.0 / options_.sample_every_s;
  drive.scans = static_cast<int>(options_.drive_s / options_.sample_every_s);
  VOXLOC_ASSIGN_OR_RETURN(poses_, sim::PlanDrive(*world_, drive));
  sim::MapDriftOptions drift;
  drift.seed = options_.seed;
  drift.sigma_m = options_.drift_sigma_m;
  drift_ = std::make_unique<sim::MapDrift>(drift);
  sim::MapAgeOptions age;
  age.seed = options_.seed;
  age.changed_parking = options_.changed_parking;
  age.missing_structures = options_.missing_structures;
  age.moved_structures = options_.moved_structures;
  age.moved_by_m = options_.moved_by_m;
  sim::AgedWorld aged = sim::MakeAgedWorld(*world_, age);
  age_ = aged.counts;
  lasting_ = std::make_unique<sim::Scene>(WithoutCars(*world_));
  VOXLOC_ASSIGN_OR_RETURN(tiles_, SampleTiles(aged.world, options_.seed));
  aged_ = std::make_unique<sim::Scene>(std::move(aged.world.scene));
  if (options_.removed_edge_m > 0.0) VOXLOC_TRY(RemoveEdge());
  VOXLOC_ASSIGN_OR_RETURN(map_, Compose(tiles_));
  return absl::OkStatus();
}

absl::Status AgedTown::RemoveEdge() {
  const double border_m =
      options_.tile_size_m *
      std::floor((0.5 * options_.size_m - options_.removed_edge_m) / options_.tile_size_m);
  size_t most = 0;
  Eigen::Vector2d outward = Eigen::Vector2d::Zero();
  for (const Eigen::Vector2d& side : {Eigen::Vector2d(1, 0), Eigen::Vector2d(-1, 0),
                                      Eigen::Vector2d(0, 1), Eigen::Vector2d(0, -1)}) {
    const auto is_beyond = [&](const sim::DrivePose& pose) {
      return side.dot(pose.world_T_sensor.translation.head<2>()) > border_m;
    };
    const auto beyond = static_cast<size_t>(std::count_if(poses_.begin(), poses_.end(), is_beyond));
    if (is_beyond(poses_.front()) || is_beyond(poses_.back()) || beyond <= most ||
        2 * beyond > poses_.size()) {
      continue;
    }
    most = beyond;
    outward = side;
  }
  if (most == 0) return absl::NotFoundError("the drive leaves the town nowhere and returns");
  const auto stays = [&](const UpdateTile& tile) {
    const Bounds bounds = ComputeBounds(*tile.cloud_map);
    return outward.dot(0.5 * (bounds.min + bounds.max).head<2>()) < border_m;
  };
  const auto removed = std::stable_partition(tiles_.begin(), tiles_.end(), stays);
  removed_.assign(removed, tiles_.end());
  tiles_.erase(removed, tiles_.end());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<UpdateTile>> AgedTown::SampleTiles(const sim::World& world,
                                                              uint64_t seed) const {
  sim::MapSamplingOptions sampling;
  sampling.seed = seed;
  sampling.spacing_m = options_.map_spacing_m;
  VOXLOC_ASSIGN_OR_RETURN(PointCloud points, sim::SampleMap(world, sampling, 2));
  ThreadPool pool(2);
  drift_->Apply(pool, points);
  std::map<std::pair<int, int>, PointCloud> clouds;
  for (size_t i = 0; i < points.size(); ++i) {
    const Eigen::Vector3d point = points.Point(i);
    const auto column = static_cast<int>(std::floor(point.x() / options_.tile_size_m));
    const auto row = static_cast<int>(std::floor(point.y() / options_.tile_size_m));
    clouds[{column, row}].PushBack(points.x[i], points.y[i], points.z[i]);
  }
  std::vector<UpdateTile> tiles;
  for (auto& [place, cloud] : clouds) {
    tiles.push_back({absl::StrCat(place.first, "_", place.second),
                     std::make_shared<const PointCloud>(std::move(cloud))});
  }
  return tiles;
}

absl::StatusOr<std::shared_ptr<const ResidentMap>> AgedTown::Compose(
    const std::vector<UpdateTile>& tiles) const {
  const std::vector<CellStatistics> statistics = RequiredStatistics({profile_});
  Residents residents;
  for (const UpdateTile& tile : tiles) {
    VOXLOC_ASSIGN_OR_RETURN(residents.emplace_back(),
                            engine_.BuildTile(*tile.cloud_map, statistics));
  }
  return engine_.Compose(residents, statistics, nullptr);
}

sim::LidarOptions AgedTown::SensorOptions() const {
  sim::LidarOptions lidar;
  lidar.rings = options_.rings;
  lidar.azimuth_steps = options_.azimuth_steps;
  if (!options_.sensor.empty()) sim::SetSensorPreset(options_.sensor, lidar).IgnoreError();
  return lidar;
}

std::vector<AgedTown::SeenScan> AgedTown::Scan(uint64_t pass) const {
  const uint64_t seed = options_.seed + kPassSeed * (pass + 1);
  const sim::World world = WithParking(*world_, options_.changed_parking, seed);
  sim::TrafficOptions moving;
  moving.seed = seed;
  moving.cars_per_km = options_.cars_per_km;
  moving.pedestrians_per_km = options_.pedestrians_per_km;
  const sim::Traffic traffic(world, moving);
  sim::LidarOptions lidar_options = SensorOptions();
  lidar_options.seed = seed;
  const sim::Lidar lidar(lidar_options);
  std::vector<SeenScan> scans(poses_.size());
  ThreadPool pool(2);
  pool.ParallelFor(poses_.size(), [&](size_t i) {
    RandomNumbers random(seed + i);
    Pose truth = poses_[i].world_T_sensor;
    truth.translation += truth.rotation * Eigen::Vector3d(random.Uniform(-1.0, 1.0), 0.0, 0.0);
    if (pass % 2 == 1) {
      truth.rotation = truth.rotation * Eigen::AngleAxisd(M_PI, Eigen::Vector3d::UnitZ());
    }
    const sim::RayCaster caster(world.scene, traffic.At(poses_[i].stamp_s, truth.translation));
    scans[i].cloud = lidar.Scan(caster, truth, i);
    const Eigen::Vector3d turn = drift_->RotationAt(truth.translation);
    scans[i].world_T_base = truth;
    scans[i].map_T_base.translation = truth.translation + drift_->DisplacementAt(truth.translation);
    scans[i].map_T_base.rotation =
        (Eigen::AngleAxisd(turn.norm(), turn.norm() > 0.0 ? Eigen::Vector3d(turn.normalized())
                                                          : Eigen::Vector3d::UnitZ()) *
         truth.rotation)
            .normalized();
  });
  return scans;
}

std::vector<AlignResult> AgedTown::Align(const std::vector<SeenScan>& scans,
                                         const std::shared_ptr<const ResidentMap>& map,
                                         uint64_t seed) const {
  RandomNumbers random(seed);
  std::vector<AlignJob> jobs;
  for (const SeenScan& scan : scans) {
    AlignJob& job = jobs.emplace_back();
    job.map = map;
    job.scan = std::make_shared<const PointCloud>(VoxelDownsample(scan.cloud, 0.2).value());
    job.map_T_base_guess = scan.map_T_base;
    job.map_T_base_guess.translation += random.InBox(0.2).cwiseProduct(Eigen::Vector3d(1, 1, 0.3));
    job.guess_covariance = Matrix6(Matrix6::Identity() * 0.04);
    job.profile = profile_;
  }
  return engine_.Align(jobs);
}

double AgedTown::MedianError(const std::vector<SeenScan>& scans,
                             const std::shared_ptr<const ResidentMap>& map) const {
  std::vector<double> errors;
  const std::vector<AlignResult> results = Align(scans, map, options_.seed + 77);
  for (size_t i = 0; i < scans.size(); ++i) {
    errors.push_back(TranslationDistance(results[i].map_T_base, scans[i].map_T_base));
  }
  return Quantile(errors, 0.5);
}

absl::Status AgedTown::Drive() {
  const size_t pass = pass_start_ns_.size();
  pass_start_ns_.push_back(static_cast<int64_t>(3600e9 * options_.hours_between_passes) *
                           static_cast<int64_t>(pass));
  const std::vector<SeenScan> seen = Scan(pass);
  const std::vector<AlignResult> results = Align(seen, map_, options_.seed + pass);
  RandomNumbers random(options_.seed + pass);
  const Pose wrong_mount = {
      {0.2, 0.0, 0.0},
      Eigen::Quaterniond(Eigen::AngleAxisd(M_PI / 180.0, Eigen::Vector3d::UnitZ()))};
  std::vector<sim::DrivePose> driven = poses_;
  for (size_t i = 0; i < seen.size(); ++i) driven[i].world_T_sensor = seen[i].world_T_base;
  sim::OdometryOptions odometry_options;
  odometry_options.seed = options_.seed + pass;
  const std::vector<Pose> odometry = sim::OdometryOf(driven, odometry_options);
  std::optional<Pose> last;
  for (size_t i = 0; i < seen.size(); ++i) {
    const bool accepted =
        results[i].status.ok() && voxloc::Judge(results[i], profile_) == Acceptance::kAccepted;
    UpdateScan scan;
    scan.pass = pass;
    if (options_.removed_edge_m == 0.0) {
      if (!accepted) continue;
      scan.map_T_base = results[i].map_T_base;
    } else {
      const bool carried = accepted && results[i].after.matched_ratio() >= kMinCarried;
      if (!carried && !last.has_value()) continue;
      scan.map_T_base =
          carried ? results[i].map_T_base : *last * (odometry[i - 1].Inverse() * odometry[i]);
      last = scan.map_T_base;
    }
    if (random.Uniform(0.0, 1.0) < options_.wrong_poses) {
      const double heading = random.Uniform(-M_PI, M_PI);
      scan.map_T_base.translation +=
          0.3 * Eigen::Vector3d(std::cos(heading), std::sin(heading), 0.0);
    }
    if (options_.wrong_mount && pass % 5 == 0) scan.map_T_base = scan.map_T_base * wrong_mount;
    scan.points_base =
        std::make_shared<const PointCloud>(ThinForUpdate(seen[i].cloud, Eigen::Vector3d::Zero()));
    scans_.push_back(std::move(scan));
    truth_.push_back(seen[i].map_T_base);
  }
  return absl::OkStatus();
}

UpdateRequest AgedTown::Request() const {
  UpdateRequest request;
  request.tiles = tiles_;
  request.pass_start_ns = pass_start_ns_;
  request.scans = scans_;
  return request;
}

absl::StatusOr<AgedTown::Quality> AgedTown::Judge(const UpdateProposal& proposal) {
  Quality quality;
  if (proposal.tiles.empty()) return quality;
  std::vector<UpdateTile> tiles = tiles_;
  const NearScene lasting(*lasting_);
  const NearScene aged(*aged_);
  const auto undrifted = [&](const Eigen::Vector3d& point) { return Undrifted(point); };
  const auto is_raised = [&](const Eigen::Vector3d& point) {
    return point.z() > lasting_->ground().Height(point.x(), point.y()) + 2.5;
  };
  const sim::RayCaster caster(*lasting_);
  const sim::LidarOptions lidar = SensorOptions();
  const bool even = lidar.elevations_deg.empty();
  const double lowest_deg = even ? lidar.min_elevation_deg : lidar.elevations_deg.front();
  const double highest_deg = even ? lidar.max_elevation_deg : lidar.elevations_deg.back();
  const auto is_seen = [&](const Eigen::Vector3d& point) {
    return std::any_of(poses_.begin(), poses_.end(), [&](const sim::DrivePose& pose) {
      const Eigen::Vector3d& eye = pose.world_T_sensor.translation;
      const Eigen::Vector3d ray = pose.world_T_sensor.rotation.conjugate() * (point - eye);
      const double elevation_deg = std::atan2(ray.z(), ray.head<2>().norm()) * 180.0 / M_PI;
      return ray.norm() < 15.0 && elevation_deg > lowest_deg && elevation_deg < highest_deg &&
             caster.Sees(eye, point);
    });
  };
  FlatTable<CellKey, uint8_t> in_new;
  constexpr double kCubeM = 0.3;
  const auto near_new = [&](const Eigen::Vector3d& point) {
    const CellKey key = CellOf(point, kCubeM);
    for (int i = 0; i < 27; ++i) {
      if (in_new.Find({key.x + i % 3 - 1, key.y + i / 3 % 3 - 1, key.z + i / 9 - 1}) != nullptr) {
        return true;
      }
    }
    return false;
  };
  std::vector<double> distances;
  std::set<size_t> changed;
  size_t transient = 0;
  size_t left = 0;
  for (const TileProposal& tile : proposal.tiles) {
    changed.insert(tile.tile);
    tiles[tile.tile].cloud_map = std::make_shared<const PointCloud>(tile.cloud_map);
    // The old points that stay come first.
    const size_t first_new = tile.cloud_map.size() - tile.points_added;
    std::set<std::array<float, 3>> kept;
    for (size_t i = 0; i < tile.cloud_map.size(); ++i) {
      const Eigen::Vector3d point = tile.cloud_map.Point(i);
      const CellKey key = CellOf(point, kCubeM);
      if (in_new.Find(key) == nullptr) in_new.Insert(key, 1);
      if (i < first_new) {
        const Eigen::Vector3f offset = tile.cloud_map.Offset(i);
        kept.insert({offset.x(), offset.y(), offset.z()});
        continue;
      }
      distances.push_back(lasting.Distance(undrifted(point)));
      if (distances.back() > 0.2) ++transient;
    }
    const PointCloud& old = *tiles_[tile.tile].cloud_map;
    for (size_t i = 0; i < old.size(); ++i) {
      const Eigen::Vector3d point = undrifted(old.Point(i));
      if (!is_raised(point) || lasting.Distance(point) <= 0.15 || !is_seen(point)) continue;
      ++quality.ghosts;
      if (kept.count({old.x[i], old.y[i], old.z[i]}) > 0) ++left;
    }
  }
  quality.new_points = distances.size();
  quality.median_m = Quantile(distances, 0.5);
  quality.p95_m = Quantile(distances, 0.95);
  quality.transient =
      static_cast<double>(transient) / std::max<double>(1.0, static_cast<double>(distances.size()));
  quality.ghosts_left =
      static_cast<double>(left) / std::max<double>(1.0, static_cast<double>(quality.ghosts));

  for (const size_t tile : changed) {
    for (size_t other = 0; other < tiles.size(); ++other) {
      if (changed.count(other) > 0) continue;
      Append(SeamOffsets(*tiles[tile].cloud_map, *tiles[other].cloud_map), quality.seams_m);
      Append(SeamOffsets(*tiles_[tile].cloud_map, *tiles_[other].cloud_map), quality.old_seams_m);
    }
  }

  const std::vector<SeenScan> seen = Scan(kFreshPass);
  size_t recalled = 0;
  for (const SeenScan& scan : seen) {
    for (size_t i = 0; i < scan.cloud.size(); i += 7) {
      if (scan.cloud.Offset(i).norm() > 25.0F) continue;
      const Eigen::Vector3d in_map = scan.map_T_base * scan.cloud.Point(i);
      const Eigen::Vector3d point = undrifted(in_map);
      if (!is_raised(point)) continue;
      if (lasting.Distance(point) > 0.1 || aged.Distance(point) < 0.15) continue;
      ++quality.changed_seen;
      if (near_new(in_map)) ++recalled;
    }
  }
  quality.recalled = static_cast<double>(recalled) /
                     std::max<double>(1.0, static_cast<double>(quality.changed_seen));

  std::vector<Bounds> bounds;
  for (const size_t tile : changed) bounds.push_back(ComputeBounds(*tiles_[tile].cloud_map));
  std::vector<SeenScan> near;
  for (const SeenScan& scan : seen) {
    const Eigen::Vector3d at = scan.map_T_base.translation;
    if (std::any_of(bounds.begin(), bounds.end(), [&](const Bounds& box) {
          return (at - at.cwiseMax(box.min).cwiseMin(box.max)).norm() < 5.0;
        })) {
      near.push_back(scan);
    }
  }
  quality.scans = near.size();
  const sim::World now = WithParking(*world_, options_.changed_parking, options_.seed + 777);
  VOXLOC_ASSIGN_OR_RETURN(const auto fresh_tiles, SampleTiles(now, options_.seed + 777));
  VOXLOC_ASSIGN_OR_RETURN(const auto fresh_map, Compose(fresh_tiles));
  VOXLOC_ASSIGN_OR_RETURN(const auto new_map, Compose(tiles));
  quality.error_old_m = MedianError(near, map_);
  quality.error_new_m = MedianError(near, new_map);
  quality.error_fresh_m = MedianError(near, fresh_map);
  return quality;
}

}  // namespace voxloc
