// SPDX-License-Identifier: Apache-2.0

#include "server/maps/map_transaction.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/checksum/crc32c.h"
#include "core/map/map_name.h"
#include "core/status/try.h"
#include "server/errors/error_details.h"
#include "server/maps/resident_maps.h"
#include "server/maps/tile_loader.h"

namespace voxloc::server {
namespace {

constexpr size_t kMaxTileIdBytes = 256;

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
    MapLibrary& library, const TransactionBegin& begin) {
  VOXLOC_TRY(ValidateMapName(begin.map));
  if (begin.clear && begin.from_revision != 0) {
    return absl::InvalidArgumentError(
        "clear and from_revision exclude each other: one begins with no tile, the other with those "
        "of a revision");
  }
  auto transaction = absl::WrapUnique(new MapTransaction(library, begin));
  VOXLOC_TRY(transaction->Start());
  return transaction;
}

absl::Status MapTransaction::Start() {
  VOXLOC_TRY(library_.Sync(begin_.map));
  if (!begin_.request_id.empty()) {
    auto committed = library_.store().FindRequest(begin_.map, begin_.request_id);
    if (!committed.ok() && !absl::IsNotFound(committed.status())) return committed.status();
    if (committed.ok() && committed->has_value()) committed_revision_ = (*committed)->revision;
  }
  auto found = library_.maps().Find(begin_.map);
  if (!found.ok() && !(absl::IsNotFound(found.status()) && begin_.create)) return found.status();
  base_revision_ = found.ok() ? found->snapshot->revision : 0;
  if (begin_.base_revision != 0 && begin_.base_revision != base_revision_ &&
      committed_revision_ == 0) {
    return WithReason(
        absl::AbortedError(absl::StrCat("map ", begin_.map, " is at revision ", base_revision_,
                                        ", not at the base revision ", begin_.base_revision)),
        "REVISION_CONFLICT", {{"map", begin_.map}, {"revision", absl::StrCat(base_revision_)}});
  }
  if (found.ok()) {
    base_ = found->snapshot;
    build_ = found->facts->build;
    VOXLOC_TRY(CheckFrame(*found));
  }
  // What a repeated request began from may be forgotten by now.
  if (begin_.from_revision != 0 && begin_.from_revision != base_revision_ &&
      committed_revision_ == 0) {
    VOXLOC_ASSIGN_OR_RETURN(from_, library_.store().GetManifest(begin_.map, begin_.from_revision));
  }
  if (build_ != nullptr && !begin_.build.has_value()) return absl::OkStatus();
  VOXLOC_ASSIGN_OR_RETURN(
      auto build, MakeMapBuild(begin_.build.value_or(MapBuildRequest{}), library_.profiles()));
  if (build_ == nullptr) {
    build_ = std::make_shared<const MapBuild>(std::move(build));
  } else if (!SameRequest(build.request, build_->request)) {
    return WithReason(
        absl::AlreadyExistsError(absl::StrCat(
            "map ", begin_.map, " exists and was built with other options; delete it first")),
        "MAP_HAS_OTHER_OPTIONS", {{"map", begin_.map}});
  }
  return absl::OkStatus();
}

absl::Status MapTransaction::CheckFrame(const MapView& map) const {
  if (!begin_.frame.has_value() || map.facts == nullptr) return absl::OkStatus();
  const std::optional<MapFrame>& frame = map.facts->frame;
  if (!frame.has_value() || *frame == *begin_.frame) return absl::OkStatus();
  return WithReason(absl::AlreadyExistsError(absl::StrCat(
                        "map ", begin_.map, " exists and has another frame, ", ToText(*frame),
                        " (got ", ToText(*begin_.frame), "); delete it first")),
                    "MAP_HAS_OTHER_FRAME", {{"map", begin_.map}});
}

absl::Status MapTransaction::CheckOrder(const TileChunk& chunk) const {
  if (!pending_.has_value()) {
    if (chunk.index == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "tile ", Quoted(chunk.tile_id), " begins with chunk ", chunk.index, "; the first is 0"));
  }
  if (pending_->tile_id != chunk.tile_id) {
    return absl::FailedPreconditionError(absl::StrCat("a chunk of tile ", Quoted(chunk.tile_id),
                                                      " came before the last one of tile ",
                                                      Quoted(pending_->tile_id)));
  }
  if (pending_->next_index != chunk.index) {
    return absl::FailedPreconditionError(absl::StrCat("tile ", Quoted(chunk.tile_id), ": chunk ",
                                                      chunk.index, " received, expected ",
                                                      pending_->next_index));
  }
  return absl::OkStatus();
}

absl::Status MapTransaction::CheckNoPendingTile(absl::string_view what) const {
  if (!pending_.has_value()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(what, " came before the last chunk of tile ", Quoted(pending_->tile_id)));
}

