// SPDX-License-Identifier: Apache-2.0

#include "cuda/runtime/device.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace voxloc::cuda {
namespace {

// Freed memory is cached for the next tile or map up to this size; beyond it the cache is trimmed
// to half.
constexpr size_t kMaxCachedBytes = size_t{128} << 20;

}  // namespace

int CountDevices(std::string* no_gpu_reason) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  (void)cudaGetLastError();
  if (no_gpu_reason != nullptr) {
    *no_gpu_reason = error == cudaSuccess ? "the driver shows no device" : Describe(error);
  }
  return 0;
}

absl::StatusOr<std::shared_ptr<Device>> Device::Open(const DeviceOptions& options) {
  std::string no_gpu_reason;
  const int count = CountDevices(&no_gpu_reason);
  if (count == 0) return absl::NotFoundError(absl::StrCat("no CUDA device: ", no_gpu_reason));
  if (options.ordinal < 0 || options.ordinal >= count) {
    return absl::NotFoundError(absl::StrCat("no CUDA device ", options.ordinal, "; there are ",
                                            count, ", counted from 0"));
  }
  std::shared_ptr<Device> device(new Device());
  device->ordinal_ = options.ordinal;
  device->memory_limit_bytes_ = options.memory_limit_bytes;
  VOXLOC_TRY(device->MakeCurrent());
  cudaDeviceProp properties{};
  VOXLOC_CUDA_TRY(*device, cudaGetDeviceProperties(&properties, options.ordinal),
                  "reading the device's properties");
  device->properties_ = {properties.name, properties.major, properties.minor,
                         properties.multiProcessorCount, properties.totalGlobalMem};
  VOXLOC_CUDA_TRY(*device,
                  cudaStreamCreateWithFlags(&device->memory_stream_, cudaStreamNonBlocking),
                  "creating a stream");
  int has_pools = 0;
  VOXLOC_CUDA_TRY(
      *device, cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, options.ordinal),
      "asking for memory pools");
  if (has_pools != 0) {
    cudaMemPoolProps pool{};
    pool.allocType = cudaMemAllocationTypePinned;
    pool.location = {cudaMemLocationTypeDevice, options.ordinal};
    VOXLOC_CUDA_TRY(*device, cudaMemPoolCreate(&device->pool_, &pool), "creating a memory pool");
    // The pool keeps all that is freed; Free trims it.
    uint64_t keep_all = UINT64_MAX;
    VOXLOC_CUDA_TRY(
        *device, cudaMemPoolSetAttribute(device->pool_, cudaMemPoolAttrReleaseThreshold, &keep_all),
        "setting up the memory pool");
  }
  return device;
}

Device::~Device() {
  if (cudaSetDevice(ordinal_) != cudaSuccess) return;
  if (pool_ != nullptr) (void)cudaMemPoolDestroy(pool_);
  if (memory_stream_ != nullptr) (void)cudaStreamDestroy(memory_stream_);
  (void)cudaGetLastError();
}

absl::Status Device::MakeCurrent() {
  if (!healthy()) {
    absl::MutexLock lock(&mutex_);
    return absl::UnavailableError(
        absl::StrCat("CUDA device ", ordinal_, " is out of service since an error: ", fault_));
  }
  return Check(cudaSetDevice(ordinal_), "selecting the device");
}

absl::Status Device::Check(cudaError_t error, absl::string_view what) {
  if (error == cudaSuccess) return absl::OkStatus();
  (void)cudaGetLastError();  // clears it, so that the next call does not see it
  const std::string message =
      absl::StrCat(what, " on CUDA device ", ordinal_, ": ", Describe(error));
  if (error == cudaErrorMemoryAllocation) return absl::ResourceExhaustedError(message);
  if (!EndsContext(error) && IsContextUsable()) return absl::InternalError(message);
  absl::MutexLock lock(&mutex_);
  if (fault_.empty()) fault_ = message;
  healthy_.store(false, std::memory_order_release);
  return absl::UnavailableError(message);
}

