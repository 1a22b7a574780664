// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/synthetic_data.h"

#include <Eigen/Geometry>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "clients/dataset/perturbation.h"

namespace voxloc::bench {
namespace {

constexpr double kScanRangeM = 40.0;
constexpr double kScanSquareM = 120.0;

class Uniform {
 public:
  explicit Uniform(uint64_t seed) : random_(seed) {}
  double operator()() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }

 private:
  std::mt19937_64 random_;
};

}  // namespace

PointCloud SyntheticCloud(size_t points, double extent_m, uint64_t seed) {
  Uniform uniform(seed);
  PointCloud cloud;
  cloud.Reserve(points);
  for (size_t i = 0; i < points; ++i) {
    double x = (uniform() - 0.5) * extent_m;
    double y = (uniform() - 0.5) * extent_m;
    double z = 0.5 * std::sin(0.05 * x) + 0.5 * std::cos(0.04 * y);
    if (uniform() < 0.4) {
      double& across = uniform() < 0.5 ? x : y;
      across = std::round(across / 20.0) * 20.0;
      z += 12.0 * uniform();
    }
    const auto noise = [&] { return 0.02 * (uniform() + uniform() + uniform() - 1.5) * 2.0; };
    cloud.PushBack(static_cast<float>(x + noise()), static_cast<float>(y + noise()),
                   static_cast<float>(z + noise()));
  }
  return cloud;
}

std::vector<BenchScan> SyntheticScans(size_t count, size_t points, uint64_t seed) {
  Uniform uniform(seed);
  Perturbation off;
  off.translation_m = {0.4, 0.3, 0.1};
  off.rotation_rpy_deg = {0.0, 0.0, 2.0};
  std::vector<BenchScan> scans;
  for (size_t i = 0; i < count; ++i) {
    BenchScan scan;
    const double heading = 2.0 * M_PI * uniform();
    scan.map_T_base.translation = {20.0 * uniform() - 10.0, 20.0 * uniform() - 10.0, 2.5};
    scan.map_T_base.rotation = Eigen::AngleAxisd(heading, Eigen::Vector3d::UnitZ());
    scan.map_T_base_guess = Perturb(scan.map_T_base, off, seed, i);
    const PointCloud scene = SyntheticCloud(8 * points, kScanSquareM, seed + 1 + i);
    const Pose base_T_map = scan.map_T_base.Inverse();
    PointCloud cloud;
    cloud.Reserve(points);
    for (size_t p = 0; p < scene.size() && cloud.size() < points; ++p) {
      const Eigen::Vector3f point = (base_T_map * scene.Point(p)).cast<float>();
      if (point.norm() <= static_cast<float>(kScanRangeM)) {
        cloud.PushBack(point.x(), point.y(), point.z());
      }
    }
    scan.cloud = std::make_shared<const PointCloud>(std::move(cloud));
    scans.push_back(std::move(scan));
  }
  return scans;
}

}  // namespace voxloc::bench
