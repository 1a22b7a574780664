// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/tile_spill.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

constexpr size_t kPointFloats = 3;
constexpr size_t kPointBytes = kPointFloats * sizeof(float);

// Tiles are small beside it; one write a megabyte.
constexpr size_t kWriteBytes = size_t{1} << 20;

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

absl::StatusOr<TileSpill> TileSpill::Create(const Options& options) {
  const absl::StatusOr<TileGrid> grid = TileGrid::Create(options.tile_size_m);
  if (!grid.ok()) return grid.status();
  const absl::StatusOr<std::string> directory = DirectoryOf(options.directory);
  if (!directory.ok()) return directory.status();
  std::string path = absl::StrCat(*directory, "/voxloc-tiles-XXXXXX");
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) return FileError(*directory, "create", errno);
  ::unlink(path.c_str());
  return TileSpill(*grid, *directory, descriptor, options.buffer_bytes);
}

TileSpill::TileSpill(TileSpill&& other) noexcept
    : grid_(other.grid_),
      directory_(std::move(other.directory_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      buffer_bytes_(other.buffer_bytes_),
      tiles_(std::move(other.tiles_)),
      order_(std::move(other.order_)),
      origin_z_m_(other.origin_z_m_),
      gathered_bytes_(other.gathered_bytes_),
      file_bytes_(other.file_bytes_),
      points_(other.points_),
      points_not_finite_(other.points_not_finite_) {}

TileSpill::~TileSpill() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

absl::Status TileSpill::Add(const PointCloud& piece) {
  if (piece.empty()) return absl::OkStatus();
  if (!origin_z_m_.has_value()) origin_z_m_ = piece.origin.z();
  // Neighbours mostly lie in the same tile.
  std::optional<TileIndex> last;
  Tile* tile = nullptr;
  Eigen::Vector3d shift = Eigen::Vector3d::Zero();
  for (size_t i = 0; i < piece.size(); ++i) {
    if (!piece.IsFinite(i)) {
      ++points_not_finite_;
      continue;
    }
    TileIndex index;
    if (!grid_.IndexOf(piece.Point(i), &index)) {
      return TooFarForTiles(points_ + points_not_finite_, piece.Point(i));
    }
    if (index != last) {
      last = index;
      tile = &tiles_[index];
      shift = piece.origin - grid_.OriginOf(index, *origin_z_m_);
    }
    const Eigen::Vector3f offset = (shift + piece.Offset(i).cast<double>()).cast<float>();
    tile->gathered.insert(tile->gathered.end(), {offset.x(), offset.y(), offset.z()});
    ++points_;
    gathered_bytes_ += kPointBytes;
    if (gathered_bytes_ < buffer_bytes_) continue;
    if (absl::Status status = WriteGathered(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status TileSpill::WriteGathered() {
  std::vector<float> block;
  block.reserve(kWriteBytes / sizeof(float));
  uint64_t block_offset = file_bytes_;
  const auto write_block = [&] {
    const absl::Status status = WriteAt(directory_, descriptor_, block, block_offset);
    block_offset += block.size() * sizeof(float);
    block.clear();
    return status;
  };
  for (auto& [index, tile] : tiles_) {
    if (tile.gathered.empty()) continue;
    tile.runs.push_back({file_bytes_, tile.gathered.size() / kPointFloats});
    file_bytes_ += tile.gathered.size() * sizeof(float);
    block.insert(block.end(), tile.gathered.begin(), tile.gathered.end());
    tile.gathered = {};
    if (block.size() * sizeof(float) < kWriteBytes) continue;
    if (absl::Status status = write_block(); !status.ok()) return status;
  }
  gathered_bytes_ = 0;
  return write_block();
}

absl::Status TileSpill::Finish() {
  order_.reserve(tiles_.size());
  for (const auto& [index, tile] : tiles_) order_.push_back(index);
  return WriteGathered();
}

MapTile TileSpill::Describe(const TileIndex& index) const {
  return grid_.EmptyTile(index, origin_z_m_.value_or(0.0));
}

absl::StatusOr<MapTile> TileSpill::Load(const TileIndex& index) const {
  MapTile tile = Describe(index);
  const auto found = tiles_.find(index);
  if (found == tiles_.end()) return tile;
  uint64_t count = 0;
  for (const Run& run : found->second.runs) count += run.points;
  tile.cloud.Reserve(static_cast<size_t>(count));
  std::vector<float> values;
  for (const Run& run : found->second.runs) {
    values.resize(static_cast<size_t>(run.points) * kPointFloats);
    char* bytes = reinterpret_cast<char*>(values.data());
    const size_t size = values.size() * sizeof(float);
    for (size_t done = 0; done < size;) {
      const ssize_t got =
          ::pread(descriptor_, bytes + done, size - done, static_cast<off_t>(run.offset + done));
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
