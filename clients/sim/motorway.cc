// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "clients/sim/furniture.h"
#include "clients/sim/random.h"
#include "clients/sim/scenes.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

// A cross-section's distances from the centre line, metres.
constexpr double kMedianRail_m = 0.5;
constexpr double kRightLane_m = 7.6;     // middle of the right lane
constexpr double kHardShoulder_m = 9.2;  // where it begins
constexpr double kOuterRail_m = 12.0;
constexpr double kRoadHalf_m = 13.5;  // the road bed with its verge; the slopes begin here

constexpr double kBeyondSight_m = 10.0;
constexpr double kBendClear_m = 30.0;  // a bend begins this far before a kink of the centre line
constexpr double kSectionMin_m = 120.0;
constexpr double kSectionMax_m = 220.0;
constexpr double kBendMin_rad = 0.02;
constexpr double kBendMax_rad = 0.06;
constexpr double kGroundCell_m = 2.5;
constexpr double kSlope = 0.5;  // of embankments and cuttings
constexpr double kPost_m = 4.0;
constexpr double kDelineator_m = 50.0;
// Things are let into the ground so far that no gap shows on a slope.
constexpr double kBurialDepth_m = 0.5;

// Streams of chance, one per concern.
enum Stream : uint64_t { kLine = 1, kRoadRelief, kLandRelief, kNoiseWalls, kGantries, kTrees };

// What stands along the road, each on its frame's origin on the road's centre line: x along the
// road, y left across it, z up.

// A post and the rail from it to the next post, `length_m` along x, at `across_m`.
void AddGuardRail(const Builder& road, double across_m, double length_m) {
  road.As(Label::kFence).Box({0.0, across_m - 0.04, 0.45}, {length_m, across_m + 0.04, 0.75});
  const double out = across_m > 0.0 ? 0.09 : -0.09;
  road.As(Label::kPole)
      .Box({-0.05, across_m + out - 0.05, -kBurialDepth_m}, {0.05, across_m + out + 0.05, 0.7});
}

// One panel of a noise wall, `length_m` along x, at `across_m`, and the post at its start.
void AddNoiseWallPanel(const Builder& road, double across_m, double length_m, double height_m) {
  road.Box({0.0, across_m - 0.08, -kBurialDepth_m}, {length_m, across_m + 0.08, height_m});
  road.Box({-0.1, across_m - 0.15, -kBurialDepth_m}, {0.1, across_m + 0.15, height_m + 0.05});
}

void AddDelineator(const Builder& road, double across_m) {
  road.As(Label::kPole)
      .Box({-0.06, across_m - 0.06, -kBurialDepth_m}, {0.06, across_m + 0.06, 1.0});
}

// Posts outside the rails, a beam across the road, and signs on it.
void AddGantry(const Builder& road, Random random) {
  const Builder gantry = road.As(Label::kPole);
  const double clear = random.Uniform(5.3, 6.0);
  const double out = kOuterRail_m + 0.8;
  const bool whole = random.Chance(0.5);  // across both carriageways, or the right one only
  const double left = whole ? out : 0.0;
  for (const double y : {-out, left}) {
    gantry.Box({-0.2, y - 0.2, -kBurialDepth_m}, {0.2, y + 0.2, clear + 1.0});
  }
  gantry.Box({-0.35, -out, clear + 0.3}, {0.35, left, clear + 1.0});
  const int signs = random.UniformInt(1, 3);
  for (int i = 0; i < signs; ++i) {
    const double width = random.Uniform(2.0, 4.0);
    const double height = random.Uniform(1.2, 3.0);
    const double y = -out + 1.5 + (i + random.Uniform(0.0, 0.4)) * 3.8;
    gantry.Box({-0.5, y, clear}, {-0.38, y + width - 0.3, clear + height});
  }
}

// A road that crosses above: abutments, columns in the median, a deck with parapets.
void AddBridge(const Builder& road, Random random) {
  const Builder bridge = road.At({0.0, 0.0, 0.0}, random.Uniform(-0.25, 0.25));
  const double clear = random.Uniform(5.0, 6.2);
  const double half_width = random.Uniform(3.5, 7.0);
  const double deck = random.Uniform(0.8, 1.3);
  const double reach = kRoadHalf_m + 14.0;
  bridge.Box({-half_width, -reach, clear}, {half_width, reach, clear + deck});
  for (const double side : {-1.0, 1.0}) {
    const double x = side * (half_width - 0.15);
    bridge.Box({x - 0.15, -reach, clear + deck}, {x + 0.15, reach, clear + deck + 1.0});
    const double near = side * (kRoadHalf_m + 1.5);
    const double far = side * (kRoadHalf_m + 5.0);
    bridge.Box({-half_width - 0.3, std::min(near, far), -2.0},
               {half_width + 0.3, std::max(near, far), clear});
  }
  const int columns = random.UniformInt(2, 4);
  const double radius = random.Uniform(0.25, 0.4);
  for (int i = 0; i < columns; ++i) {
    const double x = (i - 0.5 * (columns - 1)) * 1.6 * half_width / columns;
    bridge.Cylinder({x, 0.0, -kBurialDepth_m}, radius, clear + kBurialDepth_m);
  }
}

