// SPDX-License-Identifier: Apache-2.0
//
// Cloud files, a target for each format.

#include "core/cloud/io/cloud_file.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {
namespace {

absl::Status FuzzCloud(CloudFormat format, absl::string_view bytes) {
  const absl::StatusOr<PointCloud> cloud = ParseCloud(format, bytes, "fuzz");
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

}  // namespace

absl::Status FuzzCloudPcd(absl::string_view bytes) { return FuzzCloud(CloudFormat::kPcd, bytes); }

absl::Status FuzzCloudPly(absl::string_view bytes) { return FuzzCloud(CloudFormat::kPly, bytes); }

absl::Status FuzzCloudLas(absl::string_view bytes) { return FuzzCloud(CloudFormat::kLas, bytes); }

absl::Status FuzzCloudNpy(absl::string_view bytes) { return FuzzCloud(CloudFormat::kNpy, bytes); }

absl::Status FuzzCloudText(absl::string_view bytes) { return FuzzCloud(CloudFormat::kText, bytes); }

absl::Status FuzzCloudKittiBin(absl::string_view bytes) {
  return FuzzCloud(CloudFormat::kKittiBin, bytes);
}

}  // namespace voxloc
