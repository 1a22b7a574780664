// SPDX-License-Identifier: Apache-2.0
//
// Cloud files: compiled once for each format, which VOXLOC_FUZZ_FORMAT names.

#include "core/cloud/io/cloud_file.h"
#include "tests/fuzz/fuzz_target.h"

namespace voxloc {

absl::Status FuzzTarget(absl::string_view bytes) {
  const absl::StatusOr<PointCloud> cloud =
      ParseCloud(CloudFormat::VOXLOC_FUZZ_FORMAT, bytes, "fuzz");
  if (!cloud.ok()) return cloud.status();
  // A byte of LZF stands for 88 at most.
  FuzzRequire(cloud->size() <= 88 * bytes.size(), "a cloud has no more points than its file can");
  FuzzRequire(cloud->y.size() == cloud->size() && cloud->z.size() == cloud->size(),
              "every point has three coordinates");
  FuzzRequire(!cloud->has_intensity() || cloud->intensity.size() == cloud->size(),
              "every point has an intensity, or none");
  FuzzRequire(cloud->origin.allFinite(), "an origin is finite");
  return absl::OkStatus();
}

}  // namespace voxloc
