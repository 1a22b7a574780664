// SPDX-License-Identifier: Apache-2.0
//
// ScanFilter: what core/cloud/filters.h does to a scan, done on the device, for raw clouds that are
// large. The result is the CPU's to the last bit: the same points stay, voxels come in the order in
// which they are first met, and their centroids are summed in double in the order of their points.
//
// Thread-safe. Each call uses a stream of its own and returns when its work is done. Device memory
// for clouds of up to 2^20 points is kept in a pool; that of larger ones (about 75 bytes a point)
// is freed after the call.

#ifndef VOXLOC_CUDA_CLOUD_SCAN_FILTER_H_
#define VOXLOC_CUDA_CLOUD_SCAN_FILTER_H_

#include <Eigen/Core>
#include <memory>

#include "absl/status/statusor.h"
#include "core/cloud/filters.h"
#include "core/cloud/point_cloud.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/pool.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

struct OffsetBounds;

// Two points around `origin` with these bounds.
[[nodiscard]] PointCloud CornersOf(const OffsetBounds& bounds, const Eigen::Vector3d& origin);

class ScanFilter {
 public:
  // Shares the device. Unavailable: the device is out of service.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ScanFilter>> Create(
      std::shared_ptr<Device> device);
  ~ScanFilter();
  ScanFilter(const ScanFilter&) = delete;
  ScanFilter& operator=(const ScanFilter&) = delete;

  // FilterCloud's result and errors. The cloud's columns are of the same length. ResourceExhausted:
  // no memory, or 2^31 points and more; later calls work. Unavailable: the device has failed.
  [[nodiscard]] absl::StatusOr<FilteredCloud> Filter(const PointCloud& cloud,
                                                     const FilterOptions& options,
                                                     Priority priority);

 private:
  class Workspace;

  explicit ScanFilter(std::shared_ptr<Device> device);
  absl::StatusOr<FilteredCloud> Run(const PointCloud& cloud, const FilterOptions& options,
                                    Pool<Workspace>& workspaces);

  const std::shared_ptr<Device> device_;
  Pool<Workspace> tracking_;
  Pool<Workspace> other_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_CLOUD_SCAN_FILTER_H_
