// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/changed_cubes_file.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/map/cells_file.h"
#include "clients/cli/output/counted_file.h"
#include "clients/dataset/bag/byte_writer.h"
#include "core/status/try.h"

namespace voxloc::cli {

std::string ChangedCubesExtensionError(const std::string& path) {
  return CellsFile::ExtensionError(path);
}

absl::Status WriteChangedCubes(const std::string& path, const std::vector<ChangedCube>& cubes) {
  const bool is_ply = std::filesystem::path(path).extension() == ".ply";
  VOXLOC_ASSIGN_OR_RETURN(
      const auto file, CountedFile::Create(path, [&](uint64_t count) {
        return is_ply ? PlyHead("cubes that changed",
                                "double x\ndouble y\ndouble z\nuchar red\nuchar green\nuchar "
                                "blue\nuint points",
                                count)
                      : "x,y,z,points,kind\n";
      }));
  for (const ChangedCube& cube : cubes) {
    if (is_ply) {
      bag::ByteWriter vertex;
      for (int axis = 0; axis < 3; ++axis) vertex.Write(cube.mean_map[axis]);
      vertex.Write(static_cast<uint8_t>(cube.came ? 0 : 220));
      vertex.Write(static_cast<uint8_t>(cube.came ? 180 : 0));
      vertex.Write(uint8_t{0});
      vertex.Write(static_cast<uint32_t>(cube.points));
      VOXLOC_TRY(file->Add(vertex.Take()));
    } else {
      VOXLOC_TRY(
          file->Add(absl::StrFormat("%.3f,%.3f,%.3f,%d,%s\n", cube.mean_map.x(), cube.mean_map.y(),
                                    cube.mean_map.z(), cube.points, cube.came ? "came" : "went")));
    }
  }
  return file->Close();
}

}  // namespace voxloc::cli
