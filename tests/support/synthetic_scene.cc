// SPDX-License-Identifier: Apache-2.0

#include "tests/support/synthetic_scene.h"

#include <algorithm>
#include <cmath>

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

// An upright rectangle or a pole standing on the ground.
struct Upright {
  Eigen::Vector2d from;
  Eigen::Vector2d to;  // a wall's other end; a pole's is `from`
  double height_m = 0.0;
  double radius_m = 0.0;  // of a pole; 0: a wall
  double AreaM2() const {
    return height_m * (radius_m > 0.0 ? 2.0 * M_PI * radius_m : (to - from).norm());
  }
};

// Points on the ground, as a share of those on as much wall: a LiDAR sees the ground at a flat
// angle.
constexpr double kGroundShare = 0.2;

double GroundHeight(double x, double y) {
  return 0.02 * x - 0.01 * y + 0.25 * std::sin(0.13 * x) * std::cos(0.11 * y);
}

std::vector<Upright> MakeUprights(const SceneOptions& options) {
  RandomNumbers random(options.seed);
  const double reach = options.half_extent_m - 1.0;
  std::vector<Upright> uprights;
  for (int i = 0; i < 30; ++i) {
    const double y = random.Uniform(-reach, reach);
    const Eigen::Vector2d centre(random.Uniform(-reach, reach), y);
    const double street = 0.5 * M_PI * random.Index(4);
    const double heading = street + random.Uniform(-0.3, 0.3);
    const Eigen::Vector2d half =
        random.Uniform(2.0, 6.0) * Eigen::Vector2d(std::cos(heading), std::sin(heading));
    uprights.push_back({centre - half, centre + half, random.Uniform(3.0, 7.0), 0.0});
  }
  for (int i = 0; i < 20; ++i) {
    const double y = random.Uniform(-reach, reach);
    const Eigen::Vector2d foot(random.Uniform(-reach, reach), y);
    uprights.push_back({foot, foot, random.Uniform(2.0, 6.0), random.Uniform(0.1, 0.4)});
  }
  return uprights;
}

// Draws points of the scene, each surface in proportion to its area.
class Sampler {
 public:
  Sampler(const SceneOptions& options, uint64_t stream)
      : options_(options),
        uprights_(MakeUprights(options)),
        random_(options.seed * 1000003 + stream) {
    const double edge = 2.0 * options.half_extent_m;
    area_end_.push_back(kGroundShare * edge * edge);
    for (const Upright& upright : uprights_) {
      area_end_.push_back(area_end_.back() + upright.AreaM2());
    }
  }

  double WeightedAreaM2() const { return area_end_.back(); }

  Eigen::Vector3d Draw() {
    const double at = random_.Uniform(0.0, area_end_.back());
    const auto surface = std::upper_bound(area_end_.begin(), area_end_.end() - 1, at);
    Eigen::Vector3d point;
    if (surface == area_end_.begin()) {
      const double x = random_.Uniform(-options_.half_extent_m, options_.half_extent_m);
      const double y = random_.Uniform(-options_.half_extent_m, options_.half_extent_m);
      point = {x, y, GroundHeight(x, y)};
    } else {
      const Upright& upright = uprights_[static_cast<size_t>(surface - area_end_.begin()) - 1];
      const double along = random_.Uniform(0.0, 1.0);
      Eigen::Vector2d foot = upright.from + along * (upright.to - upright.from);
      if (upright.radius_m > 0.0) {
        const double angle = 2.0 * M_PI * along;
        foot += upright.radius_m * Eigen::Vector2d(std::cos(angle), std::sin(angle));
      }
      const double up = random_.Uniform(0.0, upright.height_m);
      point = {foot.x(), foot.y(), GroundHeight(foot.x(), foot.y()) + up};
    }
    return point + options_.noise_m * random_.NormalVector();
  }

 private:
  SceneOptions options_;
  std::vector<Upright> uprights_;
  std::vector<double> area_end_;
  RandomNumbers random_;
};

void Push(const Eigen::Vector3d& point, PointCloud& cloud) {
  const Eigen::Vector3f offset = point.cast<float>();
  cloud.PushBack(offset.x(), offset.y(), offset.z());
}

}  // namespace

PointCloud SceneMap(const SceneOptions& options, const Eigen::Vector3d& origin) {
  Sampler sampler(options, 1);
  PointCloud cloud;
  cloud.origin = origin;
  const auto count = static_cast<size_t>(sampler.WeightedAreaM2() * options.points_per_m2);
  cloud.Reserve(count);
  for (size_t i = 0; i < count; ++i) Push(sampler.Draw(), cloud);
  return cloud;
}

PointCloud SceneScan(const Pose& scene_T_base, size_t points, const SceneOptions& options,
                     double range_m) {
  Sampler sampler(options, 2);
  const Pose base_T_scene = scene_T_base.Inverse();
  PointCloud cloud;
  cloud.Reserve(points);
  while (cloud.size() < points) {
    const Eigen::Vector3d point = base_T_scene * sampler.Draw();
    if (point.norm() <= range_m) Push(point, cloud);
  }
  return cloud;
}

std::vector<PointCloud> CutIntoTiles(const PointCloud& cloud, int nx, int ny,
                                     const Eigen::Vector2d& corner_m,
                                     const Eigen::Vector2d& tile_size_m) {
  std::vector<PointCloud> tiles(static_cast<size_t>(nx * ny));
  for (PointCloud& tile : tiles) tile.origin = cloud.origin;
  for (size_t i = 0; i < cloud.size(); ++i) {
    const double x = (static_cast<double>(cloud.x[i]) - corner_m.x()) / tile_size_m.x();
    const double y = (static_cast<double>(cloud.y[i]) - corner_m.y()) / tile_size_m.y();
    const int column = std::clamp(static_cast<int>(std::floor(x)), 0, nx - 1);
    const int row = std::clamp(static_cast<int>(std::floor(y)), 0, ny - 1);
    tiles[static_cast<size_t>(row * nx + column)].PushBack(cloud.x[i], cloud.y[i], cloud.z[i]);
  }
  tiles.erase(std::remove_if(tiles.begin(), tiles.end(),
                             [](const PointCloud& tile) { return tile.empty(); }),
              tiles.end());
  return tiles;
}

Pose Displaced(const Pose& map_T_base, const Eigen::Vector3d& translation_m, double yaw_rad) {
  const Eigen::Quaterniond turn(Eigen::AngleAxisd(yaw_rad, Eigen::Vector3d::UnitZ()));
  return {map_T_base.translation + translation_m, (turn * map_T_base.rotation).normalized()};
}

}  // namespace voxloc
