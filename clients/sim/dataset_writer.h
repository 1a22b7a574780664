// SPDX-License-Identifier: Apache-2.0
//
// Runs a simulation and writes it as a data set:
//
//   OUT/map/pointcloud_map_metadata.yaml
//   OUT/map/pointcloud_map.pcd/<x>_<y>.pcd   x, y: the tile's lowest corner, whole metres
//   OUT/scans/000000.pcd ...    in the sensor's frame, which is base; with point times also a
//                               field t
//   OUT/poses.txt               map_T_base a scan at its stamp, KITTI form
//   OUT/poses_tum.txt           the same with stamps
//   OUT/simulation.json         every option and seed, and the counts
//
// The same options give the same bytes on any number of threads.

#ifndef VOXLOC_CLIENTS_SIM_DATASET_WRITER_H_
#define VOXLOC_CLIENTS_SIM_DATASET_WRITER_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/sim/simulation.h"

namespace voxloc::sim {

struct DatasetWriterOptions {
  std::string directory;  // made where it is missing
  // Replace an earlier simulation in the directory. A directory with anything else in it is never
  // written to.
  bool replace = false;
  int threads = 0;  // 0: all cores
};

// What is being done, and how far it is; one call at a time, from any thread.
using SimulationProgress = std::function<void(absl::string_view phase, size_t done, size_t total)>;

[[nodiscard]] absl::StatusOr<SimulationSummary> WriteSimulation(
    const SimulationOptions& options, const DatasetWriterOptions& writer,
    const SimulationProgress& progress = nullptr);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_DATASET_WRITER_H_
