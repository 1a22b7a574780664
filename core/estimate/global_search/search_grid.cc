// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/global_search/search_grid.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// A sensor stands above what it has seen by up to so much.
constexpr double kHeadroom_m = 4.0;
// Where the map is what limits the grid, voxels are collected first: these are 384 MB.
constexpr size_t kMaxOccupiedVoxels = size_t{1} << 25;

int32_t RoundUp(int32_t value, int32_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Cells asked for at a time; a box with more is halved.
constexpr size_t kMaxCellsPerQuery = size_t{1} << 20;
// A uniform spread ends at this many sigma, squared.
constexpr double kSquaredSigmas = 3.0;

// Appends the occupied voxels of all Gaussians whose mean lies in the box; one may come several
// times. InvalidArgument: more than `max_voxels`.
absl::Status CollectVoxels(const ResidentMap& map, size_t statistics_index,
                           const Eigen::Vector3d& min, const Eigen::Vector3d& max, double voxel_m,
                           size_t max_voxels, std::vector<CellKey>& voxels) {
  const absl::StatusOr<std::vector<MapCell>> cells =
      map.CellsInBox(statistics_index, min, max, kMaxCellsPerQuery);
  if (cells.ok()) {
    for (const MapCell& cell : *cells) AddOccupiedVoxels(cell, voxel_m, voxels);
    if (voxels.size() <= max_voxels) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the map has more than ", max_voxels, " occupied voxels there"));
  }
  int axis = 0;
  const double edge_m = (max - min).maxCoeff(&axis);
  const bool splittable = edge_m > map.statistics()[statistics_index].cell_size_m;
  if (!absl::IsResourceExhausted(cells.status()) || !splittable) return cells.status();
  Eigen::Vector3d lower_max = max;
  Eigen::Vector3d upper_min = min;
  lower_max[axis] = upper_min[axis] = 0.5 * (min[axis] + max[axis]);
  VOXLOC_TRY(CollectVoxels(map, statistics_index, min, lower_max, voxel_m, max_voxels, voxels));
  return CollectVoxels(map, statistics_index, upper_min, max, voxel_m, max_voxels, voxels);
}

struct Extent {
  CellKey low;
  CellKey high;
};

Extent ExtentOf(const std::vector<CellKey>& voxels) {
  Extent e = {voxels.front(), voxels.front()};
  for (const CellKey& v : voxels) {
    e.low = {std::min(e.low.x, v.x), std::min(e.low.y, v.y), std::min(e.low.z, v.z)};
    e.high = {std::max(e.high.x, v.x), std::max(e.high.y, v.y), std::max(e.high.z, v.z)};
  }
  return e;
}

absl::Status TooLargeError(int64_t columns_x, int64_t columns_y, int64_t words,
                           const SearchGridOptions& options) {
  const double bytes_per_m2 =
      8.0 * static_cast<double>(words) * static_cast<double>(options.shifts.size()) *
      static_cast<double>(options.tolerances.size()) / (options.voxel_m * options.voxel_m);
  return absl::InvalidArgumentError(absl::StrFormat(
      "the area to search, with the reach of a scan around it, is too large: %.0f x %.0f m; the "
      "limit "
      "is %.0f m along each side and %.0f m^2 in all. Search in a smaller region",
      static_cast<double>(columns_x) * options.voxel_m,
      static_cast<double>(columns_y) * options.voxel_m, kMaxBoundColumns * options.voxel_m,
      static_cast<double>(options.max_bytes) / bytes_per_m2));
}

// Cached errors take no memory that is counted, so the number of entries is limited too.
constexpr size_t kMaxEntries = 64;

bool SameArea(const std::optional<SearchArea>& a, const std::optional<SearchArea>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a.has_value() || (a->min == b->min && a->max == b->max);
}

bool SameOptions(const SearchGridOptions& a, const SearchGridOptions& b) {
  return a.voxel_m == b.voxel_m && a.shifts == b.shifts && a.tolerances == b.tolerances &&
         a.reach_m == b.reach_m;
}

// A permanent property of the map, unlike a lack of memory.
bool IsTooLarge(const absl::Status& status) { return absl::IsInvalidArgument(status); }

}  // namespace

