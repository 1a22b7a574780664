// SPDX-License-Identifier: Apache-2.0
//
// ScanList: the clouds of the jobs of a slice, each packed once. Used by one thread at a time, as
// the slice that it belongs to.

#ifndef VOXLOC_CUDA_ALIGN_SCAN_LIST_H_
#define VOXLOC_CUDA_ALIGN_SCAN_LIST_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/container/flat_table.h"
#include "core/engine/align.h"
#include "core/engine/stage_points.h"
#include "cuda/align/align_kernel.h"
#include "cuda/align/device_job.h"
#include "cuda/align/packed_scan.h"
#include "cuda/runtime/packed_upload.h"
#include "cuda/runtime/retention.h"

namespace voxloc::cuda {

class ScanList {
 public:
  // What one huge scan made it take goes back to the host.
  void Clear();

  // The number of a job's scan, with what the stages of its program search with. InvalidArgument:
  // no point of it is finite.
  absl::StatusOr<uint32_t> ScanOf(const AlignJob& job, uint32_t program);
  // The number of a cloud as it is, with all its finite points.
  uint32_t CloudOf(const PointCloud& cloud);

  // 0 where the job's profile does not need it.
  double RotationScaleFor(const AlignJob& job, uint32_t scan);

  [[nodiscard]] const PackedScan& packed(uint32_t scan) const { return packed_[scan]; }
  [[nodiscard]] const DeviceScan& on_device(uint32_t scan) const { return on_device_[scan]; }
  // Of the largest cloud.
  [[nodiscard]] uint32_t most_points() const;

  // Sets the arguments once the upload is sent.
  void AddTo(PackedUpload& upload, AlignArguments& arguments);

 private:
  // Programs may search with different points of one cloud.
  struct Key {
    const PointCloud* cloud = nullptr;
    uint32_t program = 0;

    friend bool operator==(const Key& a, const Key& b) {
      return a.cloud == b.cloud && a.program == b.program;
    }
    template <typename H>
    friend H AbslHashValue(H state, const Key& key) {
      return H::combine(std::move(state), key.cloud, key.program);
    }
  };
  // Room for the floats of a cloud, behind those in use.
  float* RoomFor(const PointCloud& cloud);
  uint32_t Keep(const Key& key, PackedScan packed, DeviceScan on_device);
  PackedScan Pack(const AlignJob& job, float* floats, DeviceScan& on_device);

  std::vector<PackedScan> packed_;
  std::vector<DeviceScan> on_device_;
  std::vector<double> rotation_scales_m_;  // 0 until a job needs it
  std::vector<float> points_;              // of all clouds; the first `floats_` are in use
  size_t floats_ = 0;
  Retention points_retention_;
  FlatTable<Key, uint32_t> numbers_;
  StagePoints stage_points_;  // of the scan packed last
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_SCAN_LIST_H_
