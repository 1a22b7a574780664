// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/cells_file.h"

#include <array>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/dataset/bag/byte_writer.h"
#include "clients/dataset/trajectory_file.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr char kCsvHead[] = "x,y,z,points,xx,xy,xz,yy,yz,zz,stage,cell_size_m,ix,iy,iz\n";

constexpr char kPlyProperties[] =
    "double x\ndouble y\ndouble z\nuint points\nfloat xx\nfloat xy\nfloat xz\nfloat yy\nfloat yz\n"
    "float zz\nuchar stage\nfloat cell_size_m";

// xx xy xz yy yz zz.
std::array<double, 6> UpperTriangle(const Eigen::Matrix3d& matrix) {
  return {matrix(0, 0), matrix(0, 1), matrix(0, 2), matrix(1, 1), matrix(1, 2), matrix(2, 2)};
}

std::string CsvCellLine(uint32_t stage, double cell_size_m, const MapCell& cell) {
  const auto numbers = [](const auto& values) {
    return absl::StrJoin(values, ",", [](std::string* out, double value) {
      absl::StrAppend(out, NumberText(value));
    });
  };
  const std::array<double, 3> mean = {cell.mean_map.x(), cell.mean_map.y(), cell.mean_map.z()};
  return absl::StrCat(numbers(mean), ",", cell.points, ",",
                      numbers(UpperTriangle(cell.covariance_map)), ",", stage, ",",
                      NumberText(cell_size_m), ",", cell.index.x(), ",", cell.index.y(), ",",
                      cell.index.z(), "\n");
}

std::string PlyVertex(uint32_t stage, double cell_size_m, const MapCell& cell) {
  bag::ByteWriter out;
  for (int axis = 0; axis < 3; ++axis) out.Write(cell.mean_map[axis]);
  out.Write(cell.points);
  for (const double value : UpperTriangle(cell.covariance_map)) {
    out.Write(static_cast<float>(value));
  }
  out.Write(static_cast<uint8_t>(stage));
  out.Write(static_cast<float>(cell_size_m));
  return out.Take();
}

}  // namespace

std::string CellsFile::ExtensionError(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".csv" || extension == ".ply") return "";
  return absl::StrCat(path, " must end in .csv or .ply (got '", extension, "')");
}

absl::StatusOr<std::unique_ptr<CellsFile>> CellsFile::Create(const std::string& path) {
  const bool is_ply = std::filesystem::path(path).extension() == ".ply";
  VOXLOC_ASSIGN_OR_RETURN(auto file, CountedFile::Create(path, [is_ply](uint64_t cells) {
                            return is_ply ? PlyHead("cells of a map", kPlyProperties, cells)
                                          : kCsvHead;
                          }));
  return std::unique_ptr<CellsFile>(new CellsFile(std::move(file), is_ply));
}

absl::Status CellsFile::Add(uint32_t stage, double cell_size_m, const MapCell& cell) {
  return file_->Add(is_ply_ ? PlyVertex(stage, cell_size_m, cell)
                            : CsvCellLine(stage, cell_size_m, cell));
}

}  // namespace voxloc::cli
