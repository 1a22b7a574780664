// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/tile_spill.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

constexpr double kMinTileSize_m = 1.0;
constexpr double kMaxTileSize_m = 1e6;
constexpr double kMaxCoordinate_m = 1e9;

// Millimetres at most: "-20", "12.5".
std::string MetresText(double metres) {
  std::string text = absl::StrFormat("%.3f", metres);
  text.erase(text.find_last_not_of('0') + 1);
  return std::string(absl::StripSuffix(text, "."));
}

constexpr size_t kPointFloats = 3;
constexpr size_t kPointBytes = kPointFloats * sizeof(float);

absl::Status FileError(const std::string& directory, absl::string_view action, int error) {
  const std::string message =
      absl::StrCat(directory, ": cannot ", action,
                   " a temporary file: ", std::generic_category().message(error));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return absl::ResourceExhaustedError(message);
  }
  return error == ENOENT ? absl::NotFoundError(message) : absl::UnavailableError(message);
}

absl::StatusOr<std::string> DirectoryOf(const std::string& given) {
  if (!given.empty()) return given;
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::temp_directory_path(error);
  if (error) {
    return absl::NotFoundError(
        absl::StrCat("there is no directory for temporary files: ", error.message()));
  }
  return directory.string();
}

absl::Status WriteAt(const std::string& directory, int descriptor, const std::vector<float>& values,
                     uint64_t offset) {
  const char* bytes = reinterpret_cast<const char*>(values.data());
  size_t left = values.size() * sizeof(float);
  while (left > 0) {
    const ssize_t written = ::pwrite(descriptor, bytes, left, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError(directory, "write", errno);
    bytes += written;
    offset += static_cast<uint64_t>(written);
    left -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TileGrid> TileGrid::Create(double tile_size_m) {
  if (!(tile_size_m >= kMinTileSize_m && tile_size_m <= kMaxTileSize_m)) {
    return absl::InvalidArgumentError(absl::StrCat("the tile size must be from ", kMinTileSize_m,
                                                   " to ", kMaxTileSize_m, " m (got ", tile_size_m,
                                                   ")"));
  }
  return TileGrid(tile_size_m);
}

bool TileGrid::IndexOf(const Eigen::Vector3d& point, TileIndex* index) const {
  if (point.head<2>().cwiseAbs().maxCoeff() > kMaxCoordinate_m) return false;
  *index = {static_cast<int64_t>(std::floor(point.x() / tile_size_m_)),
            static_cast<int64_t>(std::floor(point.y() / tile_size_m_))};
  return true;
}

TileCloud TileGrid::EmptyTile(const TileIndex& index, double origin_z_m) const {
  TileCloud tile;
  tile.cloud.origin = OriginOf(index, origin_z_m);
  tile.bounds.min = tile.cloud.origin.head<2>();
  tile.bounds.max = tile.bounds.min.array() + tile_size_m_;
  tile.id =
      absl::StrCat("x", MetresText(tile.bounds.min.x()), "_y", MetresText(tile.bounds.min.y()));
  return tile;
}

absl::Status TileRangeError(uint64_t point_number, const Eigen::Vector3d& point) {
  return absl::InvalidArgumentError(absl::StrCat(
      "points must be at most ", kMaxCoordinate_m, " m from zero in x and y (got point ",
      point_number, " at x ", point.x(), " m, y ", point.y(), " m)"));
}

absl::StatusOr<TileSpill> TileSpill::Create(const Options& options) {
  VOXLOC_ASSIGN_OR_RETURN(const TileGrid grid, TileGrid::Create(options.tile_size_m));
  VOXLOC_ASSIGN_OR_RETURN(const std::string directory, DirectoryOf(options.directory));
  std::string path = absl::StrCat(directory, "/voxloc-tiles-XXXXXX");
  Descriptor descriptor(::mkostemp(path.data(), O_CLOEXEC));
  if (descriptor.id < 0) return FileError(directory, "create", errno);
  ::unlink(path.c_str());
  return TileSpill(grid, directory, std::move(descriptor), options.buffer_bytes);
}

TileSpill::Descriptor::~Descriptor() {
  if (id >= 0) ::close(id);
}

absl::Status TileSpill::Add(const PointCloud& piece) {
  if (piece.empty()) return absl::OkStatus();
  if (!origin_z_m_.has_value()) origin_z_m_ = piece.origin.z();
  buffer_.reserve(max_buffered_);
  // Neighbours mostly lie in the same tile.
  std::optional<TileIndex> last;
  uint32_t position = 0;
  Eigen::Vector3d shift = Eigen::Vector3d::Zero();
  for (size_t i = 0; i < piece.size(); ++i) {
    if (!piece.IsFinite(i)) {
      ++points_not_finite_;
      continue;
    }
    TileIndex index;
    if (!grid_.IndexOf(piece.Point(i), &index)) {
      return TileRangeError(points_ + points_not_finite_, piece.Point(i));
    }
    if (index != last) {
      last = index;
      position = positions_.emplace(index, static_cast<uint32_t>(runs_.size())).first->second;
      if (position == runs_.size()) runs_.emplace_back();
      shift = piece.origin - grid_.OriginOf(index, *origin_z_m_);
    }
    const Eigen::Vector3f offset = (shift + piece.Offset(i).cast<double>()).cast<float>();
    buffer_.push_back({position, {offset.x(), offset.y(), offset.z()}});
    ++points_;
    if (buffer_.size() < max_buffered_) continue;
    VOXLOC_TRY(FlushBuffer());
  }
  return absl::OkStatus();
}

absl::Status TileSpill::FlushBuffer() {
  // Tile after tile, the points of each in their order.
  std::vector<size_t> ends(runs_.size() + 1, 0);  // at first, of each tile the number of its points
  for (const BufferedPoint& point : buffer_) ++ends[point.tile + 1];
  for (size_t tile = 0; tile < runs_.size(); ++tile) {
    const uint64_t count = ends[tile + 1];
    if (count > 0) runs_[tile].push_back({file_bytes_ + ends[tile] * kPointBytes, count});
    ends[tile + 1] += ends[tile];
  }
  std::vector<float> sorted(buffer_.size() * kPointFloats);
  for (const BufferedPoint& point : buffer_) {
    std::copy(point.offset.begin(), point.offset.end(), &sorted[ends[point.tile]++ * kPointFloats]);
  }
  buffer_.clear();
  const uint64_t offset = file_bytes_;
  file_bytes_ += sorted.size() * sizeof(float);
  return WriteAt(directory_, descriptor_.id, sorted, offset);
}

absl::Status TileSpill::Finish() {
  order_.reserve(positions_.size());
  for (const auto& [index, position] : positions_) order_.push_back(index);
  absl::Status status = FlushBuffer();
  buffer_ = {};
  return status;
}

absl::StatusOr<TileCloud> TileSpill::Load(const TileIndex& index) const {
  TileCloud tile = Describe(index);
  const auto found = positions_.find(index);
  if (found == positions_.end()) return tile;
  const std::vector<Run>& runs = runs_[found->second];
  uint64_t count = 0;
  for (const Run& run : runs) count += run.points;
  tile.cloud.Reserve(static_cast<size_t>(count));
  std::vector<float> values;
  for (const Run& run : runs) {
    values.resize(static_cast<size_t>(run.points) * kPointFloats);
    char* bytes = reinterpret_cast<char*>(values.data());
    const size_t size = values.size() * sizeof(float);
    for (size_t done = 0; done < size;) {
      const ssize_t got =
          ::pread(descriptor_.id, bytes + done, size - done, static_cast<off_t>(run.offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return FileError(directory_, "read", got < 0 ? errno : EIO);
      done += static_cast<size_t>(got);
    }
    for (size_t i = 0; i < values.size(); i += kPointFloats) {
      tile.cloud.PushBack(values[i], values[i + 1], values[i + 2]);
    }
  }
  return tile;
}

}  // namespace voxloc
