// SPDX-License-Identifier: Apache-2.0
//
// AlignSlice: jobs that go to the device together: packed into one upload, aligned by one launch,
// their results read back. A workspace with a stream and memory of its own; used by one thread at a
// time. Between Launch and Finish the device works and the caller is free to pack another slice.

#ifndef VOXLOC_CUDA_ALIGN_ALIGN_SLICE_H_
#define VOXLOC_CUDA_ALIGN_ALIGN_SLICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/engine/align.h"
#include "cuda/align/align_kernel.h"
#include "cuda/align/block_budget.h"
#include "cuda/align/launch_shape.h"
#include "cuda/align/packed_job.h"
#include "cuda/align/scan_list.h"
#include "cuda/map/cuda_map.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/device_clock.h"
#include "cuda/runtime/stream.h"
#include "cuda/runtime/transfers.h"

namespace voxloc::cuda {

// StopFlags: tells a running kernel which of its jobs have been cancelled. One word of device
// memory per job, 0 until the host overwrites it through a stream of its own. Blocks poll it in
// every iteration; with hundreds of jobs, polling host memory would take longer than the iteration.
// Not thread-safe.
class StopFlags {
 public:
  explicit StopFlags(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // Once, before anything else.
  [[nodiscard]] absl::Status CreateStream();

  // Before a launch: one for each of so many jobs, none raised. The device must be current.
  [[nodiscard]] absl::Status Prepare(size_t jobs);
  // What a kernel reads. Null: Prepare has had no jobs yet.
  [[nodiscard]] const uint32_t* device_data() const { return words_.data(); }

  // After Prepare, while a kernel may run: marks the job as cancelled. If the copy cannot be
  // queued, the next call tries again.
  void Raise(size_t job) noexcept;

  // Clears all flags, once no kernel reads them. If that fails, Prepare does it.
  void Reset() noexcept;

 private:
  [[nodiscard]] absl::Status Zero();

  const std::shared_ptr<Device> device_;
  Stream stream_;
  DeviceBuffer<uint32_t> words_{device_};  // 0, but for those of raised_
  PinnedBuffer raised_word_{device_};      // what is copied
  std::vector<bool> raised_;               // of each job
  bool any_raised_ = false;
};

// What slices need.
struct AlignResources {
  std::shared_ptr<Device> device;
  std::shared_ptr<DeviceClock> clock;
  AlignLimits limits;
  // Of alignments other than tracking. The device prefers waiting blocks of tracking, but all
  // blocks of a cluster must start together: as blocks finish one by one, waiting blocks of a
  // search would fill the gaps and starve the cluster. So no more background blocks are launched
  // than can run at once, and some of the device stays free. Null: for tracking.
  std::shared_ptr<BlockBudget> background_budget;
  // Of the blocks in groups (Exchange::kGroup), which wait for each other: no more of all launches
  // than are resident at once, or two of them could each wait for blocks that the other keeps from
  // starting. Null: there are clusters.
  std::shared_ptr<BlockBudget> group_budget;
};

// A job and where its result goes.
struct AlignEntry {
  const AlignJob* job;
  AlignResult* result;
};

class AlignSlice {
 public:
  // A slice has at most `max_jobs` jobs.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<AlignSlice>> Create(
      const AlignResources& resources, size_t max_jobs, Priority priority);

  // Removes all jobs. Their work must be done.
  void Clear();

  // False: the slice is full, and the job belongs to the next one. The result of an invalid job
  // gets its error at once. Job and result must stay valid until Finish.
  [[nodiscard]] bool Add(const AlignEntry& entry);
  // Between Launch and Finish or Drain.
  [[nodiscard]] bool launched() const { return launched_; }

  // Once all jobs are added: chooses the shape of the launch.
  void Plan(DeviceUse use);
  // The background budget that the launch needs, and its reservation, held until the launch is
  // done.
  [[nodiscard]] int budget_blocks() const;
  void SetReservation(BlockBudget::Reservation share) { reservation_ = std::move(share); }
  // Queues upload, kernel and download. An error goes to every job of the slice.
  void Launch();
  // Between Launch and Finish: whether they are done, so that Finish waits for nothing.
  [[nodiscard]] bool IsDone() const { return stream_.IsDone(); }
  // Whether a job that was launched may be cancelled. ForwardStops then notifies the device, until
  // Finish, of those that have been.
  [[nodiscard]] bool watched() const { return launched_ && cancellable_ && status_.ok(); }
  void ForwardStops() noexcept;
  // Waits for them and fills the results.
  void Finish();
  // Waits for queued work after an error.
  void Drain() noexcept;

 private:
  AlignSlice(const AlignResources& resources, size_t max_jobs)
      : device_(resources.device),
        clock_(resources.clock),
        limits_(resources.limits),
        group_budget_(resources.group_budget),
        max_jobs_(max_jobs) {}
  absl::StatusOr<uint32_t> FindOrAddProgram(const AlignJob& job);
  // `ready` is the job's own packing, or null.
  void AddPasses(const AlignJob& job, const CudaPackedJob* prepacked, uint32_t scan);
  absl::Status Queue();
  absl::Status Reserve();
  // Writes the device times to the results of the jobs that request them.
  [[nodiscard]] absl::Status FillTimes() const;
  void FillResult(size_t i) const;
  void FillPasses(size_t i) const;

  const std::shared_ptr<Device> device_;
  const std::shared_ptr<DeviceClock> clock_;
  const AlignLimits limits_;
  const std::shared_ptr<BlockBudget> group_budget_;
  const size_t max_jobs_;
  LaunchShape shape_;
  std::optional<BlockBudget::Reservation> reservation_;
  std::optional<BlockBudget::Reservation> group_reservation_;
  Stream stream_;
  Event events_[4];           // before upload, before the kernel, before the download, at the end
  bool with_times_ = false;   // a job of the slice
  bool cancellable_ = false;  // likewise

  std::vector<AlignEntry> entries_;
  std::vector<DeviceJob> jobs_;
  std::vector<AlignProgram> programs_;
  std::vector<const AlignJob*> program_of_;  // a job of each program
  ScanList scans_;
  size_t total_points_ = 0;     // points of all jobs
  uint32_t iterations_ = 0;     // that may be recorded
  uint32_t scored_points_ = 0;  // whose scores are wanted
  PassList passes_{device_};
  std::optional<DeviceMoment> moment_;  // on both clocks; of the first job with a deadline
  bool launched_ = false;
  absl::Status status_;  // of Launch

  PackedUpload upload_{device_};
  StopFlags stops_{device_};
  DeviceBuffer<double> exchanged_columns_{device_};  // of jobs that groups work on
  DeviceBuffer<uint32_t> counted_columns_{device_};
  Output<DeviceResult> results_{device_, Output<DeviceResult>::Place::kHost};
  Output<DeviceIteration> trace_{device_};
  Output<float> scores_{device_};
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_ALIGN_SLICE_H_
