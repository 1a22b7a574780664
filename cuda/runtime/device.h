// SPDX-License-Identifier: Apache-2.0
//
// Device: one GPU as this process uses it: its properties, its memory, its health. Thread-safe.
//
// Errors are returned as absl::Status. Out of memory is RESOURCE_EXHAUSTED; later calls work. An
// error that ends the context (EndsContext), or after which even a simple call fails, makes the
// device permanently unhealthy, and every later call returns UNAVAILABLE. Every other error is
// INTERNAL and concerns its call only.

#ifndef VOXLOC_CUDA_RUNTIME_DEVICE_H_
#define VOXLOC_CUDA_RUNTIME_DEVICE_H_

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/status/try.h"

namespace voxloc::cuda {

struct DeviceOptions {
  int ordinal = 0;
  // Limit of the engine's device memory; 0: no limit.
  size_t memory_limit_bytes = 0;
};

struct DeviceProperties {
  std::string name;
  int major = 0;  // compute capability
  int minor = 0;
  int multiprocessors = 0;
  size_t memory_bytes = 0;
};

// Devices that this process can see; 0 where there is no driver. `no_gpu_reason`, if not null,
// receives the driver's reason.
[[nodiscard]] int CountDevices(std::string* no_gpu_reason = nullptr);

class Device {
 public:
  // NotFound: no such device, with the driver's reason and the devices there are.
  // FailedPrecondition: a device of a compute capability that this build has no code for.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<Device>> Open(const DeviceOptions& options);

  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] int ordinal() const { return ordinal_; }
  [[nodiscard]] const DeviceProperties& properties() const { return properties_; }

  // Makes this the calling thread's device. Unavailable once unhealthy.
  [[nodiscard]] absl::Status MakeCurrent();

  // Converts the result of a CUDA call to a status; `what` describes the operation. An error that
  // ends the context makes the device unhealthy.
  absl::Status Check(cudaError_t error, absl::string_view what);
  [[nodiscard]] bool healthy() const { return healthy_.load(std::memory_order_acquire); }

  // Device memory, ready for use on any stream. ResourceExhausted: there is none left, or the limit
  // is reached. Memory may be freed once nothing that uses it is queued or running; freeing never
  // waits for other work on the device. The device must be current for Allocate.
  [[nodiscard]] absl::StatusOr<void*> Allocate(size_t bytes);
  void Free(void* memory, size_t bytes);
  [[nodiscard]] size_t memory_in_use() const { return in_use_.load(std::memory_order_relaxed); }
  // The smaller of what remains of the limit and the device's free memory.
  [[nodiscard]] size_t MemoryFree();

  // How often pageable memory was used because no pinned memory was available.
  [[nodiscard]] size_t pageable_fallbacks() const {
    return pageable_fallbacks_.load(std::memory_order_relaxed);
  }
  void CountPageableFallback() { pageable_fallbacks_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Device() = default;
  // Whether a call that needs only the context still works. Queued work may be running.
  [[nodiscard]] bool IsContextUsable() const;
  [[nodiscard]] size_t UnusedInPool();
  // Returns memory cached for reuse to the driver, all but keep_bytes.
  void TrimMemory(size_t keep_bytes);

  int ordinal_ = 0;
  DeviceProperties properties_;
  size_t memory_limit_bytes_ = 0;
  // Null where the driver has no memory pools (some Jetsons): plain allocations then.
  cudaMemPool_t pool_ = nullptr;
  // Orders allocations against each other; nothing is launched on it.
  cudaStream_t memory_stream_ = nullptr;
  std::atomic<size_t> in_use_{0};
  std::atomic<size_t> freed_{0};  // bytes since the cache was last checked for trimming
  std::atomic<size_t> pageable_fallbacks_{0};
  std::atomic<bool> healthy_{true};
  mutable absl::Mutex mutex_;
  std::string fault_ ABSL_GUARDED_BY(mutex_);  // the error that made it unhealthy
};

// Returns the status of a CUDA call where it is an error.
#define VOXLOC_CUDA_TRY(device, call, what)                                               \
  do {                                                                                    \
    if (absl::Status voxloc_status = (device).Check((call), what); !voxloc_status.ok()) { \
      return voxloc_status;                                                               \
    }                                                                                     \
  } while (false)

// Whether CUDA documents that the error ends the context ("the process must be terminated and
// relaunched"), or that it is a hardware fault that may have corrupted memory. Every other error
// concerns its call only.
[[nodiscard]] bool EndsContext(cudaError_t error);

// Returns the error of a call, where it is one, from a function that returns such errors.
#define VOXLOC_RETURN_IF_CUDA_ERROR(call)                                     \
  do {                                                                        \
    if (const cudaError_t error = (call); error != cudaSuccess) return error; \
  } while (false)

// The description and the name of the error, for messages.
[[nodiscard]] std::string Describe(cudaError_t error);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_DEVICE_H_
