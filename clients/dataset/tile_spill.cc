// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/tile_spill.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
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
      most_gathered_(other.most_gathered_),
      positions_(std::move(other.positions_)),
      runs_(std::move(other.runs_)),
      order_(std::move(other.order_)),
      origin_z_m_(other.origin_z_m_),
      gathered_(std::move(other.gathered_)),
      file_bytes_(other.file_bytes_),
      points_(other.points_),
      points_not_finite_(other.points_not_finite_) {}

TileSpill::~TileSpill() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

absl::Status TileSpill::Add(const PointCloud& piece) {
  if (piece.empty()) return absl::OkStatus();
  if (!origin_z_m_.has_value()) origin_z_m_ = piece.origin.z();
  gathered_.reserve(most_gathered_);
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
      return TooFarForTiles(points_ + points_not_finite_, piece.Point(i));
    }
    if (index != last) {
      last = index;
      position = positions_.emplace(index, static_cast<uint32_t>(runs_.size())).first->second;
      if (position == runs_.size()) runs_.emplace_back();
      shift = piece.origin - grid_.OriginOf(index, *origin_z_m_);
    }
    const Eigen::Vector3f offset = (shift + piece.Offset(i).cast<double>()).cast<float>();
    gathered_.push_back({position, {offset.x(), offset.y(), offset.z()}});
    ++points_;
    if (gathered_.size() < most_gathered_) continue;
    if (absl::Status status = WriteGathered(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status TileSpill::WriteGathered() {
  // Tile after tile, the points of each in their order.
  std::vector<size_t> ends(runs_.size() + 1, 0);  // at first, of each tile the number of its points
  for (const Gathered& point : gathered_) ++ends[point.tile + 1];
  for (size_t tile = 0; tile < runs_.size(); ++tile) {
    const uint64_t count = ends[tile + 1];
    if (count > 0) runs_[tile].push_back({file_bytes_ + ends[tile] * kPointBytes, count});
    ends[tile + 1] += ends[tile];
  }
  std::vector<float> sorted(gathered_.size() * kPointFloats);
  for (const Gathered& point : gathered_) {
    std::copy(point.offset.begin(), point.offset.end(), &sorted[ends[point.tile]++ * kPointFloats]);
  }
  gathered_.clear();
  const uint64_t offset = file_bytes_;
  file_bytes_ += sorted.size() * sizeof(float);
  return WriteAt(directory_, descriptor_, sorted, offset);
}

absl::Status TileSpill::Finish() {
  order_.reserve(positions_.size());
  for (const auto& [index, position] : positions_) order_.push_back(index);
  absl::Status status = WriteGathered();
  gathered_ = {};
  return status;
}

TileCloud TileSpill::Describe(const TileIndex& index) const {
  return grid_.EmptyTile(index, origin_z_m_.value_or(0.0));
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