absl::StatusOr<std::optional<TileReceipt>> MapTransaction::AddChunk(TileChunk chunk) {
  VOXLOC_TRY(CheckTileId(chunk.tile_id));
  VOXLOC_TRY(CheckOrder(chunk));
  if (!pending_.has_value()) {
    VOXLOC_ASSIGN_OR_RETURN(auto upload, library_.store().Upload());
    pending_ = PendingTile();
    pending_->tile_id = chunk.tile_id;
    pending_->upload = std::move(upload);
  }
  PendingTile& tile = *pending_;
  VOXLOC_TRY(AppendChunk(chunk, tile));
  if (!chunk.last) return std::nullopt;
  if (chunk.total_points != tile.sent) {
    return absl::DataLossError(absl::StrCat("tile ", Quoted(tile.tile_id), " came with ", tile.sent,
                                            " points, and should have ", chunk.total_points));
  }
  const PendingTile whole = *std::exchange(pending_, std::nullopt);
  VOXLOC_TRY(CheckTileLimit(whole.tile_id));
  VOXLOC_ASSIGN_OR_RETURN(auto digest, whole.upload->Finish());
  if (chunk.digest.has_value() && *chunk.digest != digest) {
    return WithReason(
        absl::DataLossError(absl::StrCat("tile ", Quoted(whole.tile_id), ": the SHA-256 is ",
                                         ToHex(digest), ", and should be ", ToHex(*chunk.digest))),
        "CHECKSUM_MISMATCH");
  }
  library_.RecordUpload(begin_.map, digest);
  auto built = library_.tiles().Build(whole.points, digest, whole.crc32c, *build_);
  if (!built.ok()) {
    return absl::Status(built.status().code(), absl::StrCat("tile ", Quoted(whole.tile_id), ": ",
                                                            built.status().message()));
  }
  return Stage(whole.tile_id, *std::move(built), whole.not_finite);
}

absl::Status MapTransaction::AppendChunk(TileChunk& chunk, PendingTile& tile) const {
  const bool first = tile.next_index++ == 0;
  tile.crc32c = first ? chunk.crc32c : ExtendCrc32c(tile.crc32c, chunk.bytes);
  tile.sent += chunk.sent;
  tile.not_finite += chunk.not_finite;
  const std::shared_ptr<const Limits> limits = library_.limits();
  if (tile.sent > limits->max_points_per_tile) {
    return absl::ResourceExhaustedError(absl::StrCat("tile ", Quoted(tile.tile_id), " has over ",
                                                     limits->max_points_per_tile,
                                                     " points, the limit"));
  }
  if (staged_points_ + tile.sent > limits->max_points_per_map) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the transaction has over ", limits->max_points_per_map, " points, the limit of a map"));
  }
  const size_t before = tile.points.size();
  if (first) {
    tile.points = std::move(chunk.points);
    VOXLOC_TRY(tile.upload->Append(EncodeOrigin(tile.points)));
  } else {
    Append(chunk.points, tile.points);
  }
  return tile.upload->Append(EncodeOffsets(tile.points, before));
}

absl::StatusOr<std::optional<TileReceipt>> MapTransaction::ReuseTile(const std::string& tile_id,
                                                                     const Sha256Digest& digest,
                                                                     const MayUseMap& may_use) {
  VOXLOC_TRY(CheckTileId(tile_id));
  VOXLOC_TRY(CheckNoPendingTile("a reuse"));
  VOXLOC_TRY(CheckTileLimit(tile_id));
  const MapTile* const same = base_ == nullptr ? nullptr : base_->tiles.Find(tile_id);
  if (same != nullptr && same->digest == digest && same->resident != nullptr) {
    return Stage(tile_id, *same, 0);
  }
  if (may_use != nullptr) {
    VOXLOC_ASSIGN_OR_RETURN(const auto may_reuse,
                            library_.MayReuseContent(begin_.map, digest, may_use));
    if (!may_reuse) return std::nullopt;
  }
  VOXLOC_ASSIGN_OR_RETURN(auto found, library_.tiles().BuildFromContent(tile_id, digest, *build_));
  if (!found.has_value()) return std::nullopt;
  return Stage(tile_id, *std::move(found), 0);
}

TileReceipt MapTransaction::Stage(const std::string& tile_id, MapTile tile, size_t not_finite) {
  TileReceipt receipt;
  receipt.tile_id = tile_id;
  receipt.points = tile.points;
  receipt.not_finite = not_finite;
  receipt.cells = tile.resident->cells();
  receipt.replaces = HasTile(tile_id);
  receipt.digest = tile.digest;
  staged_points_ += tile.points;
  // Over the memory budget, all tiles but the first are not kept resident: they are in the store.
  const size_t bytes = BytesInMap(*tile.resident, ComposedRatio(base_.get()));
  if (resident_bytes_ == 0 || resident_bytes_ + bytes <= library_.TransactionBudgetBytes()) {
    resident_bytes_ += bytes;
  } else {
    tile.resident = nullptr;
  }
  staged_[tile_id] = std::move(tile);
  return receipt;
}

