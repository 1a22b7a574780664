// SPDX-License-Identifier: Apache-2.0

#include "cuda/linear_algebra/symmetric_eigen6.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace voxloc::cuda {
namespace {

// Where NVIDIA's packages put the libraries without telling the loader.
constexpr char kToolkitFolder[] = "/usr/local/cuda/lib64/";

std::string LastLoaderError() {
  const char* const error = dlerror();
  return error == nullptr ? "unknown error of the loader" : error;
}

absl::Status Unusable(const std::string& file_name, const std::string& why) {
  return absl::FailedPreconditionError(
      absl::StrCat("cuSOLVER cannot be used: ", file_name, ": ", why,
                   "; install the CUDA toolkit's cuSOLVER (package libcusolver) or put its folder "
                   "into LD_LIBRARY_PATH"));
}

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::string CusolverFileName() { return absl::StrCat("libcusolver.so.", CUSOLVER_VER_MAJOR); }

absl::StatusOr<CusolverLibrary> LoadCusolverFrom(const std::string& file_name) {
  void* library = dlopen(file_name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    // The first error says more: that the name was not found, or what the file lacks.
    const std::string why = LastLoaderError();
    library = dlopen(absl::StrCat(kToolkitFolder, file_name).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return Unusable(file_name, why);
  }
  CusolverLibrary found;
  const bool complete =
      Find(library, "cusolverDnCreate", found.create) &&
      Find(library, "cusolverDnDestroy", found.destroy) &&
      Find(library, "cusolverDnSetStream", found.set_stream) &&
      Find(library, "cusolverDnCreateParams", found.create_params) &&
      Find(library, "cusolverDnDestroyParams", found.destroy_params) &&
      Find(library, "cusolverDnXsyevBatched_bufferSize", found.xsyev_batched_buffer_size) &&
      Find(library, "cusolverDnXsyevBatched", found.xsyev_batched);
  if (!complete) {
    const absl::Status status = Unusable(file_name, LastLoaderError());
    (void)dlclose(library);
    return status;
  }
  return found;
}

absl::StatusOr<const CusolverLibrary*> LoadCusolver() {
  static const auto& library =
      *new absl::StatusOr<CusolverLibrary>(LoadCusolverFrom(CusolverFileName()));
  if (!library.ok()) return library.status();
  return &*library;
}

namespace {

constexpr int64_t kSize = 6;
constexpr size_t kEntries = 36;
// Matrices of one call of cuSOLVER, which fails from 65,536 on; 12 MB of device memory.
constexpr size_t kMaxBatch = size_t{1} << 15;

static_assert(sizeof(Matrix6) == kEntries * sizeof(double), "a matrix is 36 doubles in a row");

absl::Status CheckFinite(absl::Span<const Matrix6> matrices) {
  for (size_t i = 0; i < matrices.size(); ++i) {
    if (matrices[i].allFinite()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("matrix ", i, " of ", matrices.size(), " has an entry that is not finite"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SymmetricEigenSolver6>> SymmetricEigenSolver6::Create(
    std::shared_ptr<Device> device) {
  VOXLOC_ASSIGN_OR_RETURN(const CusolverLibrary* const library, LoadCusolver());
  VOXLOC_TRY(device->MakeCurrent());
  VOXLOC_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device, Priority::kHigh));
  std::unique_ptr<SymmetricEigenSolver6> solver(
      new SymmetricEigenSolver6(std::move(device), *library, std::move(stream)));
  VOXLOC_TRY(solver->Open());
  return solver;
}

SymmetricEigenSolver6::~SymmetricEigenSolver6() {
  if (!device_->MakeCurrent().ok()) return;
  (void)stream_.Synchronize();
  if (params_ != nullptr) (void)library_.destroy_params(params_);
  if (handle_ != nullptr) (void)library_.destroy(handle_);
}

absl::Status SymmetricEigenSolver6::Open() {
  absl::MutexLock lock(&mutex_);
  VOXLOC_TRY(Check(library_.create(&handle_), "opening cuSOLVER"));
  VOXLOC_TRY(Check(library_.set_stream(handle_, stream_.get()), "giving cuSOLVER a stream"));
  return Check(library_.create_params(&params_), "setting up cuSOLVER");
}

absl::StatusOr<std::vector<Eigen6>> SymmetricEigenSolver6::Decompose(
    absl::Span<const Matrix6> matrices) {
  VOXLOC_TRY(CheckFinite(matrices));
  std::vector<Eigen6> results(matrices.size());
  absl::MutexLock lock(&mutex_);
  VOXLOC_TRY(device_->MakeCurrent());
  for (size_t begin = 0; begin < matrices.size(); begin += kMaxBatch) {
    const absl::Status status = DecomposeBatch(matrices.subspan(begin, kMaxBatch), begin, results);
    if (status.ok()) continue;
    // What was queued must not outlive this call: it uses the caller's memory.
    (void)stream_.Synchronize();
    return status;
  }
  return results;
}

absl::Status SymmetricEigenSolver6::DecomposeBatch(absl::Span<const Matrix6> matrices, size_t first,
                                                   std::vector<Eigen6>& results) {
  const size_t count = matrices.size();
  const auto batch = static_cast<int64_t>(count);
  VOXLOC_TRY(matrices_.Reserve(count * kEntries));
  VOXLOC_TRY(values_.Reserve(count * kSize));
  VOXLOC_TRY(info_.Reserve(count));
  size_t device_bytes = 0;
  size_t host_bytes = 0;
  VOXLOC_TRY(Check(library_.xsyev_batched_buffer_size(
                       handle_, params_, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, kSize,
                       CUDA_R_64F, matrices_.data(), kSize, CUDA_R_64F, values_.data(), CUDA_R_64F,
                       &device_bytes, &host_bytes, batch),
                   "sizing an eigen decomposition"));
  VOXLOC_TRY(scratch_.Reserve(std::max<size_t>(device_bytes, 1)));
  host_scratch_.resize(std::max(host_scratch_.size(), host_bytes));

  VOXLOC_TRY(stream_.Upload(matrices_.data(), matrices.data()->data(), count * kEntries,
                            "copying matrices to the device"));
  VOXLOC_TRY(Check(
      library_.xsyev_batched(handle_, params_, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER,
                             kSize, CUDA_R_64F, matrices_.data(), kSize, CUDA_R_64F, values_.data(),
                             CUDA_R_64F, scratch_.data(), device_bytes, host_scratch_.data(),
                             host_bytes, info_.data(), batch),
      "decomposing matrices"));
  host_vectors_.resize(count);
  host_values_.resize(count);
  host_info_.resize(count);
  constexpr absl::string_view kWhat = "copying a decomposition from the device";
  VOXLOC_TRY(
      stream_.Download(host_vectors_.data()->data(), matrices_.data(), count * kEntries, kWhat));
  VOXLOC_TRY(stream_.Download(host_values_.data()->data(), values_.data(), count * kSize, kWhat));
  VOXLOC_TRY(stream_.Download(host_info_.data(), info_.data(), count, kWhat));
  VOXLOC_TRY(stream_.Synchronize());
  for (size_t i = 0; i < count; ++i) {
    if (host_info_[i] != 0) {
      return absl::InternalError(absl::StrCat("cuSOLVER did not decompose matrix ", first + i,
                                              " (info ", host_info_[i], ")"));
    }
    results[first + i] = {host_values_[i], host_vectors_[i]};
  }
  return absl::OkStatus();
}

absl::Status SymmetricEigenSolver6::Check(cusolverStatus_t status, absl::string_view what) const {
  if (status == CUSOLVER_STATUS_SUCCESS) return absl::OkStatus();
  // The library keeps its own record of errors; one that ended the context shows here.
  VOXLOC_TRY(stream_.Synchronize());
  const std::string message =
      absl::StrCat(what, " on CUDA device ", device_->ordinal(), ": cuSOLVER's status ", status);
  if (status == CUSOLVER_STATUS_ALLOC_FAILED) return absl::ResourceExhaustedError(message);
  return absl::InternalError(message);
}

}  // namespace voxloc::cuda
