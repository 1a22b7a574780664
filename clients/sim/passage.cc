// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>
#include <vector>

#include "clients/sim/furniture.h"
#include "clients/sim/random.h"
#include "clients/sim/scenes.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

constexpr double kSlabThickness_m = 0.4;
constexpr double kFoundation_m = 1.0;
constexpr double kPassageGroundCell_m = 5.0;
constexpr double kBeyondSight_m = 10.0;
constexpr int kVaultSlabs = 12;

enum Stream : uint64_t { kPassageSize = 1 };

Eigen::Vector2d Axis(const PassageOptions& options) {
  const double heading = options.heading_deg * M_PI / 180.0;
  return {std::cos(heading), std::sin(heading)};
}

// On the ground in the middle of the passage: x along its axis, y left, z off the ground.
LocalFrame PassageFrame(const PassageOptions& options) {
  const Eigen::Vector2d axis = Axis(options);
  const Eigen::Vector3d up(-options.slope * axis.x(), -options.slope * axis.y(), 1.0);
  return {Eigen::Vector3d::Zero(), TiltedRotation(std::atan2(axis.y(), axis.x()), up.normalized())};
}

// A slab as long as the passage. Its inner face stands on the line from `from` to `to` in the
// cross-section (y left, z up); seen along the axis, the passage is to the right of that line.
void AddSlab(const Builder& passage, double half_length_m, const Eigen::Vector2d& from,
             const Eigen::Vector2d& to) {
  const Eigen::Vector2d along = (to - from).normalized();
  Builder slab = passage.At({0.0, 0.5 * (from.x() + to.x()), 0.5 * (from.y() + to.y())});
  Eigen::Matrix3d passage_R_slab;
  passage_R_slab.col(0) = Eigen::Vector3d::UnitX();
  passage_R_slab.col(1) = Eigen::Vector3d(0.0, along.x(), along.y());
  passage_R_slab.col(2) = Eigen::Vector3d(0.0, -along.y(), along.x());
  slab.frame.rotation = passage.frame.rotation * passage_R_slab;
  const double half_width = 0.5 * (to - from).norm();
  slab.Box({-half_length_m, -half_width, 0.0}, {half_length_m, half_width, kSlabThickness_m});
}

// The cross-section's inner edge from the right foot to the left one.
std::vector<Eigen::Vector2d> VaultEdge(const PassageOptions& options) {
  const double half_width = 0.5 * options.width_m;
  const double springing = options.height_m / 3.0;
  std::vector<Eigen::Vector2d> edge = {{-half_width, -kFoundation_m}};
  for (int i = 0; i <= kVaultSlabs; ++i) {
    const double angle = M_PI * i / kVaultSlabs;
    edge.emplace_back(-half_width * std::cos(angle),
                      springing + (options.height_m - springing) * std::sin(angle));
  }
  edge.emplace_back(half_width, -kFoundation_m);
  return edge;
}

}  // namespace

PassageOptions SeededPassage(uint64_t seed, Roof roof) {
  Random random(seed, kPassageSize);
  PassageOptions options;
  options.width_m = random.Uniform(8.0, 14.0);
  options.heading_deg = random.Uniform(-180.0, 180.0);
  if (roof == Roof::kNone) {
    options.height_m = random.Uniform(4.0, 8.0);
    return options;
  }
  options.height_m = random.Uniform(5.0, 8.0);
  const double slope = random.Uniform(0.01, 0.04);
  options.slope = random.Chance(0.5) ? slope : -slope;
  return options;
}

OptionRows ListOptions(const PassageOptions& options) {
  return {{"length_m", options.length_m, "length", 50.0, 3000.0},
          {"width_m", options.width_m, "width", 8.0, 40.0},
          {"height_m", options.height_m, "height", 3.0, 30.0},
          {"slope", options.slope, "slope", -0.15, 0.15},
          {"heading_deg", options.heading_deg, "heading", -180.0, 180.0}};
}

absl::StatusOr<World> BuildPassage(const PassageOptions& options, Roof roof, double sight_m) {
  VOXLOC_TRY(Validate(options));
  const Eigen::Vector2d axis = Axis(options);
  Street street;
  street.clear_m = sight_m + kBeyondSight_m;
  street.length_m = options.length_m + 2.0 * street.clear_m;
  street.direction = axis;
  street.start = -0.5 * street.length_m * axis;
  street.pavement_m = 0.5 * options.width_m - kLaneWidth_m;

  const double half_length_m =
      0.5 * street.length_m * std::sqrt(1.0 + options.slope * options.slope);
  std::vector<Solid> solids;
  const Builder passage{PassageFrame(options), Label::kBuilding, solids};
  if (roof == Roof::kVault) {
    const std::vector<Eigen::Vector2d> edge = VaultEdge(options);
    for (size_t i = 1; i < edge.size(); ++i) {
      AddSlab(passage, half_length_m, edge[i - 1], edge[i]);
    }
  } else {
    const double side = 0.5 * options.width_m;
    AddSlab(passage, half_length_m, {-side, -kFoundation_m}, {-side, options.height_m});
    AddSlab(passage, half_length_m, {side, options.height_m}, {side, -kFoundation_m});
  }
  Ground ground(
      0.5 * street.length_m + options.width_m, kPassageGroundCell_m,
      [&](double x, double y) { return options.slope * axis.dot(Eigen::Vector2d(x, y)); });
  return World{StreetNetwork(street), Scene(std::move(ground), std::move(solids))};
}

}  // namespace voxloc::sim
