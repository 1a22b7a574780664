// SPDX-License-Identifier: Apache-2.0
//
// Scans in which one cluster of points is wrong: what it shows stands elsewhere than in the map, or
// something new stands before it.

#ifndef VOXLOC_TESTS_BENCH_FAULTY_SCAN_H_
#define VOXLOC_TESTS_BENCH_FAULTY_SCAN_H_

#include <memory>

#include "core/cloud/point_cloud.h"
#include "core/engine/evaluation_pass.h"
#include "tests/support/random_numbers.h"

namespace voxloc::bench {

// The scan with a fault in one of its clusters, chosen evenly: in half of the draws its points are
// displaced by one level vector of 0.1 to 3 m, all lengths of a decade as likely; in the others
// they are drawn towards the base to 0.3 to 0.95 of their range.
[[nodiscard]] std::shared_ptr<const PointCloud> WithFault(const PointCloud& scan_base,
                                                          const PointGroups& clusters,
                                                          RandomNumbers& random);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_FAULTY_SCAN_H_
