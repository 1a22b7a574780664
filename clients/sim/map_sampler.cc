// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/map_sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/sim/random.h"
#include "clients/sim/square_index.h"
#include "clients/sim/world.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

// Visibility is tested by patches of about this edge; single points only of partly visible patches.
constexpr double kPatch_m = 0.5;

// Bounds of the points in memory. At 0.2 m a typical solid has 200 points, a wall of a house has
// thousands, and a ground row of a town of 4 km has 200,000.
constexpr size_t kSolidsPerBatch = 4096;
constexpr size_t kGroundRowsPerBatch = 16;

// The work of a thread at a time.
constexpr size_t kItemsPerPart = 4;

constexpr double kStorey_m = 2.5;  // floors are at least this far above each other

// Viewpoints of a mapping vehicle along all streets. Each cell of a grid has a list of the nearest
// ones per storey, at least a minimum distance apart. The caster and the world must outlive it.
class Viewpoints {
 public:
  Viewpoints(const World& world, const RayCaster& caster, double max_distance_m)
      : caster_(caster), options_(world.eyes), half_size_m_(world.scene.ground().half_size_m()) {
    for (const Street& street : world.streets.streets()) {
      const int count =
          std::max(1, static_cast<int>(std::lround(street.length_m / options_.spacing_m)));
      for (int i = 0; i < count; ++i) {
        const double along_m = (i + 0.5) * street.length_m / count;
        const Eigen::Vector2d point = street.PointAt(along_m, 0.0);
        const double elevation_m = street.ElevationAt(along_m);
        for (const double height_m : options_.heights_m) {
          eyes_.emplace_back(
              point.x(), point.y(),
              world.scene.ground().Height(point.x(), point.y()) + elevation_m + height_m);
          storeys_.push_back(static_cast<int>(elevation_m / kStorey_m));
        }
      }
    }
    SquareIndex index(half_size_m_, max_distance_m);
    for (size_t i = 0; i < eyes_.size(); ++i) index.Add(i, eyes_[i].head<2>(), eyes_[i].head<2>());
    const int storeys = 1 + *std::max_element(storeys_.begin(), storeys_.end());
    const double cell_m = options_.cell_m;
    cells_per_side_ = static_cast<int>(std::ceil(2.0 * half_size_m_ / cell_m));
    for (int row = 0; row < cells_per_side_; ++row) {
      for (int column = 0; column < cells_per_side_; ++column) {
        const Eigen::Vector2d middle((column + 0.5) * cell_m - half_size_m_,
                                     (row + 0.5) * cell_m - half_size_m_);
        std::vector<int>& chosen = eyes_of_cell_.emplace_back();
        for (int storey = 0; storey < storeys; ++storey) {
          const std::vector<int> eyes = ChooseEyes(middle, storey, max_distance_m, index);
          chosen.insert(chosen.end(), eyes.begin(), eyes.end());
        }
      }
    }
  }

  // Whether a surface point with the given outward normal faces one of its viewpoints with nothing
  // in between.
  [[nodiscard]] bool IsVisible(const Eigen::Vector3d& point, const Eigen::Vector3d& normal) const {
    const auto cell_of = [&](double position) {
      return std::clamp(static_cast<int>((position + half_size_m_) / options_.cell_m), 0,
                        cells_per_side_ - 1);
    };
    const size_t cell =
        static_cast<size_t>(cell_of(point.y())) * static_cast<size_t>(cells_per_side_) +
        static_cast<size_t>(cell_of(point.x()));
    for (const int i : eyes_of_cell_[cell]) {
      const Eigen::Vector3d& eye = eyes_[static_cast<size_t>(i)];
      if ((eye - point).dot(normal) > 0.0 && caster_.Sees(eye, point)) return true;
    }
    return false;
  }

 private:
  // Indices of the eyes of a storey that look at `place`, nearest first.
  [[nodiscard]] std::vector<int> ChooseEyes(const Eigen::Vector2d& place, int storey,
                                            double max_distance_m, const SquareIndex& index) const {
    std::vector<std::pair<double, int>> near;
    const Eigen::Vector2d reach = Eigen::Vector2d::Constant(max_distance_m);
    index.VisitWithin(place - reach, place + reach, [&](size_t i) {
      if (storeys_[i] != storey) return;
      const double distance = (eyes_[i].head<2>() - place).norm();
      if (distance <= max_distance_m) near.emplace_back(distance, static_cast<int>(i));
    });
    std::sort(near.begin(), near.end());
    std::vector<int> chosen;
    for (const auto& candidate : near) {
      if (chosen.size() == options_.per_cell) break;
      const Eigen::Vector3d& eye = eyes_[static_cast<size_t>(candidate.second)];
      const bool apart = std::all_of(chosen.begin(), chosen.end(), [&](int other) {
        return (eyes_[static_cast<size_t>(other)] - eye).norm() >= options_.separation_m;
      });
      if (apart) chosen.push_back(candidate.second);
    }
    return chosen;
  }

