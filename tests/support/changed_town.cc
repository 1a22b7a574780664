// SPDX-License-Identifier: Apache-2.0

#include "tests/support/changed_town.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/sim/lidar.h"
#include "clients/sim/map_changes.h"
#include "clients/sim/map_sampler.h"
#include "clients/sim/scenes.h"
#include "clients/sim/world.h"
#include "core/engine/search_rules.h"
#include "core/estimate/map_fit/scan_fit.h"
#include "tests/support/random_numbers.h"
#include "tests/support/simulated.h"

namespace voxloc {
namespace {

// A house whose front is farther from the drive is hardly seen by it.
constexpr double kMaxHouseDistanceM = 12.0;
// A removed house is moved out of sight, so that the indices of the other objects do not change.
constexpr double kHiddenDepthM = 1000.0;

sim::Aabb BoundsOfObject(const sim::SceneObject& object, const std::vector<sim::Solid>& solids) {
  sim::Aabb box;
  for (size_t i = 0; i < object.solids; ++i) {
    box.Extend(sim::BoundsOf(solids[object.first_solid + i]));
  }
  return box;
}

bool Overlap(const Bounds& tile, const sim::Aabb& box) {
  return (tile.min.array() <= box.max.array()).all() && (tile.max.array() >= box.min.array()).all();
}

sim::World Displaced(const sim::World& world, size_t object, const Eigen::Vector3d& by) {
  std::vector<sim::Solid> solids = world.scene.solids();
  const sim::SceneObject& moved = world.objects[object];
  for (size_t i = 0; i < moved.solids; ++i) solids[moved.first_solid + i].center += by;
  return {world.streets, sim::Scene(world.scene.ground(), std::move(solids)), world.objects};
}

sim::World WithOtherCars(const sim::World& world, double share, uint64_t seed) {
  sim::MapAgeOptions age;
  age.seed = seed;
  age.changed_parking = share;
  return sim::MakeAgedWorld(world, age).world;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChangedTown>> ChangedTown::Make(Engine& engine,
                                                               const Profile& profile,
                                                               const ChangedTownOptions& options) {
  auto town = absl::WrapUnique(new ChangedTown(engine, profile, options));
  if (absl::Status status = town->Build(); !status.ok()) return status;
  return town;
}

absl::StatusOr<size_t> ChangedTown::ChooseHouse(const sim::World& town) const {
  std::vector<size_t> beside;
  for (size_t i = 0; i < town.objects.size(); ++i) {
    const sim::SceneObject& object = town.objects[i];
    if (object.kind != sim::ObjectKind::kStructure) continue;
    const Eigen::Vector2d front = object.frame.origin.head<2>();
    const bool near = std::any_of(poses_.begin(), poses_.end(), [&](const sim::DrivePose& pose) {
      return (pose.world_T_sensor.translation.head<2>() - front).norm() <= kMaxHouseDistanceM;
    });
    if (near) beside.push_back(i);
  }
  if (beside.empty()) return absl::NotFoundError("no house stands beside the drive");
  RandomNumbers random(options_.seed);
  return beside[static_cast<size_t>(random.Index(static_cast<int>(beside.size())))];
}

absl::Status ChangedTown::Build() {
  sim::TownOptions town_options;
  town_options.seed = options_.seed;
  town_options.size_m = options_.size_m;
  auto town = sim::BuildTown(town_options);
  if (!town.ok()) return town.status();
  sim::DriveOptions drive;
  drive.seed = options_.seed;
  drive.rate_hz = 1.0 / options_.sample_every_s;
  drive.scans = static_cast<int>(options_.drive_s / options_.sample_every_s);
  auto poses = sim::PlanDrive(*town, drive);
  if (!poses.ok()) return poses.status();
  poses_ = *std::move(poses);

  const auto house = ChooseHouse(*town);
  if (!house.ok()) return house.status();
  const sim::SceneObject& object = town->objects[*house];
  const Eigen::Vector3d back = -options_.moved_by_m * object.frame.rotation.col(1);
  const Eigen::Vector3d hidden_offset = {0.0, 0.0, -kHiddenDepthM};
  Eigen::Vector3d in_map = Eigen::Vector3d::Zero();
  Eigen::Vector3d now = Eigen::Vector3d::Zero();
  if (options_.change == TownChange::kRemoved) now = hidden_offset;
  if (options_.change == TownChange::kBuilt) in_map = hidden_offset;
  if (options_.change == TownChange::kBack) now = back;
  if (options_.change == TownChange::kForward) in_map = back;
  before_ = std::make_unique<sim::World>(Displaced(*town, *house, in_map));
  after_ = std::make_unique<sim::World>(Displaced(*town, *house, now));
  const sim::World mapped = WithOtherCars(*before_, options_.changed_parking, options_.seed);
  if (absl::Status status = BuildMap(mapped); !status.ok()) return status;

  const std::vector<sim::Solid>& solids = town->scene.solids();
  const sim::Aabb box = BoundsOfObject(object, solids);
  for (Tile& tile : tiles_) {
    tile.changed = options_.change != TownChange::kNone && Overlap(tile.bounds, box);
    for (const sim::SceneObject& other : town->objects) {
      if (other.kind != sim::ObjectKind::kParkingPlace) continue;
      const Eigen::Vector3d at = other.frame.origin;
      tile.parking |= Overlap(tile.bounds, sim::Aabb{at, at});
    }
  }
  return absl::OkStatus();
}

absl::Status ChangedTown::BuildMap(const sim::World& mapped) {
  sim::MapSamplingOptions sampling;
  sampling.seed = options_.seed;
  sampling.spacing_m = options_.map_spacing_m;
  const auto points = sim::SampleMap(mapped, sampling, 2);
  if (!points.ok()) return points.status();
  std::map<std::pair<int, int>, PointCloud> clouds;
  for (size_t i = 0; i < points->size(); ++i) {
    const Eigen::Vector3d point = points->Point(i);
    const auto column = static_cast<int>(std::floor(point.x() / options_.tile_size_m));
    const auto row = static_cast<int>(std::floor(point.y() / options_.tile_size_m));
    clouds[{column, row}].PushBack(points->x[i], points->y[i], points->z[i]);
  }
  const std::vector<CellStatistics> statistics = RequiredStatistics({profile_});
  std::vector<std::shared_ptr<const ResidentTile>> residents;
  for (const auto& [place, cloud] : clouds) {
    auto resident = engine_.BuildTile(cloud, statistics);
    if (!resident.ok()) return resident.status();
    residents.push_back(*std::move(resident));
    Tile& tile = tiles_.emplace_back();
    tile.id = absl::StrCat(place.first, "_", place.second);
    tile.bounds = ComputeBounds(cloud);
  }
  auto map = engine_.Compose(residents, statistics, nullptr);
  if (!map.ok()) return map.status();
  map_ = *std::move(map);
  return absl::OkStatus();
}

absl::StatusOr<ChangedTown::PassReport> ChangedTown::Drive(When when) {
  const uint64_t pass = ++passes_;
  const sim::World world = WithOtherCars(when == When::kBefore ? *before_ : *after_,
                                         options_.changed_parking, options_.seed + 1000 * pass);
  sim::TrafficOptions moving;
  moving.seed = options_.seed + 1000 * pass;
  moving.cars_per_km = options_.cars_per_km;
  moving.pedestrians_per_km = options_.pedestrians_per_km;
  const sim::Traffic traffic(world, moving);
  sim::LidarOptions lidar_options;
  lidar_options.seed = options_.seed + 1000 * pass;
  lidar_options.rings = options_.rings;
  lidar_options.azimuth_steps = options_.azimuth_steps;
  const sim::Lidar lidar(lidar_options);
  RandomNumbers random(options_.seed + 1000 * pass);

  std::vector<Bounds> bounds;
  for (const Tile& tile : tiles_) bounds.push_back(tile.bounds);
  const CellStatistics& finest = profile_.stages.back().cells;
  const auto& statistics = map_->statistics();
  PassReport report;
  for (size_t i = 0; i < poses_.size(); ++i) {
    const Pose& truth = poses_[i].world_T_sensor;
    const sim::RayCaster caster(world.scene, traffic.At(poses_[i].stamp_s, truth.translation));
    AlignJob job;
    job.map = map_;
    job.scan = std::make_shared<const PointCloud>(lidar.Scan(caster, truth, i));
    job.map_T_base_guess = truth;
    job.map_T_base_guess.translation += random.InBox(0.3).cwiseProduct(Eigen::Vector3d(1, 1, 0.3));
    job.profile = profile_;
    const AlignResult result = engine_.Align(absl::MakeConstSpan(&job, 1))[0];
    if (!result.status.ok()) return result.status;
    ++report.scans;
    if (Judge(result, profile_) != Acceptance::kAccepted) continue;
    ++report.accepted;
    report.worst_error_m =
        std::max(report.worst_error_m, TranslationDistance(result.map_T_base, truth));
    ScanFitRequest request;
    request.map = map_.get();
    request.statistics_index = static_cast<size_t>(
        std::find(statistics.begin(), statistics.end(), finest) - statistics.begin());
    request.points_base = job.scan.get();
    request.map_T_base = result.map_T_base;
    // Real time: voxloc_bench reports it; no test reads it.
    const auto start = std::chrono::steady_clock::now();
    const auto observations = ObserveFit(request);
    if (!observations.ok()) return observations.status();
    const std::vector<TileFit> seen = SumByTile(*observations, bounds, finest.cell_size_m);
    // Real time: as above.
    report.observe_s +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (size_t t = 0; t < seen.size(); ++t) {
      if (seen[t].scans == 0.0) continue;
      tiles_[t].fit.Scale(DecayPerScan());
      tiles_[t].fit.Add(seen[t]);
    }
  }
  return report;
}

std::vector<const ChangedTown::Tile*> ChangedTown::Ranked() const {
  std::vector<const Tile*> ranked;
  for (const Tile& tile : tiles_) {
    if (tile.fit.scans > 0.0) ranked.push_back(&tile);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Tile* a, const Tile* b) { return a->fit.change() > b->fit.change(); });
  return ranked;
}

}  // namespace voxloc
