// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/map_fit/scan_fit.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/estimate/covariance/covariance_estimator.h"
#include "core/estimate/quality/scan_shape.h"
#include "core/ndt/symmetric3.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// 64 MB of places.
constexpr int64_t kMaxPlaces = int64_t{1} << 24;
// Points that fill a cell evenly spread by 0.29 of its edge along each axis. Across a plane they
// spread by less than a third of that, and along it, at the edge of a wall, by at least half of it.
constexpr double kFlatShare = 0.1;
constexpr double kWideShare = 0.14;

struct FitCell {
  Eigen::Vector3f mean;         // m, from the place
  Eigen::Matrix3f information;  // of its points as a scan with an uncertain pose sees them, 1/m^2
  // Of the plane that its points lie in.
  Eigen::Vector3f normal;
  float normal_sigma_m = 0.0F;  // of the points, across it
  bool solid = false;           // whether they lie in a plane, and fill enough of it
};

// The cells of a map around a place, by where they lie, prepared for the comparison with one scan.
// Positions are offsets from that place, in float, so that a map far from its zero loses nothing.
struct FitCells {
  static constexpr uint32_t kNone = UINT32_MAX;

  Eigen::Vector3d centre_map = Eigen::Vector3d::Zero();
  float cell_size_m = 1.0F;
  float cells_per_m = 1.0F;
  Eigen::Vector3f shift = Eigen::Vector3f::Zero();  // of the centre, in cells
  Eigen::Vector3i size = Eigen::Vector3i::Zero();   // in cells
  std::vector<FitCell> cells;
  std::vector<uint32_t> first;  // of each place, x fastest
  std::vector<uint32_t> end;    // of the run that begins with a cell

  // In cells of the lattice, from the corner of the least place.
  [[nodiscard]] Eigen::Vector3f PlaceOf(const Eigen::Vector3f& offset) const {
    return offset * cells_per_m + shift;
  }
  [[nodiscard]] size_t IndexOf(const Eigen::Vector3i& place) const {
    return (static_cast<size_t>(place.z()) * static_cast<size_t>(size.y()) +
            static_cast<size_t>(place.y())) *
               static_cast<size_t>(size.x()) +
           static_cast<size_t>(place.x());
  }
  // Numbers of the cells of a place, from first to before second; none outside.
  [[nodiscard]] std::pair<uint32_t, uint32_t> At(const Eigen::Vector3i& place) const {
    if ((place.array() < 0).any() || (place.array() >= size.array()).any()) return {0, 0};
    const uint32_t begin = first[IndexOf(place)];
    return begin == kNone ? std::make_pair(0U, 0U) : std::make_pair(begin, end[begin]);
  }
};

FitCell FitCellOf(const MapCell& cell, double cell_size_m, const Eigen::Vector3d& centre_map,
                  double tolerance_sigma_m) {
  FitCell fit;
  fit.mean = (cell.mean - centre_map).cast<float>();
  const Eigen::Matrix3d seen = ToMatrix(cell.covariance) +
                               tolerance_sigma_m * tolerance_sigma_m * Eigen::Matrix3d::Identity();
  fit.information = seen.inverse().cast<float>();
  const auto eigen = ndt::EigenDecompose(cell.covariance);
  fit.normal = {static_cast<float>(eigen.vector[0].x), static_cast<float>(eigen.vector[0].y),
                static_cast<float>(eigen.vector[0].z)};
  const double sigma = std::sqrt(std::max(0.0, eigen.value[0]));
  fit.normal_sigma_m = static_cast<float>(sigma);
  fit.solid = sigma <= kFlatShare * cell_size_m &&
              std::sqrt(std::max(0.0, eigen.value[1])) >= kWideShare * cell_size_m;
  return fit;
}

