// SPDX-License-Identifier: Apache-2.0
//
// One libFuzzer program per cloud format: any bytes must give a cloud or a Status.

#include <cstddef>
#include <cstdint>

#include "core/cloud/io/cloud_file.h"

namespace {

#if defined(VOXLOC_FUZZ_PCD)
constexpr voxloc::CloudFormat kFormat = voxloc::CloudFormat::kPcd;
#elif defined(VOXLOC_FUZZ_PLY)
constexpr voxloc::CloudFormat kFormat = voxloc::CloudFormat::kPly;
#else
constexpr voxloc::CloudFormat kFormat = voxloc::CloudFormat::kKittiBin;
#endif

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<voxloc::PointCloud> cloud = voxloc::ParseCloud(kFormat, bytes, "fuzz");
  // A cloud cannot have more points than its file has bytes, but for LZF's 88 bytes a byte.
  if (cloud.ok() && cloud->size() > 88 * size) __builtin_trap();
  return 0;
}
