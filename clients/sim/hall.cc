// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "clients/sim/floor_blocks.h"
#include "clients/sim/furniture.h"
#include "clients/sim/random.h"
#include "clients/sim/scenes.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

constexpr double kHallJunctionClear_m = 5.0;
constexpr double kWallToAisle_m = 4.5;    // from a wall to the middle of the aisle along it
constexpr double kAisleToBlock_m = 4.0;   // from the middle of an aisle to what stands beside it
constexpr double kBlockPitch_m = 18.0;    // from aisle to aisle, about
constexpr double kAisleShift_m = 0.9;     // by which inner aisles are moved at the most
constexpr double kAislePavement_m = 0.7;  // where people walk
constexpr double kWallThickness_m = 0.3;
constexpr double kBeamDepth_m = 0.6;
constexpr double kGroundMargin_m = 5.0;

// Streams of chance, one per concern.
enum Stream : uint64_t { kSize = 1, kAisles, kHallBlocks, kWalls, kColumns, kRoof };

class HallBuilder {
 public:
  explicit HallBuilder(const HallOptions& options)
      : options_(options),
        half_x_(0.5 * options.width_m),
        half_y_(0.5 * options.length_m),
        headroom_m_(options.height_m - kBeamDepth_m) {
    Random random(options.seed, kAisles);
    hall_.frame.rotation = YawRotation(random.Uniform(-M_PI, M_PI));
    aisles_ = {hall_.frame, Lines(options.width_m, random), {}, kAisleToBlock_m};
    aisles_.y_m = Lines(options.length_m, random);
    bay_m_ = options.length_m / std::round(options.length_m / random.Uniform(4.5, 7.5));
  }

  World Build() && {
    AddShell();
    AddWallColumns();
    AddGates();
    AddPipes();
    AddBlocks();
    AddInnerColumns();
    AddRoof();
    Ground ground(std::hypot(half_x_, half_y_) + kGroundMargin_m);
    return World{Aisles(), Scene(std::move(ground), std::move(solids_)), std::move(objects_)};
  }

 private:
  [[nodiscard]] static std::vector<double> Lines(double span_m, Random& random) {
    return AisleLines(span_m, kWallToAisle_m, kBlockPitch_m, kAisleShift_m, random);
  }

  [[nodiscard]] StreetNetwork Aisles() const {
    Street aisle;
    aisle.clear_m = kHallJunctionClear_m;
    aisle.pavement_m = kAislePavement_m;
    std::vector<Eigen::Vector2d> junctions;
    std::vector<Street> streets;
    aisles_.AppendStreets(aisle, junctions, streets);
    return {std::move(junctions), std::move(streets)};
  }

  [[nodiscard]] std::vector<std::pair<Builder, double>> Walls() const {
    return WallsAround(hall_, half_x_, half_y_);
  }

  void AddShell() {
    for (const auto& [wall, half_m] : Walls()) {
      wall.Box({-half_m - kWallThickness_m, -kWallThickness_m, -0.5},
               {half_m + kWallThickness_m, 0.0, options_.height_m + 0.2});
      objects_.push_back(
          MakeSceneObject(solids_.size() - 1, solids_, ObjectKind::kWall, wall.frame));
    }
  }

  void AddWallColumns() {
    for (const auto& [wall, half_m] : Walls()) {
      const int bays = std::max(1, static_cast<int>(std::lround(2.0 * half_m / bay_m_)));
      for (int i = 0; i <= bays; ++i) {
        const double x = -half_m + 2.0 * half_m * i / bays;
        wall.Box({x - 0.2, -0.05, 0.0}, {x + 0.2, 0.3, headroom_m_});
      }
    }
  }

  // Gates and doors stand out of the wall with their frames; cabinets and boards stand between.
  void AddGates() {
    uint64_t number = 0;
    for (const auto& [wall, half_m] : Walls()) {
      Random random(options_.seed, kWalls, number++);
      double x = -half_m + random.Uniform(1.0, 5.0);
      while (x < half_m - 5.0) {
        const double kind = random.Uniform();
        const double width = kind < 0.3 ? random.Uniform(3.0, 4.5) : random.Uniform(0.8, 2.0);
        const double height = kind < 0.3 ? random.Uniform(3.2, 4.4) : random.Uniform(1.6, 2.3);
        const double out = kind < 0.6 ? random.Uniform(0.06, 0.14) : random.Uniform(0.2, 0.5);
        wall.Box({x, -0.05, 0.0}, {x + width, out, height});
        x += width + random.Uniform(1.5, 7.0);
      }
    }
  }

