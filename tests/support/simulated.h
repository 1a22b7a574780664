// SPDX-License-Identifier: Apache-2.0
//
// A simulated drive and a simulated map as a whole, for tests. Pure functions.

#ifndef VOXLOC_TESTS_SUPPORT_SIMULATED_H_
#define VOXLOC_TESTS_SUPPORT_SIMULATED_H_

#include <vector>

#include "absl/status/statusor.h"
#include "clients/sim/drive.h"
#include "clients/sim/map_sampler.h"
#include "core/status/try.h"

namespace voxloc::sim {

// The scans of Drive::Plan.
[[nodiscard]] inline absl::StatusOr<std::vector<DrivePose>> PlanDrive(const World& world,
                                                                      const DriveOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(const Drive drive, Drive::Plan(world, options));
  return drive.Scans();
}

// All parts of SampleMapInParts as one cloud.
[[nodiscard]] inline absl::StatusOr<PointCloud> SampleMap(
    const World& world, const MapSamplingOptions& options, int threads,
    const SampleProgress& progress = nullptr) {
  ThreadPool pool(ThreadCount(threads));
  PointCloud map;
  const auto receive = [&map](const PointCloud& part) {
    Append(part, map);
    return absl::OkStatus();
  };
  VOXLOC_TRY(SampleMapInParts(world, options, pool, receive, progress));
  return map;
}

}  // namespace voxloc::sim

#endif  // VOXLOC_TESTS_SUPPORT_SIMULATED_H_