void AddOccupiedVoxels(const MapCell& cell, double voxel_m, std::vector<CellKey>& voxels) {
  const Eigen::Matrix3d spread =
      ToMatrix(cell.covariance) + Eigen::Matrix3d::Identity() * (voxel_m * voxel_m / 12.0);
  const Eigen::Matrix3d information = spread.inverse();
  const Eigen::Vector3d half_box = (kSquaredSigmas * spread.diagonal()).cwiseSqrt();
  const CellKey low = CellOf(cell.mean - half_box, voxel_m);
  const CellKey high = CellOf(cell.mean + half_box, voxel_m);
  for (int32_t z = low.z; z <= high.z; ++z) {
    for (int32_t y = low.y; y <= high.y; ++y) {
      for (int32_t x = low.x; x <= high.x; ++x) {
        const CellKey voxel = {x, y, z};
        const Eigen::Vector3d from_mean = CellCentre(voxel, voxel_m) - cell.mean;
        if (from_mean.dot(information * from_mean) <= kSquaredSigmas) voxels.push_back(voxel);
      }
    }
  }
}

const CellStatistics& ChooseStatistics(const std::vector<CellStatistics>& candidates,
                                       double voxel_m) {
  const CellStatistics* best = &candidates.front();
  for (const CellStatistics& s : candidates) {
    const bool large_enough = s.cell_size_m >= voxel_m;
    const bool best_large_enough = best->cell_size_m >= voxel_m;
    const bool better = large_enough && best_large_enough ? s.cell_size_m < best->cell_size_m
                                                          : s.cell_size_m > best->cell_size_m;
    if (better) best = &s;
  }
  return *best;
}

absl::StatusOr<SearchGrid> MakeSearchGrid(Engine& engine, const ResidentMap& map,
                                          const CellStatistics& statistics,
                                          const std::optional<SearchArea>& area,
                                          const SearchGridOptions& options) {
  const double voxel_m = options.voxel_m;
  const auto index =
      static_cast<size_t>(std::find(map.statistics().begin(), map.statistics().end(), statistics) -
                          map.statistics().begin());
  // No cell lies beyond, and halves of infinity would never end.
  const double border_m = kMaxCellIndex * statistics.cell_size_m;
  Eigen::Vector3d min = Eigen::Vector3d::Constant(-border_m);
  Eigen::Vector3d max = Eigen::Vector3d::Constant(border_m);
  if (area.has_value()) {
    min.head<2>() = (area->min.array() - options.reach_m).max(-border_m);
    max.head<2>() = (area->max.array() + options.reach_m).min(border_m);
  }
  std::vector<CellKey> voxels;
  VOXLOC_TRY(CollectVoxels(map, index, min, max, voxel_m, kMaxOccupiedVoxels, voxels));
  if (voxels.empty()) {
    return absl::InvalidArgumentError(area.has_value() ? "the region does not touch the map"
                                                       : "the map has no cells");
  }

  Extent extent = ExtentOf(voxels);
  if (area.has_value()) {
    const CellKey low = CellOf({area->min.x(), area->min.y(), 0.0}, voxel_m);
    const CellKey high = CellOf({area->max.x(), area->max.y(), 0.0}, voxel_m);
    extent.low = {std::max(extent.low.x, low.x), std::max(extent.low.y, low.y), extent.low.z};
    extent.high = {std::min(extent.high.x, high.x), std::min(extent.high.y, high.y), extent.high.z};
    if (extent.low.x > extent.high.x || extent.low.y > extent.high.y) {
      return absl::InvalidArgumentError("the region does not touch the map");
    }
  }
  const int32_t window = 1 << options.shifts.back();
  // A point's voxel, and the nodes of a window that the area's border cuts.
  const int32_t margin =
      RoundUp(static_cast<int32_t>(std::ceil(options.reach_m / voxel_m)) + 1 + window, window);
  const int64_t columns_x = int64_t{extent.high.x} - extent.low.x + 1 + 2 * int64_t{margin};
  const int64_t columns_y = int64_t{extent.high.y} - extent.low.y + 1 + 2 * int64_t{margin};
  const int64_t z_levels = int64_t{extent.high.z} - extent.low.z + 1 +
                           static_cast<int64_t>(std::ceil(kHeadroom_m / voxel_m));
  const int64_t words = (z_levels + 63) / 64;
  if (words > kMaxBoundWords) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the map in the region is %.0f m high; the limit is %.0f m. Search in a smaller region",
        static_cast<double>(z_levels) * voxel_m, 64.0 * kMaxBoundWords * voxel_m));
  }
  if (columns_x > kMaxBoundColumns - window || columns_y > kMaxBoundColumns) {
    return TooLargeError(columns_x, columns_y, words, options);
  }

  BoundGridShape shape;
  shape.columns_x = RoundUp(static_cast<int32_t>(columns_x), window);
  shape.columns_y = static_cast<int32_t>(columns_y);
  shape.words = static_cast<int32_t>(words);
  shape.shifts = options.shifts;
  shape.tolerances = options.tolerances;
  if (shape.Words() * sizeof(uint64_t) > options.max_bytes) {
    return TooLargeError(columns_x, columns_y, words, options);
  }

  SearchGrid grid;
  grid.voxel_m = voxel_m;
  const CellKey corner = {extent.low.x - margin, extent.low.y - margin, extent.low.z};
  grid.corner_map = CellCorner(corner, voxel_m);
  grid.begin = {margin, margin};
  grid.end = {static_cast<int>(columns_x) - margin, static_cast<int>(columns_y) - margin};
  grid.z_levels = static_cast<int32_t>(z_levels);
  std::vector<uint64_t> columns(static_cast<size_t>(shape.columns_x) *
                                static_cast<size_t>(shape.columns_y) * static_cast<size_t>(words));
  for (const CellKey& v : voxels) {
    const int32_t x = v.x - corner.x;
    const int32_t y = v.y - corner.y;
    const int32_t z = v.z - corner.z;
    if (x < 0 || y < 0 || x >= shape.columns_x || y >= shape.columns_y) continue;
    const size_t column =
        static_cast<size_t>(y) * static_cast<size_t>(shape.columns_x) + static_cast<size_t>(x);
    columns[column * static_cast<size_t>(words) + static_cast<size_t>(z / 64)] |= uint64_t{1}
                                                                                  << (z % 64);
  }
  VOXLOC_ASSIGN_OR_RETURN(BoundGrid bound_grid, BoundGrid::Make(std::move(shape), columns));
  VOXLOC_ASSIGN_OR_RETURN(grid.resident, engine.LoadBoundGrid(std::move(bound_grid)));
  return grid;
}

