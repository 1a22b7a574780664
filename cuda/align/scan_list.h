// SPDX-License-Identifier: Apache-2.0
//
// ScanList: the clouds of the jobs of a slice, each once: packed here, or borrowed from a job that
// is packed already. Used by one thread at a time, as its slice; borrowed memory must stay valid
// until the slice has finished.

#ifndef VOXLOC_CUDA_ALIGN_SCAN_LIST_H_
#define VOXLOC_CUDA_ALIGN_SCAN_LIST_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/container/flat_table.h"
#include "core/engine/align.h"
#include "core/engine/stage_points.h"
#include "cuda/align/align_kernel.h"
#include "cuda/align/device_job.h"
#include "cuda/align/packed_job.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/stream.h"
#include "cuda/runtime/transfers.h"

namespace voxloc::cuda {

class ScanList {
 public:
  // Removes all clouds, and releases memory that recent slices did not need.
  void Clear();

  // The number of a job's scan, with what the stages of its program search with. `packed` is the
  // job's, or null. InvalidArgument: no point of it is finite.
  absl::StatusOr<uint32_t> FindOrAddScan(const AlignJob& job, const CudaPackedJob* packed,
                                         uint32_t program);
  // The number of the cloud that a pass of the job brings, with all its finite points.
  uint32_t FindOrAddCloud(const AlignJob& job, size_t pass, const CudaPackedJob* packed);

  // Of a job's scan; 0 where its profile does not need it.
  [[nodiscard]] double rotation_scale_m(uint32_t scan) const { return rotation_scales_m_[scan]; }
  [[nodiscard]] const PackedScan& packed(uint32_t scan) const { return *packed_[scan]; }
  [[nodiscard]] const DeviceScan& on_device(uint32_t scan) const { return on_device_[scan]; }
  // Of the largest cloud.
  [[nodiscard]] uint32_t max_points() const;

  // Sets the arguments once the upload is sent. Nothing may be added to the upload behind it.
  void AddTo(PackedUpload& upload, AlignArguments& arguments);
  // Queues, behind the upload, the gather kernel that reads borrowed clouds from host memory.
  [[nodiscard]] absl::Status QueueGather(Device& device, const Stream& stream) const;

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
  // Floats of a packed job.
  struct BorrowedFloats {
    uint32_t scan;
    absl::Span<const float> floats;
    bool page_locked;
  };
  // Memory for the floats of a cloud, behind those in use.
  float* ReserveFloats(const PointCloud& cloud);
  // Adds a cloud packed there, and returns its number.
  uint32_t AddOwned(const Key& key, PackedScan packed);
  uint32_t AddBorrowed(const Key& key, const PackedScan& packed, absl::Span<const float> floats,
                       const CudaPackedJob& job);
  uint32_t AssignNumber(const Key& key, const PackedScan& packed, size_t first);
  void SetStages(uint32_t scan, const StagedScan& staged);
  [[nodiscard]] bool ShouldGather() const;

  std::vector<const PackedScan*> packed_;
  std::deque<PackedScan> owned_;  // of clouds packed here; a deque keeps addresses stable
  std::vector<DeviceScan> on_device_;
  std::vector<double> rotation_scales_m_;
  std::vector<float> points_;  // of clouds packed here; the first `floats_` are in use
  size_t floats_ = 0;
  Retention points_retention_;
  std::vector<BorrowedFloats> borrowed_;
  std::vector<GatherPiece> pieces_;  // what the device fetches; empty: all of it is uploaded
  const GatherPiece* pieces_on_device_ = nullptr;
  float* gathered_ = nullptr;  // for them, on the device
  FlatTable<Key, uint32_t> numbers_;
  StagePoints chosen_;  // memory to choose points with
};

// PassList: the evaluation passes of the jobs of a slice: packed for the upload, and their sums
// read back. Used by one thread at a time, as the slice that it belongs to.
class PassList {
 public:
  explicit PassList(const std::shared_ptr<Device>& device) : sums_(device) {}

  void Clear();
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(passes_.size()); }

  [[nodiscard]] uint32_t scan_of(uint32_t pass) const { return passes_[pass].scan; }

  // Takes in a pass over scan number `scan` of the slice; the scores of its points begin at
  // `point_scores_begin`, if they are wanted. `places` are those of its groups in the packed scan.
  void Add(const EvaluationPass& pass, uint32_t scan, absl::Span<const uint32_t> places,
           uint32_t point_scores_begin);

  // Memory for what comes back.
  [[nodiscard]] absl::Status Reserve() { return sums_.ReserveForUse(groups_); }
  // Sets the arguments once the upload is sent.
  void AddTo(PackedUpload& upload, AlignArguments& arguments);
  [[nodiscard]] absl::Status QueueDownload(const Stream& stream) const {
    return sums_.Download(stream, "reading sums of groups");
  }

  // Of pass number `pass`, once the stream is done. `point_scores` are those of the slice.
  void Fill(uint32_t pass, const PackedScan& packed, size_t cloud_points, const float* point_scores,
            PassResult& result) const;

 private:
  std::vector<DevicePass> passes_;
  std::vector<uint32_t> places_;
  std::vector<uint32_t> ends_;
  uint32_t groups_ = 0;
  Output<DeviceGroupSums> sums_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_SCAN_LIST_H_
