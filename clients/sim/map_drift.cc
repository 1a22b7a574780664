// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/map_drift.h"

#include <algorithm>
#include <cmath>

#include "clients/sim/random.h"

namespace voxloc::sim {

OptionRows ListOptions(const MapDriftOptions& options) {
  return {{"seed", options.seed},
          {"sigma_m", options.sigma_m, "map drift", 0.0, 1.0},
          {"wavelength_m", options.wavelength_m, "map drift wavelength", 20.0, 1000.0}};
}

MapDrift::MapDrift(const MapDriftOptions& options)
    : amplitude_m_(options.sigma_m * std::sqrt(2.0 / kWaves)) {
  for (size_t axis = 0; axis < waves_.size(); ++axis) {
    Random random(options.seed, axis);
    for (Wave& wave : waves_[axis]) {
      const double heading = random.Uniform(0.0, 2.0 * M_PI);
      const double climb = random.Uniform(-0.2, 0.2);
      const double wavelength_m = options.wavelength_m * random.Uniform(0.7, 1.5);
      wave.k_per_m = Eigen::Vector3d(std::cos(heading), std::sin(heading), climb).normalized() *
                     (2.0 * M_PI / wavelength_m);
      wave.phase_rad = random.Uniform(0.0, 2.0 * M_PI);
    }
  }
}

Eigen::Vector3d MapDrift::DisplacementAt(const Eigen::Vector3d& place) const {
  Eigen::Vector3d displacement = Eigen::Vector3d::Zero();
  for (size_t axis = 0; axis < waves_.size(); ++axis) {
    double sum = 0.0;
    for (const Wave& wave : waves_[axis]) sum += std::sin(wave.k_per_m.dot(place) + wave.phase_rad);
    displacement[static_cast<Eigen::Index>(axis)] = amplitude_m_ * sum;
  }
  return displacement;
}

Eigen::Vector3d MapDrift::RotationAt(const Eigen::Vector3d& place) const {
  Eigen::Matrix3d jacobian = Eigen::Matrix3d::Zero();  // of the displacement: axis by place
  for (size_t axis = 0; axis < waves_.size(); ++axis) {
    for (const Wave& wave : waves_[axis]) {
      jacobian.row(static_cast<Eigen::Index>(axis)) +=
          amplitude_m_ * std::cos(wave.k_per_m.dot(place) + wave.phase_rad) *
          wave.k_per_m.transpose();
    }
  }
  return 0.5 * Eigen::Vector3d(jacobian(2, 1) - jacobian(1, 2), jacobian(0, 2) - jacobian(2, 0),
                               jacobian(1, 0) - jacobian(0, 1));
}

void MapDrift::Apply(ThreadPool& pool, PointCloud& map) const {
  constexpr size_t kChunk = 65536;
  pool.ParallelFor((map.size() + kChunk - 1) / kChunk, [&](size_t chunk) {
    const size_t end = std::min(map.size(), (chunk + 1) * kChunk);
    for (size_t i = chunk * kChunk; i < end; ++i) {
      const Eigen::Vector3d place = map.Offset(i).cast<double>();
      const Eigen::Vector3f moved = (place + DisplacementAt(place)).cast<float>();
      map.x[i] = moved.x();
      map.y[i] = moved.y();
      map.z[i] = moved.z();
    }
  });
}

}  // namespace voxloc::sim
