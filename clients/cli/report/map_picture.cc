// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/map_picture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"

namespace voxloc::cli {
namespace {

constexpr size_t kMaxCellsInMemory = 2'000'000;
constexpr double kMaxDistanceM = 10'000.0;
constexpr double kHeightUnitsPerMetre = 32.0;

uint8_t ByteOf(double value) {
  return static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L));
}

void AppendUint16(uint32_t value, std::string* bytes) {
  bytes->push_back(static_cast<char>(value & 0xff));
  bytes->push_back(static_cast<char>((value >> 8) & 0xff));
}

// Half of the index, rounded down.
int32_t Half(int32_t index) { return (index - (index & 1)) / 2; }

}  // namespace

void MapPicture::Merge(const Cell& more, Cell* cell) {
  if (cell->points == 0) {
    *cell = more;
    return;
  }
  cell->points += more.points;
  cell->lowest = std::min(cell->lowest, more.lowest);
  cell->highest = std::max(cell->highest, more.highest);
}

MapPicture::Cells MapPicture::Coarser(const Cells& cells) {
  Cells coarser;
  coarser.reserve(cells.size() / 3);
  for (const auto& entry : cells) {
    Merge(entry.second, &coarser[Index{Half(entry.first.x), Half(entry.first.y)}]);
  }
  return coarser;
}

void MapPicture::Add(const Pose& map_T_base, const PointCloud& cloud_base) {
  if (!origin_.has_value()) origin_ = map_T_base.translation.array().round().matrix();
  for (size_t i = 0; i < cloud_base.size(); ++i) {
    const Eigen::Vector3d point = map_T_base * cloud_base.Point(i) - *origin_;
    if (!(point.cwiseAbs().maxCoeff() < kMaxDistanceM)) continue;
    const Index index{static_cast<int32_t>(std::floor(point.x() / cell_m_)),
                      static_cast<int32_t>(std::floor(point.y() / cell_m_))};
    const auto height = static_cast<float>(point.z());
    Merge(Cell{1, height, height}, &cells_[index]);
  }
  while (cells_.size() > kMaxCellsInMemory) {
    cells_ = Coarser(cells_);
    cell_m_ *= 2.0;
  }
}

MapPicture::Encoded MapPicture::Encode(size_t max_cells) const {
  Encoded encoded;
  encoded.cell_m = cell_m_;
  if (cells_.empty() || max_cells == 0) return encoded;
  Cells cells = cells_;
  while (cells.size() > max_cells) {
    cells = Coarser(cells);
    encoded.cell_m *= 2.0;
  }
  Index low{std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::max()};
  uint32_t fullest = 1;
  for (const auto& entry : cells) {
    low.x = std::min(low.x, entry.first.x);
    low.y = std::min(low.y, entry.first.y);
    fullest = std::max(fullest, entry.second.points);
  }
  std::vector<std::pair<Index, Cell>> ordered(cells.begin(), cells.end());
  std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return std::make_pair(a.first.y, a.first.x) < std::make_pair(b.first.y, b.first.x);
  });
  std::string bytes;
  bytes.reserve(ordered.size() * 6);
  for (const auto& entry : ordered) {
    // 20 km of cells of 0.25 m do not fit 16 bits, but so many coarsen first in practice; what
    // still lies beyond is left out.
    const int64_t x = int64_t{entry.first.x} - low.x;
    const int64_t y = int64_t{entry.first.y} - low.y;
    if (x > 65535 || y > 65535) continue;
    AppendUint16(static_cast<uint32_t>(x), &bytes);
    AppendUint16(static_cast<uint32_t>(y), &bytes);
    const double fullness = std::log2(1.0 + entry.second.points) / std::log2(1.0 + fullest);
    bytes.push_back(static_cast<char>(ByteOf(255.0 * fullness)));
    const double height = double{entry.second.highest} - double{entry.second.lowest};
    bytes.push_back(static_cast<char>(ByteOf(kHeightUnitsPerMetre * height)));
    ++encoded.cells;
  }
  encoded.low = origin_->head<2>() + encoded.cell_m * Eigen::Vector2d(low.x, low.y);
  encoded.base64 = absl::Base64Escape(bytes);
  return encoded;
}

}  // namespace voxloc::cli
