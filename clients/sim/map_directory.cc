// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/map_directory.h"

#include <cmath>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/sim/parallel.h"
#include "clients/sim/text_file.h"
#include "core/cloud/io/cloud_file.h"

namespace voxloc::sim {

absl::Status WriteMapDirectory(const std::string& directory, const TileSpill& tiles,
                               const Eigen::Vector3d& origin, int tile_size_m, int threads,
                               const std::function<void(size_t done, size_t total)>& progress) {
  const std::string cloud_directory = directory + "/pointcloud_map.pcd";
  std::error_code error;
  std::filesystem::create_directories(cloud_directory, error);
  if (error) {
    return absl::InternalError(absl::StrCat(cloud_directory, ": ", error.message()));
  }

  std::string metadata =
      absl::StrCat("x_resolution: ", tile_size_m, ".0\ny_resolution: ", tile_size_m, ".0\n");
  std::vector<std::string> names;
  for (const TileIndex& index : tiles.tiles()) {
    const TileCloud tile = tiles.Describe(index);
    const std::string x = absl::StrCat(std::llround(tile.bounds.min.x()));
    const std::string y = absl::StrCat(std::llround(tile.bounds.min.y()));
    names.push_back(absl::StrCat(x, "_", y, ".pcd"));
    absl::StrAppend(&metadata, names.back(), ": [", x, ", ", y, "]\n");
  }

  std::mutex mutex;
  absl::Status status;
  size_t done = 0;
  ParallelFor(names.size(), threads, [&](size_t i) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!status.ok()) return;
    }
    // All tiles around the map's own origin, which decides the files' precision.
    PointCloud cloud;
    cloud.origin = origin;
    const absl::StatusOr<TileCloud> tile = tiles.Load(tiles.tiles()[i]);
    absl::Status written = tile.status();
    if (tile.ok()) {
      Append(tile->cloud, cloud);
      written = WritePcd(absl::StrCat(cloud_directory, "/", names[i]), cloud);
    }
    const std::lock_guard<std::mutex> lock(mutex);
    status.Update(written);
    ++done;
    if (progress != nullptr && written.ok()) progress(done, names.size());
  });
  if (!status.ok()) return status;
  return WriteTextFile(directory + "/pointcloud_map_metadata.yaml", metadata);
}

}  // namespace voxloc::sim
