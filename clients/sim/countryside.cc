// SPDX-License-Identifier: Apache-2.0
//
// The field and the forest: land with tracks across it.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "clients/sim/furniture.h"
#include "clients/sim/random.h"
#include "clients/sim/scenes.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

constexpr double kTrackSpacing_m = 80.0;
constexpr double kMissingTracks = 0.25;
constexpr double kBorder_m = 10.0;
constexpr double kTreeMargin_m = 40.0;
constexpr double kPostToTrack_m = 3.0;
constexpr double kTrunkToTrack_m = 0.7;
constexpr double kGroundCell_m = 1.0;
constexpr double kUndergrowthPerTree = 0.5;
constexpr double kBurialDepth_m = 0.3;
constexpr double kSquareMetresPerHectare = 1e4;

// Streams of chance, one per concern, so that more trees do not move the tracks.
enum Stream : uint64_t {
  kTracks = 1,
  kRelief = 2,
  kPosts = 3,     // of a field
  kHummocks = 3,  // the rest of a forest
  kForestTrees,
  kUndergrowth
};

StreetNetwork Tracks(double size_m, uint64_t seed) {
  return {0.5 * size_m - kBorder_m, kTrackSpacing_m, kMissingTracks, Random(seed, kTracks)};
}

void AddTrunk(const Builder& tree, double radius, double height) {
  tree.Cylinder({0.0, 0.0, -kBurialDepth_m}, radius, height + kBurialDepth_m);
}

// A trunk that leans a little, under whorls of branches that narrow towards the top.
void AddConifer(const Builder& tree, Random random) {
  const double height = random.Uniform(8.0, 18.0);
  AddTrunk(tree, random.Uniform(0.09, 0.24), height);
  const double crown_from = height * random.Uniform(0.2, 0.5);
  const double reach = random.Uniform(1.0, 2.0);
  const int whorls = random.UniformInt(3, 5);
  for (int i = 0; i < whorls; ++i) {
    const double share = (i + 0.5) / whorls;
    const double radius = reach * (1.05 - share) * random.Uniform(0.85, 1.15);
    tree.Ellipsoid(
        {0.0, 0.0, crown_from + share * (height - crown_from)},
        {radius, radius * random.Uniform(0.8, 1.2), 0.42 * (height - crown_from) / whorls});
  }
}

void AddBroadLeaf(const Builder& tree, Random random) {
  const double height = random.Uniform(5.0, 11.0);
  AddTrunk(tree, random.Uniform(0.1, 0.35), height);
  const int blobs = random.UniformInt(3, 6);
  for (int i = 0; i < blobs; ++i) {
    const double angle = random.Uniform(0.0, 2.0 * M_PI);
    const double out = random.Uniform(0.3, 1.7);
    const double radius = random.Uniform(0.9, 1.9);
    const Eigen::Vector3d radii{radius, random.Uniform(0.7, 1.2) * radius,
                                random.Uniform(0.5, 0.9) * radius};
    tree.Ellipsoid(
        {out * std::cos(angle), out * std::sin(angle), height + random.Uniform(-1.0, 2.0)}, radii);
  }
}

// A bush, a stump, a boulder or a log.
void AddUndergrowth(const Builder& place, Random random) {
  const double kind = random.Uniform();
  if (kind < 0.55) {
    const double radius = random.Uniform(0.3, 0.9);
    place.Ellipsoid({0.0, 0.0, 0.5 * radius},
                    {radius, random.Uniform(0.6, 1.3) * radius, random.Uniform(0.6, 1.2) * radius});
  } else if (kind < 0.75) {
    const double height = random.Uniform(0.2, 0.8);
    AddTrunk(place, random.Uniform(0.12, 0.35), height);
  } else if (kind < 0.85) {
    const double radius = random.Uniform(0.25, 0.7);
    place.Ellipsoid({0.0, 0.0, 0.1}, {radius, random.Uniform(0.6, 1.3) * radius, 0.7 * radius});
  } else {
    const double radius = random.Uniform(0.1, 0.28);
    const Builder log =
        place.Rotated({0.0, 0.0, 0.8 * radius}, 0.5 * M_PI, Eigen::Vector3d::UnitY());
    const double length = random.Uniform(1.5, 4.0);
    log.Cylinder({0.0, 0.0, -0.5 * length}, radius, length);
  }
}