absl::Status MapTransaction::CheckTileLimit(const std::string& tile_id) const {
  const uint32_t limit = library_.limits()->max_tiles_per_map;
  if (staged_.size() < limit || staged_.count(tile_id) > 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the transaction changes over ", limit, " tiles, the limit of a map"));
}

bool MapTransaction::HasTile(const std::string& tile_id) const {
  if (const auto staged = staged_.find(tile_id); staged != staged_.end()) {
    return staged->second.has_value();
  }
  if (from_.has_value()) return from_->count(tile_id) > 0;
  return !begin_.clear && base_ != nullptr && base_->tiles.Find(tile_id) != nullptr;
}

absl::StatusOr<bool> MapTransaction::RemoveTile(const std::string& tile_id) {
  VOXLOC_TRY(CheckTileId(tile_id));
  VOXLOC_TRY(CheckNoPendingTile("a removal"));
  VOXLOC_TRY(CheckTileLimit(tile_id));
  const bool existed = HasTile(tile_id);
  staged_[tile_id] = std::nullopt;
  return existed;
}

absl::StatusOr<MapView> MapTransaction::Current() const {
  const auto conflict = [&](const std::string& message) {
    return WithReason(absl::AbortedError(message), "REVISION_CONFLICT", {{"map", begin_.map}});
  };
  auto found = library_.maps().Find(begin_.map);
  const uint64_t revision = found.ok() ? found->snapshot->revision : 0;
  if (begin_.base_revision != 0 && revision != begin_.base_revision) {
    return conflict(absl::StrCat("map ", begin_.map, " is now at revision ", revision,
                                 ", not at the base revision ", begin_.base_revision));
  }
  if (!found.ok()) {
    if (!absl::IsNotFound(found.status())) return found.status();
    if (begin_.create && !from_.has_value()) return MapView{};
    return conflict(absl::StrCat("map ", begin_.map, " was deleted in the meantime"));
  }
  if (found->facts->build != build_ &&
      !SameRequest(found->facts->build->request, build_->request)) {
    return absl::AbortedError(absl::StrCat(
        "map ", begin_.map, " was deleted and created with other options in the meantime"));
  }
  VOXLOC_TRY(CheckFrame(*found));
  return found;
}

TileCatalogue::Change MapTransaction::ChangeOf(const MapSnapshot* current) const {
  TileCatalogue::Change change = staged_;
  if (from_.has_value()) {
    for (const auto& [id, stored] : *from_) {
      const MapTile* const same = current == nullptr ? nullptr : current->tiles.Find(id);
      if (same == nullptr || same->digest != stored.digest) change.emplace(id, MapTile(stored));
    }
  }
  if ((begin_.clear || from_.has_value()) && current != nullptr) {
    current->tiles.ForEach([&](const TileCatalogue::Tile& entry) {
      if (from_.has_value() && from_->count(entry.first) > 0) return;
      change.emplace(entry.first, std::nullopt);
    });
  }
  return change;
}

absl::StatusOr<CommitReceipt> MapTransaction::Commit(const TransactionCommit& commit) {
  VOXLOC_TRY(CheckNoPendingTile("a commit"));
  if (!begin_.request_id.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(auto committed, library_.FindCommitted(begin_.map, begin_.request_id));
    if (committed.has_value()) return *std::move(committed);
  }
  VOXLOC_TRY(library_.SwitchEngine());
  if (library_.takeovers() != takeovers_) {
    // The staged tiles were in the memory of a failed engine; they are in the store.
    for (auto& [id, tile] : staged_) {
      if (tile.has_value()) tile->resident = nullptr;
    }
  }
  VOXLOC_TRY(library_.Sync(begin_.map));
  VOXLOC_ASSIGN_OR_RETURN(auto current, Current());
  RevisionDraft draft;
  draft.stored.map = begin_.map;
  draft.stored.base_revision = current.snapshot == nullptr ? 0 : current.snapshot->revision;
  draft.stored.comment = commit.comment;
  draft.stored.request_id = begin_.request_id;
  draft.stored.stage = commit.stage;
  draft.stored.canary_vehicles = commit.canary_vehicles;
  draft.build = current.facts == nullptr ? build_ : current.facts->build;
  draft.frame = begin_.frame;
  draft.change = ChangeOf(current.snapshot.get());
  VOXLOC_TRY(library_.MakeResident(begin_.map, *draft.build, draft.change));
  return library_.Commit(std::move(draft));
}

}  // namespace voxloc::server
