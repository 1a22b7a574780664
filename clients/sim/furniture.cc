// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/furniture.h"

#include <algorithm>
#include <cmath>

namespace voxloc::sim {
namespace {

// Things are let into the ground so far that no gap shows on a slope.
constexpr double kBurialDepth_m = 0.3;

// What one house has in common on all its sides. Metres.
struct HouseStyle {
  int floors;
  double floor_height;
  double bay;           // distance from window to window
  double window_width;  // as a fraction of the bay
  double sill;          // above the floor
  double head;          // below the next floor
  double recess;        // of the windows behind the facade
  double band_out;      // by how far the bands between the windows stand out
  double balcony_chance;
  double balcony_depth;

  [[nodiscard]] double wall_height() const { return floors * floor_height + 0.4; }
};

HouseStyle RandomStyle(Random& random) {
  HouseStyle style;
  style.floors = random.UniformInt(1, 5);
  style.floor_height = random.Uniform(2.7, 3.5);
  style.bay = random.Uniform(1.7, 3.8);
  style.window_width = random.Uniform(0.4, 0.7);
  style.sill = random.Uniform(0.5, 1.0);
  style.head = random.Uniform(0.3, 0.6);
  style.recess = random.Uniform(0.12, 0.4);
  style.band_out = random.Uniform(0.015, 0.08);
  style.balcony_chance = random.Chance(0.4) ? random.Uniform(0.2, 0.7) : 0.0;
  style.balcony_depth = random.Uniform(0.9, 1.6);
  return style;
}

void AddBalcony(const Builder& wall, const HouseStyle& style, double x, double z, double width) {
  const double out = style.balcony_depth;
  const double half = 0.5 * width;
  wall.Box({x - half, -0.05, z - 0.18}, {x + half, out, z});
  wall.Box({x - half, out - 0.06, z - 0.01}, {x + half, out - 0.01, z + 1.0});
  wall.Box({x - half + 0.01, 0.0, z - 0.01}, {x - half + 0.06, out, z + 0.95});
  wall.Box({x + half - 0.06, 0.0, z - 0.01}, {x + half - 0.01, out, z + 0.95});
}

// One wall, `width` wide, centred on the frame's origin, facing its y.
void AddWall(const Builder& wall, const HouseStyle& style, double width, double foundation,
             bool front, Random& random) {
  const int bays = std::max(1, static_cast<int>(std::lround(width / style.bay)));
  const double bay = width / bays;
  const double pier_half = 0.5 * bay * (1.0 - style.window_width);
  const double back = -style.recess - 0.02;
  const double top = style.wall_height();
  for (int i = 0; i <= bays; ++i) {
    const double x = -0.5 * width + i * bay;
    wall.Box({std::max(x - pier_half, -0.5 * width), back, -foundation},
             {std::min(x + pier_half, 0.5 * width), 0.0, top});
  }
  const int door_bay = front ? random.UniformInt(0, bays - 1) : -1;
  const double out = style.band_out;
  for (int floor = 0; floor <= style.floors; ++floor) {
    const double from = floor == 0 ? -foundation : floor * style.floor_height - style.head;
    const double to = floor == style.floors ? top : floor * style.floor_height + style.sill;
    if (floor == 0 && door_bay >= 0) {
      const double left = -0.5 * width + door_bay * bay + pier_half;
      const double right = -0.5 * width + (door_bay + 1) * bay - pier_half;
      wall.Box({-0.5 * width, back, from}, {left, out, to});
      wall.Box({right, back, from}, {0.5 * width, out, to});
      wall.Box({left - 0.2, back, from}, {right + 0.2, 0.6, 0.17});
    } else {
      wall.Box({-0.5 * width, back, from}, {0.5 * width, out, to});
    }
  }
  if (!front) return;

  for (int floor = 1; floor < style.floors; ++floor) {
    for (int i = 0; i < bays; ++i) {
      if (!random.Chance(style.balcony_chance)) continue;
      AddBalcony(wall, style, -0.5 * width + (i + 0.5) * bay, floor * style.floor_height,
                 0.9 * bay);
    }
  }
  const double ledge = random.Uniform(0.12, 0.45);
  wall.Box({-0.5 * width - 0.05, back, top - 0.35}, {0.5 * width + 0.05, ledge, top + 0.05});
  if (style.floors >= 2 && random.Chance(0.3)) {  // a bay window over the upper floors
    const double half = random.Uniform(0.8, 1.4);
    const double x = random.Uniform(-0.5, 0.5) * std::max(0.0, width - 3.0 * half);
    wall.Box({x - half, -0.05, style.floor_height - 0.2},
             {x + half, random.Uniform(0.4, 0.8), top - 0.5});
  }
  if (random.Chance(0.25)) {  // an awning, sloping down to the street
    const Builder slope =
        wall.Rotated({0.0, 0.0, random.Uniform(2.6, 3.0)}, -0.25, Eigen::Vector3d::UnitX());
    const double half = random.Uniform(0.25, 0.45) * width;
    slope.Box({-half, -0.2, -0.03}, {half, random.Uniform(0.9, 1.4), 0.03});
  }
  if (random.Chance(0.7)) {
    const double x = (random.Chance(0.5) ? 0.5 : -0.5) * width * 0.97;
    wall.Cylinder({x, out + 0.08, -0.3}, random.Uniform(0.04, 0.07), top + 0.2);
  }
}

void AddRoof(const Builder& house, const HouseStyle& style, double width, double depth,
             Random& random) {
  const double top = style.wall_height();
  const bool gable = style.floors >= 2 && depth < 1.9 * top && random.Chance(0.6);
  if (gable) {
    // A square bar on its edge: the upper half is a roof of 45 degrees with its gables.
    const Builder ridge =
        house.Rotated({0.0, -0.5 * depth, top}, 0.25 * M_PI, Eigen::Vector3d::UnitX());
    const double half = 0.5 * depth / std::sqrt(2.0);
    const double half_length = 0.5 * width - style.recess - 0.02;
    ridge.Box({-half_length, -half, -half}, {half_length, half, half});
    if (random.Chance(0.7)) {
      const double x = random.Uniform(-0.35, 0.35) * width;
      house.Box({x - 0.35, -0.6 * depth, top},
                {x + 0.35, -0.6 * depth + 0.6, top + 0.5 * depth + 0.9});
    }
    return;
  }
  house.Box({-0.5 * width, -depth, top - 0.2}, {0.5 * width, -0.05, top});
  const double parapet = random.Uniform(0.2, 0.9);
  house.Box({-0.5 * width, -0.25, top - 0.01}, {0.5 * width, -0.02, top + parapet});
}

}  // namespace

void AddTree(const LocalFrame& frame, double height_m, Random random, std::vector<Solid>& solids) {
  const Builder tree{frame, Label::kTree, solids};
  tree.Cylinder({0.0, 0.0, -kBurialDepth_m}, random.Uniform(0.1, 0.28), height_m + kBurialDepth_m);
  const int blobs = random.UniformInt(5, 9);
  const double spread = random.Uniform(0.18, 0.26) * height_m;
  for (int i = 0; i < blobs; ++i) {
    const double angle = random.Uniform(0.0, 2.0 * M_PI);
    const double out = spread * random.Uniform(0.2, 1.0);
    const Eigen::Vector3d middle(out * std::cos(angle), out * std::sin(angle),
                                 height_m + random.Uniform(-0.6, 1.4) * spread);
    const Eigen::Vector3d radii{spread * random.Uniform(0.4, 0.8),
                                spread * random.Uniform(0.4, 0.8),
                                spread * random.Uniform(0.35, 0.7)};
    tree.At(middle, random.Uniform(0.0, M_PI)).Ellipsoid(Eigen::Vector3d::Zero(), radii);
  }
}

void AddLampPost(const LocalFrame& frame, Random random, std::vector<Solid>& solids) {
  const Builder post{frame, Label::kPole, solids};
  const double height = random.Uniform(4.5, 8.0);
  const double radius = random.Uniform(0.05, 0.1);
  const double arm = random.Uniform(0.6, 1.8);
  post.Cylinder({0.0, 0.0, -kBurialDepth_m}, radius, height + kBurialDepth_m);
  post.Cylinder({0.0, 0.0, -kBurialDepth_m}, 2.0 * radius, 0.6 + kBurialDepth_m);
  post.Box({-0.04, 0.0, height - 0.12}, {0.04, arm, height - 0.04});
  post.Box({-0.15, arm - 0.3, height - 0.2}, {0.15, arm + 0.3, height - 0.06});
}

void AddTrafficSign(const LocalFrame& frame, Random random, std::vector<Solid>& solids) {
  const Builder sign{frame, Label::kPole, solids};
  const double height = random.Uniform(2.2, 2.8);
  sign.Cylinder({0.0, 0.0, -kBurialDepth_m}, 0.035, height + kBurialDepth_m);
  const Builder face = sign.At({0.0, 0.0, height}, random.Uniform(-0.3, 0.3));
  const double half = random.Uniform(0.28, 0.4);
  if (random.Chance(0.5)) {
    face.Box({-0.06, -half, -2.0 * half}, {-0.045, half, 0.0});
  } else {
    Eigen::Matrix3d disc = face.frame.rotation;
    disc.col(0) = face.frame.rotation.col(1);
    disc.col(1) = face.frame.rotation.col(2);
    disc.col(2) = face.frame.rotation.col(0);
    solids.push_back({Shape::kCylinder, Label::kPole, face.frame.ToMap({-0.05, 0.0, -half}), disc,
                      Eigen::Vector3d(half, half, 0.01)});
  }
}

void AddBin(const LocalFrame& frame, Random random, std::vector<Solid>& solids) {
  const Builder bin{frame, Label::kPole, solids};
  if (random.Chance(0.5)) {
    const double radius = random.Uniform(0.2, 0.35);
    bin.Cylinder({0.0, 0.0, -kBurialDepth_m}, radius, random.Uniform(0.8, 1.1) + kBurialDepth_m);
    return;
  }
  const Eigen::Vector3d half{random.Uniform(0.25, 0.7), random.Uniform(0.2, 0.45), 0.0};
  bin.Box({-half.x(), -half.y(), -kBurialDepth_m}, {half.x(), half.y(), random.Uniform(0.9, 1.5)});
}

void AddHedge(const LocalFrame& frame, double length_m, Random random, std::vector<Solid>& solids) {
  const Builder hedge{frame, Label::kFence, solids};
  // Pieces of different height and depth, and bulges, as a gardener leaves them.
  double from = -0.5 * length_m;
  const double height = random.Uniform(0.9, 1.7);
  while (from < 0.5 * length_m - 0.2) {
    const double to = std::min(from + random.Uniform(1.0, 2.5), 0.5 * length_m);
    const double half_depth = random.Uniform(0.25, 0.4);
    const double top = height + random.Uniform(-0.12, 0.12);
    hedge.Box({from, -half_depth, -kBurialDepth_m}, {to, half_depth, top});
    hedge.Ellipsoid({0.5 * (from + to), 0.0, 0.6 * top},
                    {0.45 * (to - from), half_depth + 0.12, 0.45 * top});
    from = to;
  }
}

void AddFence(const LocalFrame& frame, double length_m, Random random, std::vector<Solid>& solids) {
  const Builder fence{frame, Label::kFence, solids};
  const int fields =
      std::max(1, static_cast<int>(std::lround(length_m / random.Uniform(1.5, 2.5))));
  const double field = length_m / fields;
  const double height = random.Uniform(0.9, 1.4);
  for (int i = 0; i <= fields; ++i) {
    const double x = -0.5 * length_m + i * field;
    fence.Box({x - 0.06, -0.06, -kBurialDepth_m}, {x + 0.06, 0.06, height + 0.08});
  }
  const int rails = random.UniformInt(2, 4);
  for (int i = 0; i < rails; ++i) {
    const double z = height * (i + 0.7) / rails;
    fence.Box({-0.5 * length_m, -0.02, z - 0.06}, {0.5 * length_m, 0.02, z + 0.06});
  }
}

void AddCar(const LocalFrame& frame, Label label, Random random, std::vector<Solid>& solids) {
  const Builder car{frame, label, solids};
  constexpr double kDarkCars = 0.3;
  const size_t first = solids.size();
  Random paint = random;
  const bool dark = Random(paint.Next(), 1).Chance(kDarkCars);
  const bool van = random.Chance(0.2);
  const double half_length = van ? random.Uniform(2.4, 2.8) : random.Uniform(1.9, 2.4);
  const double half_width = random.Uniform(0.83, 0.93);
  const double bonnet = van ? 1.1 : random.Uniform(0.75, 0.95);
  const double roof = van ? random.Uniform(1.9, 2.3) : random.Uniform(1.4, 1.65);
  const double wheel = random.Uniform(0.29, 0.34);
  car.Box({-half_length, -half_width, 0.22}, {half_length, half_width, bonnet});
  car.Box({(van ? -0.98 : -0.8) * half_length, -half_width + 0.08, bonnet - 0.02},
          {(van ? 0.6 : 0.35) * half_length, half_width - 0.08, roof});
  Eigen::Matrix3d axle = frame.rotation;
  axle.col(1) = -frame.rotation.col(2);
  axle.col(2) = frame.rotation.col(1);
  for (const double x : {-0.62 * half_length, 0.62 * half_length}) {
    for (const double y : {-half_width + 0.1, half_width - 0.1}) {
      solids.push_back({Shape::kCylinder, label, frame.ToMap({x, y, wheel}), axle,
                        Eigen::Vector3d(wheel, wheel, 0.11)});
    }
  }
  for (size_t i = first; i < solids.size() && dark; ++i) {
    solids[i].material = Material::kDarkPaint;
  }
}

void AddPedestrian(const LocalFrame& frame, Label label, Random random,
                   std::vector<Solid>& solids) {
  const Builder person{frame, label, solids};
  const double height = random.Uniform(1.5, 1.9);
  person.Cylinder({0.0, 0.0, 0.0}, 0.16, 0.5 * height);
  person.Ellipsoid({0.0, 0.0, 0.65 * height}, {0.17, 0.25, 0.2 * height});
  person.Ellipsoid({0.0, 0.0, height - 0.12}, {0.1, 0.1, 0.13});
}

void AddBuilding(const BuildingPlot& plot, Random random, std::vector<Solid>& solids) {
  const Builder house{plot.frame, Label::kBuilding, solids};
  const HouseStyle style = RandomStyle(random);
  const double width = plot.width_m;
  const double depth = plot.depth_m;
  const double inset = style.recess;
  house.Box({-0.5 * width + inset, -depth + inset, -plot.foundation_m},
            {0.5 * width - inset, -inset, style.wall_height() - 0.01});
  // Walls stand around it; what they leave open is windows and doors.
  solids.back().material = Material::kGlass;
  AddWall(house, style, width, plot.foundation_m, true, random);
  AddWall(house.At({0.5 * width, -0.5 * depth, 0.0}, -0.5 * M_PI), style, depth, plot.foundation_m,
          false, random);
  AddWall(house.At({0.0, -depth, 0.0}, M_PI), style, width, plot.foundation_m, false, random);
  AddWall(house.At({-0.5 * width, -0.5 * depth, 0.0}, 0.5 * M_PI), style, depth, plot.foundation_m,
          false, random);
  AddRoof(house, style, width, depth, random);
}

}  // namespace voxloc::sim