absl::StatusOr<std::shared_ptr<const SearchGrid>> GridCache::Get(
    const std::shared_ptr<const ResidentMap>& map, const CellStatistics& statistics,
    const std::optional<SearchArea>& area, SearchGridOptions options) {
  options.max_bytes = max_bytes_;
  absl::MutexLock lock(&mutex_);
  Grid whole = GetOrMake(map, statistics, std::nullopt, options);
  const bool retry_with_area =
      IsTooLarge(whole.status()) || absl::IsResourceExhausted(whole.status());
  if (whole.ok() || !area.has_value() || !retry_with_area) return whole;
  return GetOrMake(map, statistics, area, options);
}

GridCache::Grid GridCache::GetOrMake(const std::shared_ptr<const ResidentMap>& map,
                                     const CellStatistics& statistics,
                                     const std::optional<SearchArea>& area,
                                     const SearchGridOptions& options) {
  const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.map.lock() == map && entry.statistics == statistics &&
           SameArea(entry.area, area) && SameOptions(entry.options, options);
  });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    return known->grid;
  }
  absl::StatusOr<SearchGrid> made = MakeSearchGrid(engine_, *map, statistics, area, options);
  if (!made.ok() && (area.has_value() || !IsTooLarge(made.status()))) return made.status();
  const Grid grid =
      made.ok() ? Grid(std::make_shared<const SearchGrid>(*std::move(made))) : Grid(made.status());
  Entry entry{map, statistics, area, options, grid};
  EvictFor(entry.MemoryBytes());
  entries_.push_front(std::move(entry));
  return entries_.front().grid;
}

void GridCache::EvictFor(size_t bytes) {
  entries_.remove_if([](const Entry& entry) { return entry.map.expired(); });
  size_t in_use = bytes;
  size_t kept = 0;
  for (auto it = entries_.begin(); it != entries_.end();) {
    in_use += it->MemoryBytes();
    const bool keep = in_use <= max_bytes_ && ++kept < kMaxEntries;
    it = keep ? std::next(it) : entries_.erase(it);
  }
}

}  // namespace voxloc