  const RayCaster& caster_;
  MappingEyes options_;
  double half_size_m_;
  int cells_per_side_;
  std::vector<Eigen::Vector3d> eyes_;
  std::vector<int> storeys_;                    // of the eyes
  std::vector<std::vector<int>> eyes_of_cell_;  // by storey, nearest first
};

struct SurfacePoint {
  Eigen::Vector3d position;
  Eigen::Vector3d normal;  // outwards, unit
};

class Sampler {
 public:
  Sampler(const World& world, const MapSamplingOptions& options)
      : world_(world),
        options_(options),
        caster_(world.scene),
        viewpoints_(world, caster_, options.view_distance_m) {}

  // One work item per solid, then one per row of ground cells.
  [[nodiscard]] size_t items() const { return solids().size() + GroundRows(); }

  // How many items from this one on to do before their points are handed over.
  [[nodiscard]] size_t BatchSizeFrom(size_t item) const {
    return item < solids().size() ? std::min(kSolidsPerBatch, solids().size() - item)
                                  : kGroundRowsPerBatch;
  }

  void SampleItem(size_t item, PointCloud& cloud) const {
    if (item >= solids().size()) return SampleGroundRow(item - solids().size(), item, cloud);
    const Solid& solid = solids()[item];
    switch (solid.shape) {
      case Shape::kBox:
        return SampleBox(solid, item, cloud);
      case Shape::kCylinder:
        return SampleCylinder(solid, item, cloud);
      case Shape::kEllipsoid:
        return SampleEllipsoid(solid, item, cloud);
    }
  }

 private:
  [[nodiscard]] const std::vector<Solid>& solids() const { return world_.scene.solids(); }
  [[nodiscard]] size_t GroundRows() const {
    const Ground& ground = world_.scene.ground();
    return static_cast<size_t>(std::lround(2.0 * ground.half_size_m() / ground.cell_m()));
  }

  // A surface `length_u` by `length_v` metres, given by surface(u, v) on [0, 1]^2 and cut into at
  // least min_patches_u strips.
  template <typename Surface>
  void SampleSurface(size_t item, uint64_t face, PointCloud& cloud, double length_u,
                     double length_v, int min_patches_u, const Surface& surface) const {
    const int patches_u =
        std::max(min_patches_u, static_cast<int>(std::ceil(length_u / kPatch_m - 1e-9)));
    const int patches_v = std::max(1, static_cast<int>(std::ceil(length_v / kPatch_m - 1e-9)));
    for (int i = 0; i < patches_u; ++i) {
      for (int j = 0; j < patches_v; ++j) {
        const auto at = [&](double u, double v) {
          return surface((i + u) / patches_u, (j + v) / patches_v);
        };
        int seen = 0;
        for (const auto& [u, v] :
             {std::pair(0.5, 0.5), std::pair(0.02, 0.02), std::pair(0.98, 0.02),
              std::pair(0.02, 0.98), std::pair(0.98, 0.98)}) {
          const SurfacePoint point = at(u, v);
          if (viewpoints_.IsVisible(point.position, point.normal)) ++seen;
        }
        if (seen == 0) continue;
        Random random(
            options_.seed, item, face,
            static_cast<uint64_t>(i) * static_cast<uint64_t>(patches_v) + static_cast<uint64_t>(j));
        // One point per lattice cell; a patch thinner than a cell has a row with probability width
        // / spacing.
        const int count_u =
            static_cast<int>(length_u / patches_u / options_.spacing_m + random.Uniform());
        const int count_v =
            static_cast<int>(length_v / patches_v / options_.spacing_m + random.Uniform());
        for (int k = 0; k < count_u; ++k) {
          for (int l = 0; l < count_v; ++l) {
            const double u = (k + random.Uniform()) / count_u;
            const double v = (l + random.Uniform()) / count_v;
            const double offset_m = options_.noise_m > 0.0 ? random.Normal(options_.noise_m) : 0.0;
            const SurfacePoint point = at(u, v);
            if (seen < 5 && !viewpoints_.IsVisible(point.position, point.normal)) continue;
            const Eigen::Vector3f moved = (point.position + offset_m * point.normal).cast<float>();
            cloud.PushBack(moved.x(), moved.y(), moved.z());
          }
        }
      }
    }
  }

  void SampleBox(const Solid& solid, size_t item, PointCloud& cloud) const {
    for (int face = 0; face < 6; ++face) {
      const int axis = face / 2;
      const int axis_u = (axis + 1) % 3;
      const int axis_v = (axis + 2) % 3;
      const double sign = face % 2 == 0 ? -1.0 : 1.0;
      const Eigen::Vector3d& half = solid.half_extent;
      const Eigen::Vector3d normal = sign * solid.map_R_local.col(axis);
      const Eigen::Vector3d middle = solid.center + half[axis] * normal;
      const Eigen::Vector3d edge_u = half[axis_u] * solid.map_R_local.col(axis_u);
      const Eigen::Vector3d edge_v = half[axis_v] * solid.map_R_local.col(axis_v);
      SampleSurface(item, static_cast<uint64_t>(face), cloud, 2.0 * half[axis_u],
                    2.0 * half[axis_v], 1, [&](double u, double v) {
                      return SurfacePoint{
                          middle + (2.0 * u - 1.0) * edge_u + (2.0 * v - 1.0) * edge_v, normal};
                    });
    }
  }

