// SPDX-License-Identifier: Apache-2.0

#include "cuda/search/device_bound_grid.h"

#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

absl::StatusOr<std::shared_ptr<const DeviceBoundGrid>> DeviceBoundGrid::Upload(
    const std::shared_ptr<Device>& device, const BoundGrid& grid) {
  // Kernels count words in 32 bits.
  const size_t count = grid.words().size();
  if (count > size_t{std::numeric_limits<int32_t>::max()}) {
    return absl::ResourceExhaustedError(absl::StrCat("a search grid must have at most ",
                                                     std::numeric_limits<int32_t>::max(),
                                                     " words (got ", count, ")"));
  }
  VOXLOC_TRY(device->MakeCurrent());
  std::shared_ptr<DeviceBoundGrid> resident(new DeviceBoundGrid(device));
  resident->shape_ = grid.shape();
  for (size_t i = 0; i < grid.levels(); ++i) resident->levels_.push_back(grid.level(i));
  VOXLOC_TRY(resident->words_.ReserveExactly(count));
  VOXLOC_ASSIGN_OR_RETURN(const Stream stream, Stream::Create(device, Priority::kLow));
  const absl::Status copied =
      stream.Upload(resident->words_.data(), grid.words().data(), count, "uploading a search grid");
  VOXLOC_TRY(stream.Synchronize());
  VOXLOC_TRY(copied);
  return resident;
}

}  // namespace voxloc::cuda