// `cells` are of a lattice of this size, each run of one key together. `tolerance_sigma_m`: of the
// scan's points, for the errors of its pose. ResourceExhausted: they span too many places.
absl::StatusOr<FitCells> MakeFitCells(const std::vector<MapCell>& cells, double cell_size_m,
                                      const Eigen::Vector3d& centre_map, double tolerance_sigma_m) {
  FitCells fit;
  fit.centre_map = centre_map;
  fit.cell_size_m = static_cast<float>(cell_size_m);
  fit.cells_per_m = static_cast<float>(1.0 / cell_size_m);
  if (cells.empty()) return fit;
  const auto place_of = [](const CellKey& key) { return Eigen::Vector3i(key.x, key.y, key.z); };
  Eigen::Vector3i low = place_of(cells.front().key);
  Eigen::Vector3i high = low;
  for (const MapCell& cell : cells) {
    low = low.cwiseMin(place_of(cell.key));
    high = high.cwiseMax(place_of(cell.key));
  }
  fit.size = (high - low).array() + 1;
  const int64_t places = fit.size.cast<int64_t>().prod();
  if (places > kMaxPlaces) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the cells span ", places, " places of their lattice, more than ", kMaxPlaces));
  }
  fit.shift = (centre_map / cell_size_m - low.cast<double>()).cast<float>();
  fit.first.assign(static_cast<size_t>(places), FitCells::kNone);
  fit.end.assign(cells.size(), 0);
  fit.cells.reserve(cells.size());
  for (size_t i = 0; i < cells.size();) {
    const Eigen::Vector3i place = place_of(cells[i].key) - low;
    const auto begin = static_cast<uint32_t>(i);
    for (; i < cells.size() && cells[i].key == cells[begin].key; ++i) {
      fit.cells.push_back(FitCellOf(cells[i], cell_size_m, centre_map, tolerance_sigma_m));
    }
    fit.first[fit.IndexOf(place)] = begin;
    fit.end[begin] = static_cast<uint32_t>(i);
  }
  return fit;
}

// Farther away the points of a scan lie too far apart to say something about each cell, and the
// error of its rotation displaces them by more than walls are thick.
constexpr double kRangeM = 20.0;
// The same limit in cells, for small cells: the cost is in proportion to their number.
constexpr double kRangeCells = 64.0;
constexpr size_t kMaxCells = 1'000'000;
// As many rays as meet a wall of 20 m x 5 m, 10 m away, once in each of its cells of 0.5 m with a
// sensor of 32 rings.
constexpr size_t kMaxRays = 4096;
// 99.9 % of the points of a Gaussian in three dimensions are nearer, in squared standard
// deviations.
constexpr float kExplainedSquared = 16.3F;
// What stands higher is no car: vans are up to 2.5 m high.
constexpr float kRaisedObservation_m = 2.5F;
// Of the angle between a ray and a plane's normal. At 60 degrees the error of the pose moves the
// place where a ray crosses a wall by twice as much along it.
constexpr float kMinCosine = 0.5F;
// Where a ray crosses a cell's plane, in standard deviations of the cell's points along it: points
// that fill a square reach 1.7 of them along its axes.
constexpr float kCrossingSquared = 1.5F * 1.5F;
// A ray that passes a plane ends behind it by so many standard deviations, of the cell's points and
// of the pose together.
constexpr float kBehindSigmas = 4.0F;
// Rays that show a cell to be missing, at the least: a single one may be a wrong return.
constexpr uint32_t kMinRaysThrough = 2;

// Of the points of a scan at the range's end, across a ray: the errors of an accepted pose.
double ToleranceSigmaM() {
  const SystematicError error;
  return std::hypot(error.position_sigma_m.x(), kRangeM * error.rotation_sigma_rad.x());
}

// At most kMaxRays of so many points, ascending: one of each run of as many, at varying places in
// it, since at equal distances a sensor's points may all be of a few of its rings.
std::vector<size_t> ChooseRays(size_t points) {
  const size_t rays = std::min(points, kMaxRays);
  const double run = static_cast<double>(points) / static_cast<double>(std::max<size_t>(rays, 1));
  constexpr double kGoldenSection = 0.6180339887498949;
  std::vector<size_t> chosen(rays);
  for (size_t k = 0; k < rays; ++k) {
    const auto number = static_cast<double>(k);
    const double place = number * kGoldenSection - std::floor(number * kGoldenSection);
    chosen[k] = std::min(points - 1, static_cast<size_t>((number + place) * run));
  }
  if (rays == points) {
    for (size_t k = 0; k < rays; ++k) chosen[k] = k;
  }
  return chosen;
}