  // Cylinders are round: both radii are the same.
  void SampleCylinder(const Solid& solid, size_t item, PointCloud& cloud) const {
    const double radius = solid.half_extent.x();
    const double half_height = solid.half_extent.z();
    SampleSurface(
        item, 0, cloud, 2.0 * M_PI * radius, 2.0 * half_height, 8, [&](double u, double v) {
          const Eigen::Vector3d out(std::cos(2.0 * M_PI * u), std::sin(2.0 * M_PI * u), 0.0);
          const Eigen::Vector3d local =
              radius * out + Eigen::Vector3d(0.0, 0.0, (2.0 * v - 1.0) * half_height);
          return SurfacePoint{solid.center + solid.map_R_local * local, solid.map_R_local * out};
        });
    for (int cap = 0; cap < 2; ++cap) {
      const Eigen::Vector3d out(0.0, 0.0, cap == 0 ? -1.0 : 1.0);
      // Equal areas for equal steps of v.
      SampleSurface(
          item, static_cast<uint64_t>(cap) + 1, cloud, M_PI * radius, radius, 1,
          [&](double u, double v) {
            const double r = radius * std::sqrt(v);
            const Eigen::Vector3d local(r * std::cos(2.0 * M_PI * u), r * std::sin(2.0 * M_PI * u),
                                        half_height * out.z());
            return SurfacePoint{solid.center + solid.map_R_local * local, solid.map_R_local * out};
          });
    }
  }

  void SampleEllipsoid(const Solid& solid, size_t item, PointCloud& cloud) const {
    const Eigen::Vector3d& half = solid.half_extent;
    const double radius = half.mean();
    SampleSurface(item, 0, cloud, 2.0 * M_PI * radius, 2.0 * radius, 8, [&](double u, double v) {
      const double height = 2.0 * v - 1.0;
      const double out = std::sqrt(std::max(0.0, 1.0 - height * height));
      const Eigen::Vector3d unit(out * std::cos(2.0 * M_PI * u), out * std::sin(2.0 * M_PI * u),
                                 height);
      return SurfacePoint{solid.center + solid.map_R_local * unit.cwiseProduct(half),
                          solid.map_R_local * unit.cwiseQuotient(half).normalized()};
    });
  }

  void SampleGroundRow(size_t row, size_t item, PointCloud& cloud) const {
    const Ground& ground = world_.scene.ground();
    const double cell_m = ground.cell_m();
    const double south = static_cast<double>(row) * cell_m - ground.half_size_m();
    for (size_t column = 0; column < GroundRows(); ++column) {
      const double west = static_cast<double>(column) * cell_m - ground.half_size_m();
      const Eigen::Vector2d middle(west + 0.5 * cell_m, south + 0.5 * cell_m);
      if (!world_.streets.IsNear(middle, options_.view_distance_m)) continue;
      SampleSurface(item, column, cloud, cell_m, cell_m, 1, [&](double u, double v) {
        const double x = west + u * cell_m;
        const double y = south + v * cell_m;
        return SurfacePoint{{x, y, ground.Height(x, y)}, ground.Normal(x, y)};
      });
    }
  }

  const World& world_;
  MapSamplingOptions options_;
  RayCaster caster_;
  Viewpoints viewpoints_;
};

}  // namespace

OptionRows ListOptions(const MapSamplingOptions& options) {
  return {{"seed", options.seed},
          {"spacing_m", options.spacing_m, "map spacing", 0.01, 2.0},
          {"noise_m", options.noise_m, "map noise", 0.0, 1.0},
          {"view_distance_m", options.view_distance_m, "map view distance", 5.0, 200.0}};
}

absl::Status SampleMapInParts(const World& world, const MapSamplingOptions& options,
                              ThreadPool& pool, const PointReceiver& receive,
                              const SampleProgress& progress) {
  VOXLOC_TRY(Validate(options));
  const Sampler sampler(world, options);
  size_t points = 0;
  std::vector<PointCloud> parts;
  for (size_t first = 0; first < sampler.items();) {
    const size_t batch = std::min(sampler.BatchSizeFrom(first), sampler.items() - first);
    parts.assign((batch + kItemsPerPart - 1) / kItemsPerPart, PointCloud());
    pool.ParallelFor(parts.size(), [&](size_t part) {
      const size_t begin = first + part * kItemsPerPart;
      const size_t end = std::min(first + batch, begin + kItemsPerPart);
      for (size_t item = begin; item < end; ++item) sampler.SampleItem(item, parts[part]);
    });
    for (PointCloud& part : parts) {
      points += part.size();
      if (points > options.max_points) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "the map would have over ", options.max_points, " points; use a map spacing over ",
            options.spacing_m, " m or a smaller scene"));
      }
      VOXLOC_TRY(receive(std::move(part)));
    }
    first += batch;
    if (progress != nullptr) progress(first, sampler.items());
  }
  return absl::OkStatus();
}

}  // namespace voxloc::sim
