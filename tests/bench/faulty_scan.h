// SPDX-License-Identifier: Apache-2.0
//
// Scans in which one cluster of points is wrong: its object has moved since the map was made, or is
// hidden by a new object.

#ifndef VOXLOC_TESTS_BENCH_FAULTY_SCAN_H_
#define VOXLOC_TESTS_BENCH_FAULTY_SCAN_H_

#include <memory>

#include "core/cloud/point_cloud.h"
#include "core/engine/align.h"
#include "tests/support/random_numbers.h"

namespace voxloc::bench {

// The scan with a fault in one cluster, chosen uniformly. With probability 1/2 its points are moved
// by one horizontal vector of 0.1 to 3 m (log-uniform length), else towards the base to 0.3 to 0.95
// of their range.
[[nodiscard]] std::shared_ptr<const PointCloud> WithFault(const PointCloud& scan_base,
                                                          const PointGroups& clusters,
                                                          RandomNumbers& random);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_FAULTY_SCAN_H_