class FitObserver {
 public:
  FitObserver(const FitCells& cells, double range_m, double tolerance_sigma_m)
      : cells_(cells),
        range_m_(static_cast<float>(range_m)),
        tolerance_variance_(static_cast<float>(tolerance_sigma_m * tolerance_sigma_m)),
        ray_ends_(cells.cells.size(), 0),
        ray_crossings_(cells.cells.size(), 0) {}

  // Points as offsets from the sensor, map axes.
  std::vector<FitObservation> Observe(const std::vector<Eigen::Vector3f>& points) {
    std::vector<FitObservation> observations;
    observations.reserve(points.size() + cells_.cells.size() / 4);
    std::vector<Eigen::Vector3f> near;
    std::vector<float> distances;
    std::vector<FitKind> kinds;
    for (const Eigen::Vector3f& point : points) {
      const float range_m = point.norm();
      if (!(range_m > 0.0F)) continue;
      const Eigen::Vector3f direction = point / range_m;
      TraverseRay(direction, range_m);
      if (range_m > range_m_) continue;
      float distance_m = 0.0F;
      const bool explained = EndRay(point, direction, distance_m);
      near.push_back(point);
      kinds.push_back(explained ? FitKind::kExplained : FitKind::kUnexplained);
      distances.push_back(distance_m);
    }
    // The ground is where the map or the scan is lowest.
    const size_t near_points = near.size();
    for (const FitCell& cell : cells_.cells) near.push_back(cell.mean);
    const GroundGrid ground(near);
    const auto add = [&](size_t i, FitKind kind, float distance_m) {
      FitObservation& observation = observations.emplace_back();
      observation.place_map = cells_.centre_map + near[i].cast<double>();
      observation.kind = kind;
      observation.raised = ground.HeightOf(near[i]) > kRaisedObservation_m;
      observation.distance_m = distance_m;
    };
    for (size_t i = 0; i < near_points; ++i) add(i, kinds[i], distances[i]);
    for (size_t i = 0; i < cells_.cells.size(); ++i) {
      if (ray_ends_[i] > 0) {
        add(near_points + i, FitKind::kConfirmed, 0.0F);
      } else if (ray_crossings_[i] >= kMinRaysThrough) {
        add(near_points + i, FitKind::kSeenThrough, 0.0F);
      }
    }
    return observations;
  }

 private:
  // Visits the places of the lattice along a ray, each once (Amanatides and Woo, "A fast voxel
  // traversal algorithm for ray tracing", 1987).
  void TraverseRay(const Eigen::Vector3f& direction, float range_m) {
    constexpr float kNever = std::numeric_limits<float>::infinity();
    const float end_m = std::min(range_m, range_m_);
    const Eigen::Vector3f from = cells_.PlaceOf(Eigen::Vector3f::Zero());
    const float cell_m = cells_.cell_size_m;
    Eigen::Vector3i place = from.array().floor().cast<int>();
    Eigen::Vector3i step;
    Eigen::Vector3f next_m;  // along the ray, to the next border across each axis
    Eigen::Vector3f between_m;
    for (int axis = 0; axis < 3; ++axis) {
      const float slope = direction[axis];
      step[axis] = slope > 0.0F ? 1 : -1;
      const float inside = from[axis] - static_cast<float>(place[axis]);
      between_m[axis] = slope == 0.0F ? kNever : cell_m / std::abs(slope);
      next_m[axis] =
          slope == 0.0F ? kNever : (slope > 0.0F ? 1.0F - inside : inside) * between_m[axis];
    }
    for (float at_m = 0.0F; at_m <= end_m;) {
      const auto [first, end] = cells_.At(place);
      for (uint32_t i = first; i < end; ++i) {
        if (PassesThrough(cells_.cells[i], direction, range_m)) ++ray_crossings_[i];
      }
      int axis = 0;
      next_m.minCoeff(&axis);
      at_m = next_m[axis];
      next_m[axis] += between_m[axis];
      place[axis] += step[axis];
    }
  }

