// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "clients/sim/furniture.h"
#include "clients/sim/random.h"
#include "clients/sim/scenes.h"
#include "clients/sim/square_index.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

constexpr double kKerbHeight_m = 0.12;
// Ground goes on beyond the town, so that its outermost houses stand on something.
constexpr double kGroundMargin_m = 20.0;
// About as large as the houses whose footprints are sought.
constexpr double kFootprintSquare_m = 25.0;
// Room between the outermost streets and the town's edge.
constexpr double kBorder_m = 25.0;

// Streams of chance, one per concern, so that more trees do not move the houses.
enum Stream : uint64_t { kStreets = 1, kRelief, kPlots, kHouses, kFurniture, kCars, kTrees };

// A rectangle that something already stands on.
struct Footprint {
  Eigen::Vector2d middle;
  Eigen::Vector2d axis;  // unit; the other one is its left normal
  Eigen::Vector2d half;

  [[nodiscard]] std::array<Eigen::Vector2d, 2> Axes() const {
    return {axis, Eigen::Vector2d(-axis.y(), axis.x())};
  }
  [[nodiscard]] double HalfExtentAlong(const Eigen::Vector2d& direction) const {
    const auto axes = Axes();
    return half.x() * std::abs(axes[0].dot(direction)) +
           half.y() * std::abs(axes[1].dot(direction));
  }
  // Its corners' lowest and highest coordinates.
  [[nodiscard]] Eigen::Vector2d Low() const { return middle - HalfExtent(); }
  [[nodiscard]] Eigen::Vector2d High() const { return middle + HalfExtent(); }
  [[nodiscard]] Eigen::Vector2d HalfExtent() const {
    return {HalfExtentAlong(Eigen::Vector2d::UnitX()), HalfExtentAlong(Eigen::Vector2d::UnitY())};
  }
  [[nodiscard]] bool Overlaps(const Footprint& other) const {
    for (const Footprint* footprint : {this, &other}) {
      for (const Eigen::Vector2d& direction : footprint->Axes()) {
        const double gap = std::abs((middle - other.middle).dot(direction));
        if (gap >= HalfExtentAlong(direction) + other.HalfExtentAlong(direction)) return false;
      }
    }
    return true;
  }
};

class TownBuilder {
 public:
  explicit TownBuilder(const TownOptions& options)
      : options_(options),
        streets_(0.5 * options.size_m - kBorder_m, options.street_spacing_m,
                 options.missing_streets, Random(options.seed, kStreets)),
        ground_(RollingGround(0.5 * options.size_m + kGroundMargin_m, options.relief_m,
                              Random(options.seed, kRelief))),
        footprint_index_(0.5 * options.size_m, kFootprintSquare_m) {}

  World Build() && {
    for (size_t i = 0; i < streets_.streets().size(); ++i) {
      for (const Side side : {kLeft, kRight}) {
        AddPlots(i, side);
        AddPavement(streets_.streets()[i], side);
        AddStreetFurniture(i, side);
        if (streets_.streets()[i].parking[static_cast<size_t>(side)]) AddParkedCars(i, side);
      }
    }
    AddOpenGroundTrees();
    return {std::move(streets_), Scene(std::move(ground_), std::move(solids_)),
            std::move(objects_)};
  }

 private:
  // x along the street's edge with the house behind it, y towards the street.
  [[nodiscard]] LocalFrame FrameAlongStreet(const Street& street, Side side, double along_m,
                                            double out_m) const {
    const double right_m = side == kRight ? out_m : -out_m;
    const double heading = std::atan2(street.direction.y(), street.direction.x());
    return {ground_.PointAt(street.PointAt(along_m, right_m)),
            YawRotation(side == kRight ? heading : heading + M_PI)};
  }

  void AddPavement(const Street& street, Side side) {
    const double from = kJunctionClearRadius_m;
    const double to = street.length_m - kJunctionClearRadius_m;
    const int slabs = std::max(1, static_cast<int>(std::lround((to - from) / 3.0)));
    const double slab_m = (to - from) / slabs;
    const double half_width = 0.5 * street.pavement_m;
    for (int i = 0; i < slabs && slab_m > 0.0; ++i) {
      LocalFrame frame = FrameAlongStreet(street, side, from + (i + 0.5) * slab_m,
                                          street.KerbOffset(side) + half_width);
      const Eigen::Vector3d heading = frame.rotation.col(0);
      frame.rotation = TiltedRotation(std::atan2(heading.y(), heading.x()),
                                      ground_.Normal(frame.origin.x(), frame.origin.y()));
      Builder{frame, Label::kPavement, solids_}.Box({-0.5 * slab_m, -half_width, -0.3},
                                                    {0.5 * slab_m, half_width, kKerbHeight_m});
    }
  }

