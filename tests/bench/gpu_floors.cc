// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/gpu_floors.h"

#if defined(VOXLOC_HAVE_CUDA)

#include <cuda_runtime_api.h>

#include <functional>

#include "absl/strings/str_cat.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/empty_kernel.h"

namespace voxloc::bench {
namespace {

constexpr size_t kScanBytes = 18'000;   // a scan of 1,500 points
constexpr size_t kResultBytes = 1'000;  // an answer
constexpr size_t kLargeBytes = size_t{256} << 20;
constexpr int kShortRepeats = 1000;
constexpr int kLongRepeats = 20;

// Memory on both sides and a stream, freed with it.
struct Room {
  cudaStream_t stream = nullptr;
  void* device = nullptr;
  void* device_too = nullptr;
  void* pinned = nullptr;
  std::vector<char> pageable = std::vector<char>(kLargeBytes);

  Room() = default;
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() {
    (void)cudaFreeHost(pinned);
    (void)cudaFree(device_too);
    (void)cudaFree(device);
    if (stream != nullptr) (void)cudaStreamDestroy(stream);
  }
  cudaError_t Open(int ordinal) {
    for (const auto& step : std::vector<std::function<cudaError_t()>>{
             [&] { return cudaSetDevice(ordinal); },
             [&] { return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); },
             [&] { return cudaMalloc(&device, kLargeBytes); },
             [&] { return cudaMalloc(&device_too, kLargeBytes); },
             [&] { return cudaMallocHost(&pinned, kLargeBytes); }}) {
      if (const cudaError_t error = step(); error != cudaSuccess) return error;
    }
    return cudaSuccess;
  }
};

struct FloorCase {
  const char* name;
  double bytes;
  int repeats;
  std::function<cudaError_t()> queue;
};

}  // namespace

absl::StatusOr<std::vector<Floor>> MeasureFloors(int device) {
  Room room;
  const auto failed = [](cudaError_t error) {
    return absl::InternalError(absl::StrCat("measuring floors: ", cudaGetErrorString(error)));
  };
  if (const cudaError_t error = room.Open(device); error != cudaSuccess) return failed(error);
  const auto copy = [&](void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, bytes, kind, room.stream);
  };
  const std::vector<FloorCase> cases = {
      {"launch", 0.0, kShortRepeats, [&] { return LaunchEmptyKernel(room.stream); }},
      {"18 kB up, launch, 1 kB down", 0.0, kShortRepeats,
       [&] {
         cudaError_t error = copy(room.device, room.pinned, kScanBytes, cudaMemcpyHostToDevice);
         if (error == cudaSuccess) error = LaunchEmptyKernel(room.stream);
         if (error != cudaSuccess) return error;
         return copy(room.pinned, room.device, kResultBytes, cudaMemcpyDeviceToHost);
       }},
      {"256 MiB up, pinned", static_cast<double>(kLargeBytes), kLongRepeats,
       [&] { return copy(room.device, room.pinned, kLargeBytes, cudaMemcpyHostToDevice); }},
      {"256 MiB up, pageable", static_cast<double>(kLargeBytes), kLongRepeats,
       [&] {
         return copy(room.device, room.pageable.data(), kLargeBytes, cudaMemcpyHostToDevice);
       }},
      {"256 MiB down, pinned", static_cast<double>(kLargeBytes), kLongRepeats,
       [&] { return copy(room.pinned, room.device, kLargeBytes, cudaMemcpyDeviceToHost); }},
      // Read and written: twice the bytes.
      {"256 MiB within the device", 2.0 * static_cast<double>(kLargeBytes), kLongRepeats,
       [&] { return copy(room.device_too, room.device, kLargeBytes, cudaMemcpyDeviceToDevice); }},
  };
  std::vector<Floor> floors;
  for (const FloorCase& one : cases) {
    std::vector<double> ms;
    for (int i = 0; i <= one.repeats; ++i) {
      cudaError_t error = cudaSuccess;
      const double took = TimeMs([&] {
        error = one.queue();
        if (error == cudaSuccess) error = cudaStreamSynchronize(room.stream);
      });
      if (error != cudaSuccess) return failed(error);
      if (i > 0) ms.push_back(took);
    }
    floors.push_back({one.name, Summarize(ms), one.bytes});
  }
  return floors;
}

}  // namespace voxloc::bench

#else

namespace voxloc::bench {

absl::StatusOr<std::vector<Floor>> MeasureFloors(int /*device*/) {
  return absl::UnimplementedError("this build has no CUDA");
}

}  // namespace voxloc::bench

#endif