  [[nodiscard]] bool PassesThrough(const FitCell& cell, const Eigen::Vector3f& direction,
                                   float range_m) const {
    if (!cell.solid) return false;
    const float slope = cell.normal.dot(direction);
    const float cosine = std::abs(slope);
    if (cosine < kMinCosine) return false;
    const float crossing_m = cell.normal.dot(cell.mean) / slope;
    const float behind_m = (range_m - crossing_m) * cosine;
    const float sigma_m =
        std::sqrt(cell.normal_sigma_m * cell.normal_sigma_m + tolerance_variance_);
    if (!(crossing_m > 0.0F) || !(behind_m > kBehindSigmas * sigma_m)) return false;
    const Eigen::Vector3f beside = crossing_m * direction - cell.mean;  // in the plane
    return beside.dot(cell.information * beside) <= kCrossingSquared;
  }

  // Whether a cell explains the point that the ray ends in; then also its distance from the cell's
  // surface.
  bool EndRay(const Eigen::Vector3f& point, const Eigen::Vector3f& direction, float& distance_m) {
    const Eigen::Vector3i place = cells_.PlaceOf(point).array().floor().cast<int>();
    float least = kExplainedSquared;
    const FitCell* best = nullptr;
    for (int z = -1; z <= 1; ++z) {
      for (int y = -1; y <= 1; ++y) {
        for (int x = -1; x <= 1; ++x) {
          const auto [first, end] = cells_.At(place + Eigen::Vector3i(x, y, z));
          for (uint32_t i = first; i < end; ++i) {
            const FitCell& cell = cells_.cells[i];
            const Eigen::Vector3f beside = point - cell.mean;
            const float squared = beside.dot(cell.information * beside);
            if (squared >= least) continue;
            least = squared;
            best = &cell;
          }
        }
      }
    }
    if (best == nullptr) return false;
    distance_m = std::abs(best->normal.dot(point - best->mean));
    if (best->solid && std::abs(best->normal.dot(direction)) >= kMinCosine) {
      ++ray_ends_[static_cast<size_t>(best - cells_.cells.data())];
    }
    return true;
  }

  const FitCells& cells_;
  const float range_m_;
  const float tolerance_variance_;
  std::vector<uint32_t> ray_ends_;
  std::vector<uint32_t> ray_crossings_;
};

void AddObservation(const FitObservation& observation, TileFit& fit) {
  const FitKind kind = observation.kind;
  const auto distance_m = static_cast<double>(observation.distance_m);
  if (kind == FitKind::kExplained) fit.squared_distances_m2 += distance_m * distance_m;
  const bool of_cell = kind == FitKind::kConfirmed || kind == FitKind::kSeenThrough;
  const bool mismatched = kind == FitKind::kUnexplained || kind == FitKind::kSeenThrough;
  const auto count = [mismatched](FitCounts& counts) {
    counts.all += 1.0;
    if (mismatched) counts.mismatched += 1.0;
  };
  count(of_cell ? fit.solid : fit.points);
  if (observation.raised) count(of_cell ? fit.raised_solid : fit.raised_points);
  fit.scans = 1.0;
}

double SquaredDistance(const Bounds& bounds, const Eigen::Vector3d& place) {
  return (place - place.cwiseMax(bounds.min).cwiseMin(bounds.max)).squaredNorm();
}

// Decay constant in scans. After a change, 22 scans of the tile (about five passes of vehicles that
// are compared every two seconds) make up half of the sum. What a lorry hides or shows during one
// pass makes up a seventh.
constexpr double kDecayScans = 32.0;
// Decay constant in time, a month: longer than typical road works, shorter than the seasons.
constexpr double kDecayTimeS = 30.0 * 24.0 * 3600.0;
// What each scan, and one before the first, is taken to have seen to fit as well, so that a few
// observations of a tile do not make it the worst one. Of 20 and 100, 10 and 100, 10 and 50, 5 and
// 50, 5 and 25, 2 and 10, these set the changed tiles of the towns of seeds 1 to 8 apart the most
// (`voxloc_bench map-fit`).
constexpr double kPriorSolidPerScan = 10.0;
constexpr double kPriorPointsPerScan = 100.0;

}  // namespace

