// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/faulty_scan.h"

#include <Eigen/Core>
#include <cmath>

namespace voxloc::bench {

std::shared_ptr<const PointCloud> WithFault(const PointCloud& scan_base,
                                            const PointGroups& clusters, RandomNumbers& random) {
  auto faulty = std::make_shared<PointCloud>(scan_base);
  if (clusters.ends.empty()) return faulty;
  const auto k = static_cast<size_t>(random.Index(static_cast<int>(clusters.ends.size())));
  const bool moved = random.Uniform(0.0, 1.0) < 0.5;
  const double length_m = 0.1 * std::pow(30.0, random.Uniform(0.0, 1.0));
  const double heading = random.Uniform(-M_PI, M_PI);
  const Eigen::Vector3d shift = length_m * Eigen::Vector3d(std::cos(heading), std::sin(heading), 0);
  const double share = random.Uniform(0.3, 0.95);
  for (size_t i = k == 0 ? 0 : clusters.ends[k - 1]; i < clusters.ends[k]; ++i) {
    const uint32_t place = clusters.places[i];
    const Eigen::Vector3d point = scan_base.Point(place);
    const Eigen::Vector3d wrong = moved ? Eigen::Vector3d(point + shift) : share * point;
    const Eigen::Vector3f offset = (wrong - scan_base.origin).cast<float>();
    faulty->x[place] = offset.x();
    faulty->y[place] = offset.y();
    faulty->z[place] = offset.z();
  }
  return faulty;
}

}  // namespace voxloc::bench
