// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map_tile_plan.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/text_table.h"

namespace voxloc::cli {

TileCutter::TileCutter(const std::string& map, size_t clouds, TileSpill spill)
    : label_(absl::StrCat("cutting ", map)),
      clouds_(clouds),
      spill_(std::make_shared<TileSpill>(std::move(spill))) {}

absl::StatusOr<std::unique_ptr<TileCutter>> TileCutter::Create(const std::string& map,
                                                               size_t clouds,
                                                               const TileSpill::Options& options) {
  absl::StatusOr<TileSpill> spill = TileSpill::Create(options);
  if (!spill.ok()) return spill.status();
  return std::unique_ptr<TileCutter>(new TileCutter(map, clouds, *std::move(spill)));
}

absl::Status TileCutter::Add(const PointCloud& piece) {
  if (absl::Status status = spill_->Add(piece); !status.ok()) return status;
  plan_.survey->Add(absl::StrCat(plan_.clouds), piece);
  ShowProgress();
  return absl::OkStatus();
}

void TileCutter::ShowProgress() {
  if (!line_.due()) return;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const uint64_t points = spill_->points();
  line_.Show(absl::StrFormat("%s: %d of %d clouds, %s points, %.1f million a second", label_,
                             plan_.clouds, clouds_, Grouped(points),
                             static_cast<double>(points) * 1e-6 / seconds));
}

absl::StatusOr<MapLoadPlan> TileCutter::Finish() {
  if (absl::Status status = spill_->Finish(); !status.ok()) return status;
  plan_.points_not_finite = spill_->points_not_finite();
  for (const TileIndex& index : spill_->tiles()) {
    const auto load = [spill = spill_, index]() -> absl::StatusOr<PointCloud> {
      absl::StatusOr<TileCloud> tile = spill->Load(index);
      if (!tile.ok()) return tile.status();
      return std::move(tile->cloud);
    };
    plan_.tiles.push_back({spill_->Describe(index).id, load, std::nullopt});
  }
  return std::move(plan_);
}

}  // namespace voxloc::cli
