// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/cells_file.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/dataset/bag/byte_writer.h"
#include "clients/dataset/trajectory_file.h"
#include "clients/dataset/write_error.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr char kCsvHead[] = "x,y,z,points,xx,xy,xz,yy,yz,zz,stage,cell_size_m,ix,iy,iz\n";

// Digits of the largest count.
constexpr size_t kCountDigits = 20;

// As long for every count, which is known at the end alone: a comment fills the line.
std::string PlyHead(uint64_t cells) {
  const std::string count = absl::StrCat(cells);
  return absl::StrCat("ply\nformat binary_little_endian 1.0\ncomment cells of a map",
                      std::string(kCountDigits - count.size(), ' '), "\nelement vertex ", count,
                      "\nproperty double x\nproperty double y\nproperty double z\n"
                      "property uint points\nproperty float xx\nproperty float xy\n"
                      "property float xz\nproperty float yy\nproperty float yz\n"
                      "property float zz\nproperty uchar stage\nproperty float cell_size_m\n"
                      "end_header\n");
}

absl::Status WriteError(const std::string& path) {
  return absl::InternalError(WriteErrorText(path, errno));
}

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
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return WriteError(path);
  const bool is_ply = std::filesystem::path(path).extension() == ".ply";
  std::unique_ptr<CellsFile> cells(new CellsFile(path, file, is_ply));
  VOXLOC_TRY(cells->Put(is_ply ? PlyHead(0) : kCsvHead));
  return cells;
}

CellsFile::CellsFile(std::string path, std::FILE* file, bool is_ply)
    : path_(std::move(path)), file_(file), is_ply_(is_ply) {}

CellsFile::~CellsFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (!complete_) std::remove(path_.c_str());
}

absl::Status CellsFile::Put(absl::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size()) return absl::OkStatus();
  return WriteError(path_);
}

absl::Status CellsFile::Add(uint32_t stage, double cell_size_m, const MapCell& cell) {
  ++cells_;
  return Put(is_ply_ ? PlyVertex(stage, cell_size_m, cell) : CsvCellLine(stage, cell_size_m, cell));
}

absl::Status CellsFile::Close() {
  if (is_ply_) {
    std::rewind(file_);
    VOXLOC_TRY(Put(PlyHead(cells_)));
  }
  if (std::fclose(std::exchange(file_, nullptr)) != 0) return WriteError(path_);
  complete_ = true;
  return absl::OkStatus();
}

}  // namespace voxloc::cli
