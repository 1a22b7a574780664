// SPDX-License-Identifier: Apache-2.0
//
// Eigenvalues and eigenvectors of many symmetric 6x6 matrices at once, in double, by cuSOLVER: the
// information matrices of a batch of alignments, and the reference for the solvers in the kernels.
//
// Thread-safe; calls are serialised. Each uses the object's own high-priority stream and returns
// when its work is done. Device memory grows with the largest batch and is kept; cuSOLVER has more
// of its own, which the device's memory limit does not count.

#ifndef VOXLOC_CUDA_LINEAR_ALGEBRA_SYMMETRIC_EIGEN6_H_
#define VOXLOC_CUDA_LINEAR_ALGEBRA_SYMMETRIC_EIGEN6_H_

#include <cusolverDn.h>

#include <Eigen/Core>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/geometry/covariance.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

// cuSOLVER, loaded on first use (dlopen). With its dependencies it takes about a gigabyte, so the
// program is neither linked nor packaged with it.
//
// Thread-safe. Once loaded it stays until the program ends.

// The functions that are used, of the types that the toolkit's header gives them.
struct CusolverLibrary {
  decltype(&cusolverDnCreate) create = nullptr;
  decltype(&cusolverDnDestroy) destroy = nullptr;
  decltype(&cusolverDnSetStream) set_stream = nullptr;
  decltype(&cusolverDnCreateParams) create_params = nullptr;
  decltype(&cusolverDnDestroyParams) destroy_params = nullptr;
  decltype(&cusolverDnXsyevBatched_bufferSize) xsyev_batched_buffer_size = nullptr;
  decltype(&cusolverDnXsyevBatched) xsyev_batched = nullptr;
};

// The file's name: that of the major version whose header this build was compiled with.
[[nodiscard]] std::string CusolverFileName();

// Searches the system's library path, then /usr/local/cuda. FailedPrecondition names the library,
// the error and a remedy.
[[nodiscard]] absl::StatusOr<const CusolverLibrary*> LoadCusolver();

// As LoadCusolver, for a library of another name, and not cached.
[[nodiscard]] absl::StatusOr<CusolverLibrary> LoadCusolverFrom(const std::string& file_name);

struct Eigen6 {
  Eigen::Matrix<double, 6, 1> values;  // ascending
  Matrix6 vectors;                     // column i: the unit eigenvector of values[i]
};

class SymmetricEigenSolver6 {
 public:
  // Shares the device. FailedPrecondition: cuSOLVER is not available (see LoadCusolver).
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<SymmetricEigenSolver6>> Create(
      std::shared_ptr<Device> device);
  ~SymmetricEigenSolver6();
  SymmetricEigenSolver6(const SymmetricEigenSolver6&) = delete;
  SymmetricEigenSolver6& operator=(const SymmetricEigenSolver6&) = delete;

  // One result a matrix, in their order. Lower triangles are read, the rest is taken to mirror
  // them. InvalidArgument names the first matrix that is not finite; ResourceExhausted: no memory,
  // and later calls work; Unavailable: the device has failed.
  [[nodiscard]] absl::StatusOr<std::vector<Eigen6>> Decompose(absl::Span<const Matrix6> matrices);

 private:
  SymmetricEigenSolver6(std::shared_ptr<Device> device, const CusolverLibrary& library,
                        Stream stream)
      : device_(std::move(device)), library_(library), stream_(std::move(stream)) {}
  absl::Status Open();
  // Of matrices from number `first` on.
  absl::Status DecomposeBatch(absl::Span<const Matrix6> matrices, size_t first,
                              std::vector<Eigen6>& results) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Check(cusolverStatus_t status, absl::string_view what) const;

  const std::shared_ptr<Device> device_;
  const CusolverLibrary& library_;
  absl::Mutex mutex_;
  const Stream stream_;
  cusolverDnHandle_t handle_ ABSL_GUARDED_BY(mutex_) = nullptr;
  cusolverDnParams_t params_ ABSL_GUARDED_BY(mutex_) = nullptr;
  DeviceBuffer<double> matrices_ ABSL_GUARDED_BY(mutex_){device_};  // then their eigenvectors
  DeviceBuffer<double> values_ ABSL_GUARDED_BY(mutex_){device_};
  DeviceBuffer<int> info_ ABSL_GUARDED_BY(mutex_){device_};
  DeviceBuffer<std::byte> scratch_ ABSL_GUARDED_BY(mutex_){device_};
  std::vector<std::byte> host_scratch_ ABSL_GUARDED_BY(mutex_);
  std::vector<Matrix6> host_vectors_ ABSL_GUARDED_BY(mutex_);
  std::vector<Eigen::Matrix<double, 6, 1>> host_values_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> host_info_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_LINEAR_ALGEBRA_SYMMETRIC_EIGEN6_H_
