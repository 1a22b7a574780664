// SPDX-License-Identifier: Apache-2.0

#include "tests/golden/golden_fixture.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "tests/support/real_data.h"

namespace voxloc::golden {
namespace {

LoadedSet Load(Engine& engine, GoldenSet set) {
  LoadedSet loaded;
  loaded.set = std::move(set);
  loaded.profile = loaded.set.MakeProfile();
  loaded.engine = &engine;
  const std::vector<CellStatistics> statistics = RequiredStatistics({loaded.profile});
  std::vector<std::shared_ptr<const ResidentTile>> tiles;
  for (const PointCloud& cloud : loaded.set.Tiles()) {
    auto tile = loaded.engine->BuildTile(cloud, statistics);
    EXPECT_TRUE(tile.ok()) << tile.status();
    if (tile.ok()) tiles.push_back(*tile);
  }
  auto map = loaded.engine->Compose(tiles, statistics, nullptr);
  EXPECT_TRUE(map.ok()) << map.status();
  if (map.ok()) loaded.map = *map;
  return loaded;
}

}  // namespace

AlignJob LoadedSet::MakeJob(const Pose& guess) const {
  AlignJob job;
  job.map = map;
  job.scan = set.source;
  job.map_T_base_guess = guess;
  job.profile = profile;
  job.regularization_position_map = set.RegularizationPosition();
  return job;
}

bool LoadedSet::OnlyFinite(const std::string& label) const {
  const auto& only_finite = set.json.at("alignments_only_finite");
  return std::find(only_finite.begin(), only_finite.end(), label) != only_finite.end();
}

Pose PoseOf(const nlohmann::json& matrix) {
  const absl::StatusOr<Pose> pose = PoseFromMatrix(MatrixFromJson(matrix));
  EXPECT_TRUE(pose.ok()) << pose.status();
  return pose.value_or(Pose{});
}

std::vector<Pose> PosesOf(const nlohmann::json& matrices) {
  std::vector<Pose> poses;
  for (const auto& matrix : matrices) poses.push_back(PoseOf(matrix));
  return poses;
}

void GoldenTest::ForEachGoldenSet(const std::function<void(const LoadedSet&)>& check,
                                  const std::function<GoldenSet(GoldenSet)>& change) {
  const auto directory = GoldenDir();
  if (!directory) GTEST_SKIP() << "no golden sets: set VOXLOC_GOLDEN_DIR";
  const std::vector<std::string> names = ListGoldenSets(*directory);
  if (names.empty()) GTEST_SKIP() << "no golden sets in " << *directory;
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    std::cout << "golden set " << name << std::endl;
    const LoadedSet loaded = Load(engine(), change(LoadGoldenSet(*directory, name)));
    if (loaded.map == nullptr) continue;
    check(loaded);
  }
}

}  // namespace voxloc::golden