// Sections between kinks, and at both ends one that goes straight on, out of sight.
StreetNetwork CentreLine(const MotorwayOptions& options, double sight_m) {
  Random random(options.seed, kLine);
  double heading = random.Uniform(-M_PI, M_PI);
  double bend = random.Chance(0.5) ? 1.0 : -1.0;
  const double end_m = 2.0 * (sight_m + kBeyondSight_m);
  const auto ahead = [&] { return Eigen::Vector2d(std::cos(heading), std::sin(heading)); };
  std::vector<Eigen::Vector2d> junctions = {Eigen::Vector2d::Zero(), end_m * ahead()};
  std::vector<Street> streets;
  Street street;
  street.lane_offset_m = kRightLane_m;
  street.pavement_m = kOuterRail_m - kHardShoulder_m - 0.3;
  const auto join = [&](double clear_m) {
    street.from = static_cast<int>(streets.size());
    street.to = street.from + 1;
    street.clear_m = clear_m;
    streets.push_back(street);
  };
  join(0.5 * end_m);
  // Half of each end section is driven.
  double left_m = std::max(kSectionMin_m, options.length_m - end_m);
  while (left_m > 0.0) {
    double section_m = std::min(left_m, random.Uniform(kSectionMin_m, kSectionMax_m));
    if (left_m - section_m < kSectionMin_m) section_m = left_m;
    junctions.emplace_back(junctions.back() + section_m * ahead());
    join(kBendClear_m);
    left_m -= section_m;
    const double angle = random.Uniform(kBendMin_rad, kBendMax_rad);
    if (random.Chance(0.3)) bend = -bend;
    if (left_m > 0.0) heading += bend * angle;
  }
  junctions.emplace_back(junctions.back() + end_m * ahead());
  join(0.5 * end_m);
  Eigen::Vector2d low = junctions.front();
  Eigen::Vector2d high = junctions.front();
  for (const Eigen::Vector2d& junction : junctions) {
    low = low.cwiseMin(junction);
    high = high.cwiseMax(junction);
  }
  const Eigen::Vector2d middle = 0.5 * (low + high);
  for (Eigen::Vector2d& junction : junctions) junction -= middle;
  return {std::move(junctions), std::move(streets)};
}

// The road bed, and from its edges slopes up or down to the land.
Ground RoadGround(const StreetNetwork& road, const MotorwayOptions& options, double margin_m) {
  double half_m = 0.0;
  for (const Eigen::Vector2d& junction : road.junctions()) {
    half_m = std::max(half_m, junction.cwiseAbs().maxCoeff());
  }
  half_m += margin_m;
  const Ground bed = RollingGround(half_m, 1.5, Random(options.seed, kRoadRelief));
  const Ground land = RollingGround(half_m, options.relief_m, Random(options.seed, kLandRelief));
  return Ground(half_m, kGroundCell_m, [&](double x, double y) {
    const double bed_m = bed.Height(x, y);
    const double out_m = std::max(0.0, road.DistanceToStreets({x, y}) - kRoadHalf_m);
    return std::clamp(land.Height(x, y), bed_m - kSlope * out_m, bed_m + kSlope * out_m);
  });
}

class MotorwayBuilder {
 public:
  MotorwayBuilder(const MotorwayOptions& options, double sight_m)
      : options_(options),
        road_(CentreLine(options, sight_m)),
        ground_(RoadGround(road_, options, std::min(sight_m, 100.0))) {}

  World Build() && {
    for (size_t i = 0; i < road_.streets().size(); ++i) {
      AddRails(road_.streets()[i]);
      for (const double side : {-1.0, 1.0}) AddNoiseWalls(i, side);
      AddCrossings(i);
      AddTrees(i);
    }
    return World{std::move(road_), Scene(std::move(ground_), std::move(solids_)),
                 std::move(objects_)};
  }

 private:
  // On the centre line, along the road and its slope.
  [[nodiscard]] Builder OnRoad(const Street& street, double along_m) {
    const Eigen::Vector2d place = street.PointAt(along_m, 0.0);
    return {{ground_.PointAt(place),
             TiltedRotation(std::atan2(street.direction.y(), street.direction.x()),
                            ground_.Normal(place.x(), place.y()))},
            Label::kBuilding,
            solids_};
  }