  [[nodiscard]] bool IsFree(const Footprint& footprint) const {
    bool free = true;
    footprint_index_.VisitWithin(footprint.Low(), footprint.High(), [&](size_t i) {
      free = free && !footprint.Overlaps(footprints_[i]);
    });
    if (!free) return false;
    // Along the rim no point may be on a street.
    const auto axes = footprint.Axes();
    for (int i = -4; i <= 4; ++i) {
      for (const double edge : {-1.0, 1.0}) {
        const Eigen::Vector2d a = footprint.middle + axes[0] * footprint.half.x() * (0.25 * i) +
                                  axes[1] * footprint.half.y() * edge;
        const Eigen::Vector2d b = footprint.middle + axes[0] * footprint.half.x() * edge +
                                  axes[1] * footprint.half.y() * (0.25 * i);
        if (streets_.ClearanceFromStreets(a) < 0.0) return false;
        if (streets_.ClearanceFromStreets(b) < 0.0) return false;
      }
    }
    return true;
  }

  // Houses, and gardens where there is none.
  void AddPlots(size_t street_index, Side side) {
    const Street& street = streets_.streets()[street_index];
    Random random(options_.seed, kPlots, street_index, static_cast<uint64_t>(side));
    const double edge_m = street.KerbOffset(side) + street.pavement_m;
    const double base_setback_m = random.Chance(0.4) ? 0.3 : random.Uniform(0.5, 4.0);
    double along_m = 8.0 + random.Uniform(0.0, 2.0);
    uint64_t plot = 0;
    while (along_m < street.length_m - 14.0) {
      const double width_m = random.Uniform(7.0, 19.0);
      const double depth_m = random.Uniform(7.0, 12.0);
      const double setback_m = std::max(0.2, base_setback_m + random.Uniform(-0.4, 0.8));
      const double gap_m = random.Chance(0.5) ? 0.0 : random.Uniform(0.8, 5.0);
      const double yaw = random.Uniform(-0.02, 0.02);
      const bool built = random.Chance(options_.building_density);
      const double from_m = along_m;
      const double middle_m = from_m + 0.5 * width_m;
      along_m += width_m + gap_m;
      ++plot;
      if (middle_m + 0.5 * width_m > street.length_m - 8.0) break;
      LocalFrame frame = FrameAlongStreet(street, side, middle_m, edge_m + setback_m);
      const Eigen::Vector2d into = -frame.rotation.col(1).head<2>();
      const Footprint footprint = {frame.origin.head<2>() + 0.5 * depth_m * into,
                                   frame.rotation.col(0).head<2>(),
                                   {0.5 * width_m, 0.5 * depth_m}};
      if (!IsFree(footprint)) {
        along_m = from_m + 2.5;
        continue;
      }
      footprint_index_.Add(footprints_.size(), footprint.Low(), footprint.High());
      footprints_.push_back(footprint);
      if (!built) {
        AddGarden(
            FrameAlongStreet(street, side, middle_m, edge_m + 0.5), width_m, depth_m,
            Random(options_.seed, kTrees, street_index * 2 + static_cast<uint64_t>(side), plot));
        continue;
      }
      // The threshold is level with the highest ground along the front.
      double high = frame.origin.z();
      double low = high;
      for (const double x : {-0.5 * width_m, 0.5 * width_m}) {
        for (const double y : {0.0, -depth_m}) {
          const Eigen::Vector3d corner = frame.ToMap({x, y, 0.0});
          const double height = ground_.Height(corner.x(), corner.y());
          if (y > -1.0) high = std::max(high, height);
          low = std::min(low, height);
        }
      }
      frame.origin.z() = high;
      frame.rotation = frame.rotation * YawRotation(yaw);
      const size_t first = solids_.size();
      AddBuilding(
          {frame, width_m, depth_m, high - low + 0.5},
          Random(options_.seed, kHouses, street_index * 2 + static_cast<uint64_t>(side), plot),
          solids_);
      objects_.push_back(MakeSceneObject(first, solids_, ObjectKind::kStructure, frame));
    }
  }

  void AddGarden(const LocalFrame& front, double width_m, double depth_m, Random random) {
    const double length_m = width_m - 0.4;
    const uint64_t key = random.Next();
    if (random.Chance(0.5)) {
      AddHedge(front, length_m, Random(key), solids_);
    } else {
      AddFence(front, length_m, Random(key), solids_);
    }
    const int trees = random.UniformInt(1, 4);
    for (int i = 0; i < trees; ++i) {
      const Eigen::Vector3d place{random.Uniform(-0.4, 0.4) * width_m,
                                  -random.Uniform(0.25, 0.9) * depth_m, 0.0};
      const double height_m = random.Uniform(3.0, 6.0);
      const uint64_t tree_key = random.Next();
      if (random.Chance(options_.tree_density)) {
        const LocalFrame frame = front.At(place);
        AddTree({ground_.PointAt(frame.origin.head<2>()), frame.rotation}, height_m,
                Random(tree_key), solids_);
      }
    }
  }