bool Device::IsContextUsable() const {
  if (memory_stream_ == nullptr) return true;
  const cudaError_t error = cudaStreamQuery(memory_stream_);
  if (error == cudaSuccess || error == cudaErrorNotReady) return true;
  (void)cudaGetLastError();
  return false;
}

absl::StatusOr<void*> Device::Allocate(size_t bytes) {
  const size_t before = in_use_.fetch_add(bytes, std::memory_order_relaxed);
  auto uncount = absl::MakeCleanup([&] { in_use_.fetch_sub(bytes, std::memory_order_relaxed); });
  if (memory_limit_bytes_ != 0 &&
      bytes > memory_limit_bytes_ - std::min(before, memory_limit_bytes_)) {
    return absl::ResourceExhaustedError(absl::StrCat("allocating ", bytes, " bytes on CUDA device ",
                                                     ordinal_, ": ", before, " of the allowed ",
                                                     memory_limit_bytes_, " bytes are in use"));
  }
  void* memory = nullptr;
  absl::Status status;
  const std::string what = absl::StrCat("allocating ", bytes, " bytes");
  if (pool_ == nullptr) {
    status = Check(cudaMalloc(&memory, bytes), what);
  } else {
    status = Check(cudaMallocFromPoolAsync(&memory, bytes, pool_, memory_stream_), what);
    // From here on the memory may be used on any stream.
    if (status.ok()) status = Check(cudaStreamSynchronize(memory_stream_), what);
  }
  if (!status.ok()) return status;
  std::move(uncount).Cancel();
  return memory;
}

void Device::Free(void* memory, size_t bytes) {
  if (memory == nullptr) return;
  in_use_.fetch_sub(bytes, std::memory_order_relaxed);
  if (!healthy() || cudaSetDevice(ordinal_) != cudaSuccess) return;
  const cudaError_t error =
      pool_ == nullptr ? cudaFree(memory) : cudaFreeAsync(memory, memory_stream_);
  if (!Check(error, "freeing memory").ok() || pool_ == nullptr) return;
  if (freed_.fetch_add(bytes, std::memory_order_relaxed) + bytes < kMaxCachedBytes) return;
  freed_.store(0, std::memory_order_relaxed);
  if (UnusedInPool() > kMaxCachedBytes) TrimMemory(kMaxCachedBytes / 2);
}

size_t Device::UnusedInPool() {
  uint64_t reserved = 0;
  uint64_t used = 0;
  const bool known =
      pool_ != nullptr &&
      cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved) == cudaSuccess &&
      cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used) == cudaSuccess;
  return known && reserved > used ? reserved - used : 0;
}

size_t Device::MemoryFree() {
  size_t free = 0;
  size_t total = 0;
  if (!MakeCurrent().ok() || !Check(cudaMemGetInfo(&free, &total), "asking for free memory").ok()) {
    return 0;
  }
  free += UnusedInPool();
  if (memory_limit_bytes_ == 0) return free;
  return std::min(free, memory_limit_bytes_ - std::min(memory_in_use(), memory_limit_bytes_));
}

void Device::TrimMemory(size_t keep_bytes) {
  if (!Check(cudaStreamSynchronize(memory_stream_), "trimming memory").ok()) return;
  (void)Check(cudaMemPoolTrimTo(pool_, in_use_.load(std::memory_order_relaxed) + keep_bytes),
              "trimming memory");
}

bool EndsContext(cudaError_t error) {
  switch (error) {
    // Left in "an inconsistent state": every later call returns the same error.
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorContained:
    case cudaErrorExternalDevice:
    // "The process must be terminated and relaunched."
    case cudaErrorAssert:
    case cudaErrorMpsClientTerminated:
    // Data on the device or on the way between devices is lost.
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
      return true;
    default:
      return false;
  }
}

std::string Describe(cudaError_t error) {
  return absl::StrCat(cudaGetErrorString(error), " (", cudaGetErrorName(error), ")");
}

}  // namespace voxloc::cuda
