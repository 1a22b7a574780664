// SPDX-License-Identifier: Apache-2.0

#include "server/maps/map_transaction.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/checksum/crc32c.h"
#include "core/map/map_name.h"
#include "server/errors/error_details.h"

namespace voxloc::server {
namespace {

constexpr size_t kMaxTileIdBytes = 256;
// How often a commit that lost a race against another one is composed anew.
constexpr int kMaxCommitAttempts = 5;

std::string Quoted(absl::string_view id) {
  return absl::StrCat("'", absl::CEscape(id.substr(0, 64)), "'");
}

absl::Status CheckTileId(absl::string_view id) {
  if (id.empty() || id.size() > kMaxTileIdBytes) {
    return absl::InvalidArgumentError(absl::StrCat("tile_id must have from 1 to ", kMaxTileIdBytes,
                                                   " bytes (got ", id.size(), ")"));
  }
  for (const char c : id) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return absl::InvalidArgumentError(
          absl::StrCat("tile_id ", Quoted(id), " has a control character"));
    }
  }
  return absl::OkStatus();
}

bool SameRequest(const MapBuildRequest& a, const MapBuildRequest& b) {
  return a.profiles == b.profiles && a.cell_size_m == b.cell_size_m;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MapTransaction>> MapTransaction::Open(
    const MapContext& context, const TransactionBegin& begin) {
  if (absl::Status status = ValidateMapName(begin.map); !status.ok()) return status;
  auto transaction = absl::WrapUnique(new MapTransaction(context, begin));
  if (absl::Status status = transaction->Start(); !status.ok()) return status;
  return transaction;
}

absl::Status MapTransaction::Start() {
  auto found = context_.maps.Find(begin_.map);
  if (!found.ok() && !begin_.create) return found.status();
  base_revision_ = found.ok() ? found->snapshot->revision : 0;
  if (begin_.base_revision != 0 && begin_.base_revision != base_revision_) {
    return WithReason(
        absl::AbortedError(absl::StrCat("map ", begin_.map, " is at revision ", base_revision_,
                                        ", not at the base revision ", begin_.base_revision)),
        "REVISION_CONFLICT", {{"map", begin_.map}, {"revision", absl::StrCat(base_revision_)}});
  }
  if (found.ok()) {
    base_ = found->snapshot;
    build_ = found->facts->build;
  }
  if (build_ != nullptr && !begin_.build.has_value()) return absl::OkStatus();
  auto build = MakeMapBuild(begin_.build.value_or(MapBuildRequest{}));
  if (!build.ok()) return build.status();
  if (build_ == nullptr) {
    build_ = std::make_shared<const MapBuild>(*std::move(build));
  } else if (!SameRequest(build->request, build_->request)) {
    return WithReason(
        absl::AlreadyExistsError(absl::StrCat(
            "map ", begin_.map, " exists and was built with other options; delete it first")),
        "MAP_HAS_OTHER_OPTIONS", {{"map", begin_.map}});
  }
  return absl::OkStatus();
}

absl::Status MapTransaction::CheckOrder(const TileChunk& chunk) const {
  if (!unfinished_.has_value()) {
    if (chunk.index == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "tile ", Quoted(chunk.tile_id), " begins with chunk ", chunk.index, "; the first is 0"));
  }
  if (unfinished_->tile_id != chunk.tile_id) {
    return absl::FailedPreconditionError(absl::StrCat("a chunk of tile ", Quoted(chunk.tile_id),
                                                      " came before the last one of tile ",
                                                      Quoted(unfinished_->tile_id)));
  }
  if (unfinished_->next_index != chunk.index) {
    return absl::FailedPreconditionError(absl::StrCat("tile ", Quoted(chunk.tile_id), ": chunk ",
                                                      chunk.index, " came in the place of ",
                                                      unfinished_->next_index));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<TileReceipt>> MapTransaction::AddChunk(TileChunk chunk) {
  if (absl::Status status = CheckTileId(chunk.tile_id); !status.ok()) return status;
  if (absl::Status status = CheckOrder(chunk); !status.ok()) return status;
  if (!unfinished_.has_value()) {
    unfinished_ = Unfinished();
    unfinished_->tile_id = chunk.tile_id;
    unfinished_->crc32c = chunk.crc32c;
  } else {
    unfinished_->crc32c = ExtendCrc32c(unfinished_->crc32c, chunk.bytes);
  }
  Unfinished& tile = *unfinished_;
  ++tile.next_index;
  tile.sent += chunk.sent;
  tile.not_finite += chunk.not_finite;
  const Limits& limits = context_.limits;
  if (tile.sent > limits.max_points_per_tile) {
    return absl::ResourceExhaustedError(absl::StrCat("tile ", Quoted(tile.tile_id), " has over ",
                                                     limits.max_points_per_tile,
                                                     " points, the limit"));
  }
  if (staged_points_ + tile.sent > limits.max_points_per_map) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the transaction has over ", limits.max_points_per_map, " points, the limit of a map"));
  }
  if (tile.points.empty()) {
    tile.points = std::move(chunk.points);
  } else {
    Append(chunk.points, tile.points);
  }
  if (!chunk.last) return std::nullopt;
  if (chunk.total_points != tile.sent) {
    return absl::DataLossError(absl::StrCat("tile ", Quoted(tile.tile_id), " came with ", tile.sent,
                                            " points, and should have ", chunk.total_points));
  }
  auto receipt = FinishTile();
  if (!receipt.ok()) return receipt.status();
  return *std::move(receipt);
}

absl::StatusOr<TileReceipt> MapTransaction::FinishTile() {
  const Unfinished tile = *std::exchange(unfinished_, std::nullopt);
  Staged staged;
  staged.crc32c = tile.crc32c;
  staged.tile.bounds = ComputeBounds(tile.points);
  staged.tile.points = staged.tile.bounds.finite_points;
  const auto start = std::chrono::steady_clock::now();
  auto resident = context_.engine.BuildTile(tile.points, build_->statistics);
  context_.metrics.stage_build_s.Observe(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  if (!resident.ok()) {
    return absl::Status(resident.status().code(), absl::StrCat("tile ", Quoted(tile.tile_id), ": ",
                                                               resident.status().message()));
  }
  staged.tile.resident = *std::move(resident);

  TileReceipt receipt;
  receipt.tile_id = tile.tile_id;
  receipt.points = staged.tile.points;
  receipt.not_finite = tile.not_finite;
  receipt.cells = staged.tile.resident->cells();
  receipt.replaces = Has(tile.tile_id);
  if (absl::Status status = CheckRoom(tile.tile_id); !status.ok()) return status;
  staged_points_ += staged.tile.points;
  staged_[tile.tile_id] = std::move(staged);
  return receipt;
}

absl::Status MapTransaction::CheckRoom(const std::string& tile_id) const {
  const uint32_t limit = context_.limits.max_tiles_per_map;
  if (staged_.size() < limit || staged_.count(tile_id) > 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the transaction changes over ", limit, " tiles, the limit of a map"));
}

bool MapTransaction::Has(const std::string& tile_id) const {
  if (const auto staged = staged_.find(tile_id); staged != staged_.end()) {
    return staged->second.has_value();
  }
  return !begin_.clear && base_ != nullptr && base_->tiles.count(tile_id) > 0;
}

absl::StatusOr<bool> MapTransaction::RemoveTile(const std::string& tile_id) {
  if (absl::Status status = CheckTileId(tile_id); !status.ok()) return status;
  if (unfinished_.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a removal came before the last chunk of tile ", Quoted(unfinished_->tile_id)));
  }
  if (absl::Status status = CheckRoom(tile_id); !status.ok()) return status;
  const bool existed = Has(tile_id);
  staged_[tile_id] = std::nullopt;
  return existed;
}

absl::StatusOr<MapView> MapTransaction::Current() const {
  auto found = context_.maps.Find(begin_.map);
  const uint64_t revision = found.ok() ? found->snapshot->revision : 0;
  if (begin_.base_revision != 0 && revision != begin_.base_revision) {
    return WithReason(
        absl::AbortedError(absl::StrCat("map ", begin_.map, " has moved on to revision ", revision,
                                        " from the base revision ", begin_.base_revision)),
        "REVISION_CONFLICT", {{"map", begin_.map}});
  }
  if (!found.ok()) {
    if (begin_.create) return MapView{};
    return WithReason(
        absl::AbortedError(absl::StrCat("map ", begin_.map, " was deleted meanwhile")),
        "REVISION_CONFLICT", {{"map", begin_.map}});
  }
  if (found->facts->build != build_ &&
      !SameRequest(found->facts->build->request, build_->request)) {
    return absl::AbortedError(
        absl::StrCat("map ", begin_.map, " was created anew with other options meanwhile"));
  }
  return found;
}

absl::StatusOr<CommitReceipt> MapTransaction::Commit() {
  if (unfinished_.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("a commit came before the last chunk of tile ", Quoted(unfinished_->tile_id)));
  }
  for (int attempt = 1;; ++attempt) {
    auto current = Current();
    if (!current.ok()) return current.status();
    auto receipt = CommitOnto(*current);
    if (!absl::IsAborted(receipt.status()) || attempt == kMaxCommitAttempts) return receipt;
  }
}

absl::StatusOr<CommitReceipt> MapTransaction::CommitOnto(const MapView& current) const {
  MapSnapshot next;
  next.name = begin_.map;
  TileChecksums checksums;
  const MapSnapshot* previous = current.snapshot.get();
  if (previous != nullptr && !begin_.clear) {
    next.tiles = previous->tiles;
    checksums = current.facts->checksums;
  }
  CommitReceipt receipt;
  for (const auto& [tile_id, staged] : staged_) {
    const bool existed = previous != nullptr && previous->tiles.count(tile_id) > 0;
    if (!staged.has_value()) {
      receipt.removed += next.tiles.erase(tile_id) > 0 ? 1 : 0;
      checksums.erase(tile_id);
      continue;
    }
    (existed ? receipt.replaced : receipt.added) += 1;
    next.tiles[tile_id] = staged->tile;
    checksums[tile_id] = staged->crc32c;
  }
  if (begin_.clear && previous != nullptr) {
    for (const auto& [tile_id, tile] : previous->tiles) {
      receipt.removed += next.tiles.count(tile_id) == 0 ? 1 : 0;
    }
  }
  if (absl::Status status = CheckSize(next); !status.ok()) return status;

  std::vector<std::shared_ptr<const ResidentTile>> tiles;
  tiles.reserve(next.tiles.size());
  for (const auto& [tile_id, tile] : next.tiles) tiles.push_back(tile.resident);
  auto resident = context_.engine.Compose(tiles, build_->statistics,
                                          previous == nullptr ? nullptr : previous->resident.get());
  if (!resident.ok()) return resident.status();
  next.resident = *std::move(resident);
  auto view =
      context_.maps.Publish(std::move(next), previous == nullptr ? build_ : current.facts->build,
                            std::move(checksums), previous == nullptr ? 0 : previous->revision);
  if (!view.ok()) return view.status();
  receipt.view = *std::move(view);
  return receipt;
}

absl::Status MapTransaction::CheckSize(const MapSnapshot& next) const {
  const Limits& limits = context_.limits;
  if (next.tiles.size() > limits.max_tiles_per_map) {
    return absl::ResourceExhaustedError(absl::StrCat("the map must have at most ",
                                                     limits.max_tiles_per_map, " tiles (got ",
                                                     next.tiles.size(), ")"));
  }
  if (next.points() > limits.max_points_per_map) {
    return absl::ResourceExhaustedError(absl::StrCat("the map must have at most ",
                                                     limits.max_points_per_map, " points (got ",
                                                     next.points(), ")"));
  }
  const Bounds bounds = next.bounds();
  if (bounds.finite_points == 0) return absl::OkStatus();
  const double extent_m = (bounds.max - bounds.min).maxCoeff();
  if (!(extent_m <= limits.max_map_extent_m)) {
    return absl::ResourceExhaustedError(absl::StrCat("the extent of the map must be at most ",
                                                     limits.max_map_extent_m, " m (got ", extent_m,
                                                     " m)"));
  }
  return absl::OkStatus();
}

}  // namespace voxloc::server