  // Lamp posts, signs, bins and trees at the kerb.
  void AddStreetFurniture(size_t street_index, Side side) {
    const Street& street = streets_.streets()[street_index];
    Random random(options_.seed, kFurniture, street_index, static_cast<uint64_t>(side));
    const double kerb_m = street.KerbOffset(side) + 0.45;
    const bool avenue = random.Chance(0.5);
    const double tree_distance_m = random.Uniform(8.0, 14.0);
    double next_lamp_m = random.Uniform(12.0, 30.0);
    double along_m = kJunctionClearRadius_m + random.Uniform(2.0, 4.0);
    while (along_m < street.length_m - kJunctionClearRadius_m - 2.0) {
      const LocalFrame frame = FrameAlongStreet(street, side, along_m, kerb_m);
      const uint64_t key = random.Next();
      const double tree_height_m = random.Uniform(4.0, 6.5);
      const double chance = random.Uniform();
      if (along_m >= next_lamp_m) {
        AddLampPost(frame, Random(key), solids_);
        next_lamp_m = along_m + random.Uniform(20.0, 34.0);
      } else if (chance < 0.15) {
        AddTrafficSign(frame, Random(key), solids_);
      } else if (chance < 0.28) {
        AddBin(frame, Random(key), solids_);
      } else if (avenue && random.Chance(options_.tree_density)) {
        AddTree(frame, tree_height_m, Random(key), solids_);
      }
      along_m += tree_distance_m * random.Uniform(0.6, 1.2);
    }
  }

  void AddParkedCars(size_t street_index, Side side) {
    const Street& street = streets_.streets()[street_index];
    Random random(options_.seed, kCars, street_index, static_cast<uint64_t>(side));
    for (double along_m = kJunctionClearRadius_m + 5.0;
         along_m < street.length_m - kJunctionClearRadius_m - 5.0; along_m += 6.2) {
      const double shift_m = random.Uniform(-0.4, 0.4);
      const double out_m = street.KerbOffset(side) - 1.02 + random.Uniform(-0.06, 0.06);
      const double yaw = random.Uniform(-0.03, 0.03);
      const bool backwards = random.Chance(0.1);
      const uint64_t key = random.Next();
      const bool taken = random.Chance(options_.parked_car_density);
      LocalFrame frame = FrameAlongStreet(street, side, along_m + shift_m, out_m);
      const Eigen::Vector3d heading = frame.rotation.col(0) * (backwards ? -1.0 : 1.0);
      frame.rotation = TiltedRotation(std::atan2(heading.y(), heading.x()) + yaw,
                                      ground_.Normal(frame.origin.x(), frame.origin.y()));
      const size_t first = solids_.size();
      if (taken) AddCar(frame, Label::kParkedCar, Random(key), solids_);
      objects_.push_back(MakeSceneObject(first, solids_, ObjectKind::kParkingPlace, frame));
    }
  }

  // Where no street and no house is.
  void AddOpenGroundTrees() {
    Random random(options_.seed, kTrees);
    constexpr double kGrid_m = 12.0;
    const double half = 0.5 * options_.size_m;
    for (double y = -half; y < half; y += kGrid_m) {
      for (double x = -half; x < half; x += kGrid_m) {
        const Eigen::Vector2d place{x + random.Uniform() * kGrid_m, y + random.Uniform() * kGrid_m};
        const double height_m = random.Uniform(3.5, 8.0);
        const uint64_t key = random.Next();
        if (!random.Chance(options_.tree_density)) continue;
        const Footprint room = {place, Eigen::Vector2d::UnitX(), {1.5, 1.5}};
        if (streets_.ClearanceFromStreets(place) < 3.0 || !IsFree(room)) continue;
        AddTree({ground_.PointAt(place)}, height_m, Random(key), solids_);
      }
    }
  }

  TownOptions options_;
  StreetNetwork streets_;
  Ground ground_;
  std::vector<Footprint> footprints_;
  SquareIndex footprint_index_;
  std::vector<Solid> solids_;
  std::vector<SceneObject> objects_;
};

}  // namespace

OptionRows ListOptions(const TownOptions& options) {
  return {{"seed", options.seed},
          {"size_m", options.size_m, "size", 100.0, 5000.0},
          {"street_spacing_m", options.street_spacing_m, "street spacing", 50.0, 300.0},
          {"missing_streets", options.missing_streets, "missing streets", 0.0, 1.0},
          {"building_density", options.building_density, "building density", 0.0, 1.0},
          {"tree_density", options.tree_density, "tree density", 0.0, 1.0},
          {"parked_car_density", options.parked_car_density, "parked car density", 0.0, 1.0},
          {"relief_m", options.relief_m, "relief", 0.0, 20.0}};
}

absl::StatusOr<World> BuildTown(const TownOptions& options) {
  VOXLOC_TRY(Validate(options));
  return TownBuilder(options).Build();
}

}  // namespace voxloc::sim