absl::StatusOr<std::vector<FitObservation>> ObserveFit(const ScanFitRequest& request) {
  const double cell_size_m = request.map->statistics()[request.statistics_index].cell_size_m;
  const double range_m = std::min(kRangeM, kRangeCells * cell_size_m);
  const double tolerance_sigma_m = ToleranceSigmaM();
  const Eigen::Vector3d sensor_map = request.map_T_base * request.sensor_position_base;
  const Eigen::Vector3d reach = Eigen::Vector3d::Constant(range_m + cell_size_m);
  VOXLOC_ASSIGN_OR_RETURN(const auto cells,
                          request.map->CellsInBox(request.statistics_index, sensor_map - reach,
                                                  sensor_map + reach, kMaxCells));
  VOXLOC_ASSIGN_OR_RETURN(const auto fit_cells,
                          MakeFitCells(cells, cell_size_m, sensor_map, tolerance_sigma_m));

  const PointCloud& cloud = *request.points_base;
  const Eigen::Matrix3f turn = request.map_T_base.rotation.toRotationMatrix().cast<float>();
  const Eigen::Vector3f from = (cloud.origin - request.sensor_position_base).cast<float>();
  std::vector<Eigen::Vector3f> points;
  for (const size_t i : ChooseRays(cloud.size())) {
    if (cloud.IsFinite(i)) points.push_back(turn * (cloud.Offset(i) + from));
  }
  return FitObserver(fit_cells, range_m, tolerance_sigma_m).Observe(points);
}

std::vector<TileFit> SumByTile(absl::Span<const FitObservation> observations,
                               absl::Span<const Bounds> tiles, double margin_m) {
  std::vector<TileFit> fits(tiles.size());
  for (const FitObservation& observation : observations) {
    double least = margin_m * margin_m;
    size_t nearest = tiles.size();
    bool inside = false;
    for (size_t i = 0; i < tiles.size(); ++i) {
      const double squared = SquaredDistance(tiles[i], observation.place_map);
      if (squared == 0.0) {
        inside = true;
        AddObservation(observation, fits[i]);
      } else if (squared <= least) {
        least = squared;
        nearest = i;
      }
    }
    if (!inside && nearest < tiles.size()) AddObservation(observation, fits[nearest]);
  }
  return fits;
}

double TileFit::residual_m() const {
  const double explained = points.all - points.mismatched;
  return explained > 0.0 ? std::sqrt(squared_distances_m2 / explained) : 0.0;
}

double TileFit::change() const {
  const double disappeared =
      raised_solid.mismatched / (raised_solid.all + (scans + 1.0) * kPriorSolidPerScan);
  const double appeared =
      raised_points.mismatched / (raised_points.all + (scans + 1.0) * kPriorPointsPerScan);
  return 1.0 - (1.0 - disappeared) * (1.0 - appeared);
}

void TileFit::Scale(double factor) {
  scans *= factor;
  squared_distances_m2 *= factor;
  for (FitCounts* share : {&points, &raised_points, &solid, &raised_solid}) {
    share->all *= factor;
    share->mismatched *= factor;
  }
}

void TileFit::Add(const TileFit& more) {
  scans += more.scans;
  squared_distances_m2 += more.squared_distances_m2;
  for (FitCounts TileFit::*const share :
       {&TileFit::points, &TileFit::raised_points, &TileFit::solid, &TileFit::raised_solid}) {
    (this->*share).all += (more.*share).all;
    (this->*share).mismatched += (more.*share).mismatched;
  }
}

double DecayPerScan() { return 1.0 - 1.0 / kDecayScans; }
double DecayAfter(double time_s) { return std::exp(-std::max(0.0, time_s) / kDecayTimeS); }

}  // namespace voxloc