// Long waves of the whole relief and short hummocks of a few decimetres.
Ground UndulatingGround(double half_size_m, double relief_m, uint64_t seed) {
  const Ground hills = RollingGround(half_size_m, relief_m, Random(seed, kRelief));
  const GroundWaves hummocks(
      {31.0, 23.0, 17.0, 11.0},
      [&](double wavelength_m) { return 0.004 * wavelength_m * std::min(1.0, relief_m); },
      Random(seed, kHummocks));
  return Ground(half_size_m, kGroundCell_m,
                [&](double x, double y) { return hummocks.AddTo(hills.Height(x, y), x, y); });
}

}  // namespace

OptionRows ListOptions(const FieldOptions& options) {
  return {{"seed", options.seed},
          {"size_m", options.size_m, "size", 100.0, 2000.0},
          {"relief_m", options.relief_m, "relief", 0.0, 20.0},
          {"posts_per_hectare", options.posts_per_hectare, "posts per hectare", 0.0, 100.0}};
}

absl::StatusOr<World> BuildField(const FieldOptions& options, double sight_m) {
  VOXLOC_TRY(Validate(options));
  StreetNetwork tracks = Tracks(options.size_m, options.seed);
  Ground ground = RollingGround(0.5 * options.size_m + sight_m, options.relief_m,
                                Random(options.seed, kRelief));
  const double half = ground.half_size_m();
  const auto places = static_cast<uint64_t>(4.0 * half * half / kSquareMetresPerHectare *
                                            options.posts_per_hectare);
  std::vector<Solid> solids;
  for (uint64_t i = 0; i < places; ++i) {
    Random random(options.seed, kPosts, i);
    const double x = random.Uniform(-half, half);
    const double y = random.Uniform(-half, half);
    const bool tree = random.Chance(1.0 / 3.0);
    const double height_m = random.Uniform(1.5, 4.0);
    if (tracks.ClearanceFromStreets({x, y}) < kPostToTrack_m) continue;
    const LocalFrame frame = {ground.PointAt({x, y})};
    if (tree) {
      AddTree(frame, height_m, Random(random.Next()), solids);
    } else {
      Builder{frame, Label::kPole, solids}.Cylinder({0.0, 0.0, -0.3}, random.Uniform(0.05, 0.12),
                                                    height_m);
    }
  }
  return World{std::move(tracks), Scene(std::move(ground), std::move(solids))};
}

OptionRows ListOptions(const ForestOptions& options) {
  return {{"seed", options.seed},
          {"size_m", options.size_m, "size", 100.0, 1000.0},
          {"relief_m", options.relief_m, "relief", 0.0, 20.0},
          {"trees_per_hectare", options.trees_per_hectare, "trees per hectare", 0.0, 2000.0}};
}

absl::StatusOr<World> BuildForest(const ForestOptions& options, double sight_m) {
  VOXLOC_TRY(Validate(options));
  StreetNetwork tracks = Tracks(options.size_m, options.seed);
  Ground ground = UndulatingGround(0.5 * options.size_m + sight_m, options.relief_m, options.seed);
  const double half_m = 0.5 * options.size_m + std::min(sight_m, kTreeMargin_m);
  const double hectares = 4.0 * half_m * half_m / kSquareMetresPerHectare;
  std::vector<Solid> solids;
  // Calls add(tree, random) at random places off the tracks.
  const auto scatter = [&](Stream stream, double per_hectare, const auto& add) {
    const auto places = static_cast<uint64_t>(hectares * per_hectare);
    for (uint64_t i = 0; i < places; ++i) {
      Random random(options.seed, stream, i);
      const double x = random.Uniform(-half_m, half_m);
      const double y = random.Uniform(-half_m, half_m);
      const double yaw = random.Uniform(-M_PI, M_PI);
      const double lean = random.Uniform(0.0, 0.06);
      const double lean_heading = random.Uniform(-M_PI, M_PI);
      if (tracks.ClearanceFromStreets({x, y}) < kTrunkToTrack_m) continue;
      const Eigen::Vector3d up(lean * std::cos(lean_heading), lean * std::sin(lean_heading), 1.0);
      const LocalFrame frame = {ground.PointAt({x, y}), TiltedRotation(yaw, up.normalized())};
      add(Builder{frame, Label::kTree, solids}, random);
    }
  };
  scatter(kForestTrees, options.trees_per_hectare, [&](const Builder& tree, Random random) {
    const bool conifer = random.Chance(0.55);
    (conifer ? AddConifer : AddBroadLeaf)(tree, Random(random.Next()));
  });
  scatter(
      kUndergrowth, kUndergrowthPerTree * options.trees_per_hectare,
      [](const Builder& place, Random random) { AddUndergrowth(place, Random(random.Next())); });
  return World{std::move(tracks), Scene(std::move(ground), std::move(solids))};
}

}  // namespace voxloc::sim
