// SPDX-License-Identifier: Apache-2.0

#include "core/engine/engine.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/engine/job_check.h"
#include "core/engine/out_of_memory.h"
#include "core/status/try.h"

namespace voxloc {

absl::StatusOr<std::shared_ptr<const ResidentTile>> Engine::BuildTile(
    const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) {
  return CatchOutOfMemory(
      [&]() -> absl::StatusOr<std::shared_ptr<const ResidentTile>> {
        if (statistics.empty()) {
          return absl::InvalidArgumentError("a tile needs at least one cell statistics");
        }
        for (const CellStatistics& s : statistics) VOXLOC_TRY(ValidateCellStatistics(s));
        VOXLOC_TRY(CheckColumns(cloud_map, "the tile"));
        return DoBuildTile(cloud_map, statistics);
      },
      [&] { return absl::StrCat("no memory to build a tile of ", cloud_map.size(), " points"); });
}

absl::StatusOr<std::shared_ptr<const ResidentMap>> Engine::Compose(
    absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
    absl::Span<const CellStatistics> statistics, const ResidentMap* previous) {
  return CatchOutOfMemory(
      [&]() -> absl::StatusOr<std::shared_ptr<const ResidentMap>> {
        for (const CellStatistics& s : statistics) VOXLOC_TRY(ValidateCellStatistics(s));
        return DoCompose(tiles, statistics, previous);
      },
      [&] { return absl::StrCat("no memory to compose a map of ", tiles.size(), " tiles"); });
}

absl::StatusOr<std::string> Engine::ExportTile(const ResidentTile& tile) {
  return CatchOutOfMemory(
      [&] { return DoExportTile(tile); },
      [&] { return absl::StrCat("no memory to export a tile of ", tile.points(), " points"); });
}

absl::StatusOr<std::shared_ptr<const ResidentTile>> Engine::ImportTile(absl::string_view bytes) {
  return CatchOutOfMemory(
      [&] { return DoImportTile(bytes); },
      [&] { return absl::StrCat("no memory to import a tile of ", bytes.size(), " bytes"); });
}

absl::StatusOr<std::shared_ptr<const ResidentTile>> Engine::CopyTile(const ResidentTile& tile) {
  return CatchOutOfMemory(
      [&] { return DoCopyTile(tile); },
      [&] { return absl::StrCat("no memory to copy a tile of ", tile.points(), " points"); });
}

std::shared_ptr<const PackedJob> Engine::Pack(const AlignJob& job) {
  try {
    return DoPack(job);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::vector<AlignResult> Engine::Align(absl::Span<const AlignJob> jobs) {
  std::vector<AlignResult> results(jobs.size());
  Align(jobs, absl::MakeSpan(results));
  return results;
}

void Engine::Align(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) {
  const absl::Status status =
      CatchOutOfMemory([&] { return DoAlign(jobs, results); },
                       [&] { return absl::StrCat("no memory to align ", jobs.size(), " scans"); });
  if (status.ok()) return;
  for (AlignResult& result : results) result.status = status;
}

absl::StatusOr<ScoreResult> Engine::Score(const ScoreRequest& request) {
  return CatchOutOfMemory(
      [&]() -> absl::StatusOr<ScoreResult> {
        VOXLOC_TRY(CheckRequest(request));
        return DoScore(request);
      },
      [&] {
        const size_t points = request.scan == nullptr ? 0 : request.scan->size();
        return absl::StrCat("no memory to score ", request.map_T_base.size(),
                            " poses of a scan of ", points, " points");
      });
}

absl::StatusOr<FilteredCloud> Engine::Filter(const PointCloud& cloud, const FilterOptions& options,
                                             WorkClass work_class) {
  return CatchOutOfMemory(
      [&]() -> absl::StatusOr<FilteredCloud> {
        VOXLOC_TRY(CheckColumns(cloud, "the scan"));
        return DoFilter(cloud, options, work_class);
      },
      [&] { return absl::StrCat("no memory to filter ", cloud.size(), " points"); });
}

absl::StatusOr<std::shared_ptr<const ResidentBoundGrid>> Engine::LoadBoundGrid(BoundGrid grid) {
  return CatchOutOfMemory([&] { return DoLoadBoundGrid(std::move(grid)); },
                          [] { return "no memory to keep a grid of bounds"; });
}

absl::StatusOr<std::vector<BoundHit>> Engine::Bound(const BoundRequest& request) {
  return CatchOutOfMemory(
      [&]() -> absl::StatusOr<std::vector<BoundHit>> {
        VOXLOC_TRY(CheckRequest(request));
        return DoBound(request);
      },
      [&] {
        return absl::StrCat("no memory to bound ", request.blocks.size(), " blocks of nodes");
      });
}

absl::StatusOr<ScoreResult> ScoreAnywhere(Engine& engine, const Bounds& map, ScoreRequest request) {
  if (request.scan == nullptr) return absl::InvalidArgumentError("there is no scan to score");
  const double reach_m = MaxPointDistance(*request.scan);
  const double margin_m = 2.0 * request.stage.cells.cell_size_m;
  std::vector<size_t> places;  // of the poses that touch the map
  std::vector<Pose> touching;
  for (size_t i = 0; i < request.map_T_base.size(); ++i) {
    if (!CanTouch(map, request.map_T_base[i], reach_m, margin_m)) continue;
    places.push_back(i);
    touching.push_back(request.map_T_base[i]);
  }
  if (places.empty()) return MakeScoreResult(request);
  if (places.size() == request.map_T_base.size()) return engine.Score(request);
  ScoreResult result = MakeScoreResult(request);
  request.map_T_base = std::move(touching);
  VOXLOC_ASSIGN_OR_RETURN(const ScoreResult scored, engine.Score(request));
  const auto points = static_cast<ptrdiff_t>(request.scan->size());
  for (size_t k = 0; k < places.size(); ++k) {
    result.poses[places[k]] = scored.poses[k];
    if (scored.point_scores.empty()) continue;
    std::copy_n(scored.point_scores.begin() + static_cast<ptrdiff_t>(k) * points, points,
                result.point_scores.begin() + static_cast<ptrdiff_t>(places[k]) * points);
  }
  return result;
}

}  // namespace voxloc
