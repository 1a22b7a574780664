// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/furniture.h"

#include <algorithm>
#include <cmath>

namespace voxloc::sim {
namespace {

// Things are let into the ground so far that no gap shows on a slope.
constexpr double kBurialDepth_m = 0.3;

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

}  // namespace voxloc::sim
