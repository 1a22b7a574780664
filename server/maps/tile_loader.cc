// SPDX-License-Identifier: Apache-2.0

#include "server/maps/tile_loader.h"

#include <chrono>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/checksum/crc32c.h"
#include "core/status/try.h"
#include "server/maps/tile_content.h"

namespace voxloc::server {
namespace {

absl::Status WithTileId(const absl::Status& status, absl::string_view tile_id) {
  return absl::Status(status.code(), absl::StrCat("tile '", absl::CEscape(tile_id.substr(0, 64)),
                                                  "': ", status.message()));
}

absl::StatusOr<PointCloud> ReadCloud(MapStore& store, const Sha256Digest& digest) {
  TileContentReader reader;
  absl::Status status = store.ReadContent(digest, [&](absl::string_view piece) {
    reader.Append(piece);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
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
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  metrics_.stage_build_s.Observe(elapsed.count());
  if (resident.ok() && moments_ != nullptr) moments_->Put(digest, build.statistics, *resident);
  return resident;
}

}  // namespace voxloc::server