  void AddPipes() {
    uint64_t number = 0;
    for (const auto& [wall, half_m] : Walls()) {
      Random random(options_.seed, kWalls, number++, 1);
      const int pipes = random.UniformInt(0, 3);
      for (int i = 0; i < pipes; ++i) {
        const double from = random.Uniform(-1.0, 0.2) * half_m;
        const double to = std::min(half_m, from + random.Uniform(0.4, 1.6) * half_m);
        const double radius = random.Uniform(0.04, 0.2);
        const Builder pipe = wall.As(Label::kPole)
                                 .Rotated({from, 0.32 + radius, random.Uniform(2.4, 4.2)},
                                          0.5 * M_PI, Eigen::Vector3d::UnitY());
        pipe.Cylinder({0.0, 0.0, 0.0}, radius, to - from);
      }
    }
  }

  void AddBlocks() {
    uint64_t number = 0;
    for (FloorBlock& block : aisles_.Blocks(headroom_m_)) {
      Random random(options_.seed, kHallBlocks, number++);
      const double kind = random.Uniform();
      if (random.Chance(0.5)) {
        block.frame = block.frame.At({0.0, 0.0, 0.0}, 0.5 * M_PI);
        std::swap(block.size_x_m, block.size_y_m);
      }
      const Random contents(random.Next());
      const size_t first = solids_.size();
      if (kind < 0.5) {
        AddRacks(block, contents, solids_);
      } else if (kind < 0.85) {
        AddMachines(block, contents, solids_);
      } else {
        AddStackedGoods(block, contents, solids_);
      }
      objects_.push_back(MakeSceneObject(first, solids_, ObjectKind::kStructure, block.frame));
    }
  }

  // At the corners of the blocks, from the floor to the beams.
  void AddInnerColumns() {
    Random random(options_.seed, kColumns);
    const double half = random.Uniform(0.12, 0.25);
    const bool round = random.Chance(0.4);
    const double inset = kAisleToBlock_m + half;
    const std::vector<double>& xs = aisles_.x_m;
    const std::vector<double>& ys = aisles_.y_m;
    for (size_t i = 0; i + 1 < xs.size(); ++i) {
      for (size_t k = 0; k + 1 < ys.size(); ++k) {
        for (const double x : {xs[i] + inset, xs[i + 1] - inset}) {
          for (const double y : {ys[k] + inset, ys[k + 1] - inset}) {
            if (round) {
              hall_.As(Label::kPole).Cylinder({x, y, 0.0}, half, headroom_m_);
            } else {
              hall_.As(Label::kPole)
                  .Box({x - half, y - half, 0.0}, {x + half, y + half, headroom_m_});
            }
          }
        }
      }
    }
  }

  void AddRoof() {
    hall_.Box({-half_x_, -half_y_, options_.height_m}, {half_x_, half_y_, options_.height_m + 0.2});
    const int bays = static_cast<int>(std::lround(options_.length_m / bay_m_));
    for (int i = 1; i < bays; ++i) {
      const double y = -half_y_ + options_.length_m * i / bays;
      hall_.Box({-half_x_, y - 0.15, headroom_m_}, {half_x_, y + 0.15, options_.height_m});
    }
    Random random(options_.seed, kRoof);
    const int ducts = random.UniformInt(1, 3);
    for (int i = 0; i < ducts; ++i) {
      const double x = random.Uniform(-0.9, 0.9) * half_x_;
      const double half = random.Uniform(0.2, 0.5);
      hall_.Box({x - half, -half_y_, headroom_m_ - 2.0 * half},
                {x + half, half_y_ * random.Uniform(-0.2, 1.0), headroom_m_ - 0.02});
    }
  }

  HallOptions options_;
  double half_x_;
  double half_y_;
  double headroom_m_;
  double bay_m_ = 6.0;  // from column to column along the walls
  AisleGrid aisles_;
  std::vector<Solid> solids_;
  std::vector<SceneObject> objects_;
  Builder hall_{LocalFrame(), Label::kBuilding, solids_};
};

}  // namespace

HallOptions SeededHall(uint64_t seed) {
  Random random(seed, kSize);
  HallOptions options;
  options.seed = seed;
  options.width_m = random.Uniform(20.0, 60.0);
  options.length_m = random.Uniform(25.0, 80.0);
  options.height_m = random.Uniform(6.0, 12.0);
  return options;
}

OptionRows ListOptions(const HallOptions& options) {
  return {{"seed", options.seed},
          {"width_m", options.width_m, "width", 20.0, 60.0},
          {"length_m", options.length_m, "length", 25.0, 80.0},
          {"height_m", options.height_m, "height", 5.0, 15.0}};
}

absl::StatusOr<World> BuildHall(const HallOptions& options) {
  VOXLOC_TRY(Validate(options));
  return HallBuilder(options).Build();
}

}  // namespace voxloc::sim
