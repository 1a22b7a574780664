// SPDX-License-Identifier: Apache-2.0

#include "server/maps/tile_loader.h"

#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/checksum/crc32c.h"
#include "core/status/try.h"
#include "server/observe/seconds.h"

namespace voxloc::server {
namespace {

// Floating-point values are stored as they lie in memory.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "of a little-endian machine");

using Origin = std::array<double, 3>;
using Offset = std::array<float, 3>;

}  // namespace

std::string EncodeOrigin(const PointCloud& cloud) {
  const Origin origin = {cloud.origin.x(), cloud.origin.y(), cloud.origin.z()};
  std::string bytes(sizeof(Origin), '\0');
  std::memcpy(bytes.data(), origin.data(), sizeof(Origin));
  return bytes;
}

std::string EncodeOffsets(const PointCloud& cloud, size_t first) {
  std::string bytes((cloud.size() - first) * sizeof(Offset), '\0');
  for (size_t i = first; i < cloud.size(); ++i) {
    const Offset offset = {cloud.x[i], cloud.y[i], cloud.z[i]};
    std::memcpy(&bytes[(i - first) * sizeof(Offset)], offset.data(), sizeof(Offset));
  }
  return bytes;
}

void TileContentReader::Append(absl::string_view piece) {
  rest_.append(piece.data(), piece.size());
  absl::string_view bytes = rest_;
  if (!has_origin_ && bytes.size() >= sizeof(Origin)) {
    Origin origin;
    std::memcpy(origin.data(), bytes.data(), sizeof(Origin));
    cloud_.origin = {origin[0], origin[1], origin[2]};
    has_origin_ = true;
    bytes.remove_prefix(sizeof(Origin));
  }
  for (; has_origin_ && bytes.size() >= sizeof(Offset); bytes.remove_prefix(sizeof(Offset))) {
    Offset offset;
    std::memcpy(offset.data(), bytes.data(), sizeof(Offset));
    cloud_.PushBack(offset[0], offset[1], offset[2]);
  }
  rest_.erase(0, rest_.size() - bytes.size());
}

absl::StatusOr<PointCloud> TileContentReader::Finish() {
  if (!has_origin_ || !rest_.empty()) {
    return absl::DataLossError(
        absl::StrCat("the content of a tile ends within ", has_origin_ ? "a point" : "its origin"));
  }
  return std::move(cloud_);
}

namespace {

absl::Status WithTileId(const absl::Status& status, absl::string_view tile_id) {
  return absl::Status(status.code(), absl::StrCat("tile '", absl::CEscape(tile_id.substr(0, 64)),
                                                  "': ", status.message()));
}

absl::StatusOr<PointCloud> ReadCloud(MapStore& store, const Sha256Digest& digest) {
  TileContentReader reader;
  VOXLOC_TRY(store.ReadContent(digest, [&](absl::string_view piece) {
    reader.Append(piece);
    return absl::OkStatus();
  }));
  return reader.Finish();
}

}  // namespace

absl::StatusOr<PointCloud> TileLoader::ReadPoints(absl::string_view tile_id,
                                                  const Sha256Digest& digest) const {
  auto points = ReadCloud(store_, digest);
  if (!points.ok()) return WithTileId(points.status(), tile_id);
  return points;
}

absl::StatusOr<MapTile> TileLoader::Load(absl::string_view tile_id, const TileRecord& record,
                                         const MapBuild& build) const {
  MapTile tile(record);
  tile.resident = FindMoments(record, build);
  if (tile.resident != nullptr) return tile;
  VOXLOC_ASSIGN_OR_RETURN(auto cloud, ReadPoints(tile_id, record.digest));
  auto resident = BuildMoments(cloud, record.digest, build);
  if (!resident.ok()) return WithTileId(resident.status(), tile_id);
  tile.resident = *std::move(resident);
  return tile;
}

absl::StatusOr<MapTile> TileLoader::Build(const PointCloud& cloud_map, const Sha256Digest& digest,
                                          uint32_t crc32c, const MapBuild& build) const {
  MapTile tile;
  tile.digest = digest;
  tile.bounds = ComputeBounds(cloud_map);
  tile.points = tile.bounds.finite_points;
  tile.crc32c = crc32c;
  tile.resident = FindMoments(tile, build);
  if (tile.resident != nullptr) return tile;
  VOXLOC_ASSIGN_OR_RETURN(tile.resident, BuildMoments(cloud_map, digest, build));
  return tile;
}

absl::StatusOr<std::optional<MapTile>> TileLoader::BuildFromContent(absl::string_view tile_id,
                                                                    const Sha256Digest& digest,
                                                                    const MapBuild& build) const {
  VOXLOC_ASSIGN_OR_RETURN(auto there, store_.HasContent(absl::MakeConstSpan(&digest, 1)));
  if (!there.front()) return std::nullopt;
  auto cloud = ReadCloud(store_, digest);
  if (absl::IsDataLoss(cloud.status())) return std::nullopt;
  if (!cloud.ok()) return cloud.status();
  auto tile = Build(*cloud, digest, Crc32c(EncodeOffsets(*cloud)), build);
  if (!tile.ok()) return WithTileId(tile.status(), tile_id);
  return *std::move(tile);
}

std::shared_ptr<const ResidentTile> TileLoader::FindMoments(const TileRecord& record,
                                                            const MapBuild& build) const {
  if (moments_ == nullptr) return nullptr;
  return moments_->Find(record.digest, record.points, build.statistics);
}

absl::StatusOr<std::shared_ptr<const ResidentTile>> TileLoader::BuildMoments(
    const PointCloud& cloud_map, const Sha256Digest& digest, const MapBuild& build) const {
  const auto start = std::chrono::steady_clock::now();
  auto resident = engine_.BuildTile(cloud_map, build.statistics);
  metrics_.stage_build_s.Observe(ToSeconds(std::chrono::steady_clock::now() - start));
  if (resident.ok() && moments_ != nullptr) moments_->Put(digest, build.statistics, *resident);
  return resident;
}

}  // namespace voxloc::server
