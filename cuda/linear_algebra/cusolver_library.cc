// SPDX-License-Identifier: Apache-2.0

#include "cuda/linear_algebra/cusolver_library.h"

#include <dlfcn.h>

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

}  // namespace voxloc::cuda