  void AddRails(const Street& street) {
    const int posts = static_cast<int>(std::ceil(street.length_m / kPost_m));
    const double post_m = street.length_m / posts;
    for (int i = 0; i < posts; ++i) {
      const Builder road = OnRoad(street, i * post_m);
      for (const double across_m : {-kOuterRail_m, -kMedianRail_m, kMedianRail_m, kOuterRail_m}) {
        AddGuardRail(road, across_m, post_m);
      }
    }
    for (double along_m = 0.0; along_m < street.length_m; along_m += kDelineator_m) {
      const Builder road = OnRoad(street, along_m);
      for (const double side : {-1.0, 1.0}) {
        AddDelineator(road, side * (kOuterRail_m + 0.4));
      }
    }
  }

  // A stretch of wall in some sections.
  void AddNoiseWalls(size_t section, double side) {
    const Street& street = road_.streets()[section];
    Random random(options_.seed, kNoiseWalls, section, side < 0.0 ? 0 : 1);
    if (!random.Chance(0.3)) return;
    const double height_m = random.Uniform(2.5, 4.5);
    const double from_m = random.Uniform(0.0, 0.4) * street.length_m;
    const double to_m = random.Uniform(0.6, 1.0) * street.length_m;
    const size_t first = solids_.size();
    for (double along_m = from_m; along_m + kPost_m <= to_m; along_m += kPost_m) {
      AddNoiseWallPanel(OnRoad(street, along_m), side * (kRoadHalf_m - 0.4), kPost_m, height_m);
    }
    objects_.push_back(
        MakeSceneObject(first, solids_, ObjectKind::kStructure, OnRoad(street, from_m).frame));
  }

  // In a section at most one gantry and one bridge, apart from each other.
  void AddCrossings(size_t section) {
    const Street& street = road_.streets()[section];
    Random random(options_.seed, kGantries, section);
    const double gantry_m = random.Uniform(0.1, 0.4) * street.length_m;
    const double bridge_m = random.Uniform(0.6, 0.9) * street.length_m;
    const bool turned = random.Chance(0.5);
    const uint64_t key = random.Next();
    if (random.Chance(0.5)) {
      const Builder road =
          OnRoad(street, gantry_m).At(Eigen::Vector3d::Zero(), turned ? M_PI : 0.0);
      const size_t first = solids_.size();
      AddGantry(road, Random(key, 1));
      objects_.push_back(MakeSceneObject(first, solids_, ObjectKind::kStructure, road.frame));
    }
    if (random.Chance(0.4)) {
      const Builder road = OnRoad(street, bridge_m);
      const size_t first = solids_.size();
      AddBridge(road, Random(key, 2));
      objects_.push_back(MakeSceneObject(first, solids_, ObjectKind::kStructure, road.frame));
    }
  }

  // Beyond the verge, in clumps.
  void AddTrees(size_t section) {
    const Street& street = road_.streets()[section];
    Random random(options_.seed, kTrees, section);
    double along_m = 0.0;
    while (along_m < street.length_m) {
      const double density = random.Uniform(-0.5, 1.0);
      const double clump_m = random.Uniform(20.0, 60.0);
      for (double x = along_m; x < std::min(along_m + clump_m, street.length_m); x += 5.0) {
        const double from_middle_m = random.Uniform(kRoadHalf_m + 4.0, kRoadHalf_m + 25.0);
        const double across_m = random.Chance(0.5) ? from_middle_m : -from_middle_m;
        const double height_m = random.Uniform(3.0, 8.0);
        const uint64_t key = random.Next();
        if (!random.Chance(density)) continue;
        const Eigen::Vector2d place = street.PointAt(x, across_m);
        AddTree({ground_.PointAt(place)}, height_m, Random(key), solids_);
      }
      along_m += clump_m;
    }
  }

  MotorwayOptions options_;
  StreetNetwork road_;
  Ground ground_;
  std::vector<Solid> solids_;
  std::vector<SceneObject> objects_;
};

}  // namespace

OptionRows ListOptions(const MotorwayOptions& options) {
  return {{"seed", options.seed},
          {"length_m", options.length_m, "length", 300.0, 3000.0},
          {"relief_m", options.relief_m, "relief", 0.0, 20.0}};
}

absl::StatusOr<World> BuildMotorway(const MotorwayOptions& options, double sight_m) {
  VOXLOC_TRY(Validate(options));
  return MotorwayBuilder(options, sight_m).Build();
}

}  // namespace voxloc::sim
