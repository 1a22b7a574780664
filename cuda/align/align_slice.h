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

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/engine/align.h"
#include "cuda/align/align_kernel.h"
#include "cuda/align/launch_shape.h"
#include "cuda/align/packed_job.h"
#include "cuda/align/scan_list.h"
#include "cuda/align/stop_flags.h"
#include "cuda/map/cuda_map.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/device_clock.h"
#include "cuda/runtime/output.h"
#include "cuda/runtime/packed_upload.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

// BackgroundRoom: what alignments other than tracking may take of the device at the same time. The
// device prefers waiting blocks of tracking to others, but the blocks of a cluster begin together:
// where room for one block after another comes free, waiting blocks of a search take it, and the
// cluster waits until none is left. So no more of them are launched than run at once, and some room
// stays free. Thread-safe.
class BackgroundRoom : public std::enable_shared_from_this<BackgroundRoom> {
 public:
  // Some of the room, for as long as this lives.
  class Share {
   public:
    Share(std::shared_ptr<BackgroundRoom> room, int blocks)
        : room_(std::move(room)), blocks_(blocks) {}
    Share(Share&& other) noexcept : room_(std::move(other.room_)), blocks_(other.blocks_) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(room_, other.room_);
      std::swap(blocks_, other.blocks_);
      return *this;
    }
    ~Share() {
      if (room_ != nullptr) room_->Return(blocks_);
    }

   private:
    std::shared_ptr<BackgroundRoom> room_;
    int blocks_;
  };

  // In lone blocks of the kernel for many jobs; at least one.
  explicit BackgroundRoom(int blocks) : blocks_(blocks), free_(blocks) {}

  [[nodiscard]] int blocks() const { return blocks_; }

  // Of what is free and nobody waits for; a demand for more than there is at all is for all of it.
  [[nodiscard]] std::optional<Share> TryTake(int blocks);
  // Waits for it. The caller holds no share: of two that do and wait for each other none goes on.
  [[nodiscard]] Share Take(int blocks);

 private:
  void Return(int blocks);

  const int blocks_;
  absl::Mutex mutex_;
  int free_ ABSL_GUARDED_BY(mutex_);
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // callers of Take
};

// What slices are made of.
struct AlignResources {
  std::shared_ptr<Device> device;
  std::shared_ptr<DeviceClock> clock;
  AlignLimits limits;
  std::shared_ptr<BackgroundRoom> room;  // of what is not tracking
};

// A job and where its result goes.
struct AlignEntry {
  const AlignJob* job;
  AlignResult* result;
};

class AlignSlice {
 public:
  // A slice takes at most so many jobs.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<AlignSlice>> Create(
      const AlignResources& resources, size_t most_jobs, Priority priority);

  // Forgets the last slice, whose work must be done.
  void Clear();

  // Takes a job in, unless it is full: false, and the job belongs to the next slice. A job that
  // cannot be run is answered in its result at once. Job and result must stay until Finish.
  [[nodiscard]] bool Add(const AlignEntry& entry);
  // Between Launch and Finish or Drain.
  [[nodiscard]] bool launched() const { return launched_; }

  // Once all jobs are in: how they are laid out on the device.
  void Plan(DeviceUse use);
  // What they then take of it, and the share of it that is kept until they are done.
  [[nodiscard]] int room_blocks() const;
  void Hold(BackgroundRoom::Share share) { share_ = std::move(share); }
  // Queues upload, kernel and download. An error goes to every job of the slice.
  void Launch();
  // Between Launch and Finish: whether they are done, so that Finish waits for nothing.
  [[nodiscard]] bool IsDone() const { return stream_.IsDone(); }
  // Whether a job that was launched may be cancelled. PassOnStops then notifies the device, until
  // Finish, of those that have been.
  [[nodiscard]] bool watched() const { return launched_ && cancellable_ && status_.ok(); }
  void PassOnStops() noexcept;
  // Waits for them and fills the results.
  void Finish();
  // Waits for what a call that broke off has queued.
  void Drain() noexcept;

 private:
  AlignSlice(const AlignResources& resources, size_t most_jobs)
      : device_(resources.device),
        clock_(resources.clock),
        limits_(resources.limits),
        most_jobs_(most_jobs) {}
  absl::StatusOr<uint32_t> ProgramOf(const AlignJob& job);
  // `ready` is the job's own packing, or null.
  void AddPasses(const AlignJob& job, const CudaPackedJob* ready, uint32_t scan);
  absl::Status Queue();
  absl::Status Reserve();
  // Those of the launch, into the results of the jobs that want them.
  [[nodiscard]] absl::Status FillTimes() const;
  void FillResult(size_t i) const;
  void FillPasses(size_t i) const;

  const std::shared_ptr<Device> device_;
  const std::shared_ptr<DeviceClock> clock_;
  const AlignLimits limits_;
  const size_t most_jobs_;
  LaunchShape shape_;
  std::optional<BackgroundRoom::Share> share_;
  Stream stream_;
  Event events_[4];           // before upload, before the kernel, before the download, at the end
  bool wants_times_ = false;  // a job of the slice
  bool cancellable_ = false;  // likewise

  std::vector<AlignEntry> entries_;
  std::vector<DeviceJob> jobs_;
  std::vector<AlignProgram> programs_;
  std::vector<const AlignJob*> program_of_;  // a job of each program
  ScanList scans_;
  size_t work_ = 0;             // points of all jobs
  uint32_t iterations_ = 0;     // that may be recorded
  uint32_t scored_points_ = 0;  // whose scores are wanted
  PassList passes_{device_};
  std::optional<DeviceMoment> moment_;  // on both clocks; of the first job with a deadline
  bool launched_ = false;
  absl::Status status_;  // of Launch

  PackedUpload upload_{device_};
  StopFlags stops_{device_};
  Output<DeviceResult> results_{device_, Output<DeviceResult>::Place::kHost};
  Output<DeviceIteration> trace_{device_};
  Output<float> scores_{device_};
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_ALIGN_SLICE_H_
