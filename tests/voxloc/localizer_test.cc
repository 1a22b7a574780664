// SPDX-License-Identifier: Apache-2.0

#include "voxloc/localizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <limits>
#include <thread>
#include <vector>

#include "core/cloud/io/cloud_file.h"
#include "tests/server/small_town.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/synthetic_scene.h"
#include "tests/support/test_engines.h"

namespace voxloc {
namespace {

using server::ScanFrom;
using server::SmallTown;
using server::VehiclePose;
using ::testing::HasSubstr;

Map TownMap() { return *Map::FromPoints(SmallTown()); }

AlignRequest GoodRequest(double moved_m = 0.3) {
  AlignRequest request;
  request.points_base = ScanFrom(VehiclePose());
  request.map_T_base_guess = Displaced(VehiclePose(), {moved_m, -0.2, 0.05}, 0.017);
  return request;
}

// The part of the town with min <= x < max.
PointCloud Strip(double min, double max) {
  const PointCloud town = SmallTown();
  PointCloud strip;
  strip.origin = town.origin;
  for (size_t i = 0; i < town.size(); ++i) {
    const double x = town.Point(i).x();
    if (x >= min && x < max) strip.PushBack(town.x[i], town.y[i], town.z[i]);
  }
  return strip;
}

void ExpectSame(const Alignment& a, const Alignment& b) {
  EXPECT_EQ(a.map_T_base.translation, b.map_T_base.translation);
  EXPECT_EQ(a.map_T_base.rotation.coeffs(), b.map_T_base.rotation.coeffs());
  EXPECT_EQ(a.covariance, b.covariance);
  EXPECT_EQ(a.confidence, b.confidence);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.score.score, b.score.score);
  EXPECT_EQ(a.iterations, b.iterations);
}

class LocalizerTest : public ::testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Localizer> Make(const Map& map, const std::string& profile = "precise") {
    LocalizerOptions options;
    options.profile = profile;
    options.device = GetParam();
    options.threads = 2;
    auto localizer = Localizer::Create(map, options);
    EXPECT_TRUE(localizer.ok()) << localizer.status();
    return *std::move(localizer);
  }
};

TEST_P(LocalizerTest, FindsTheVehicle) {
  const auto localizer = Make(TownMap());
  EXPECT_THAT(localizer->device(), HasSubstr(GetParam()));
  EXPECT_GT(localizer->MemoryBytes(), 0U);
  AlignRequest request = GoodRequest();
  request.with_trace = true;
  request.with_point_scores = true;
  const auto found = localizer->Align(request);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->accepted) << found->detail;
  EXPECT_EQ(ToString(found->status), "OK");
  EXPECT_LT(TranslationDistance(found->map_T_base, VehiclePose()), 0.05);
  EXPECT_LT(RotationDistance(found->map_T_base, VehiclePose()), 0.002);
  EXPECT_GT(found->confidence.value_or(0.0), 0.5);
  EXPECT_GT(found->covariance.diagonal().minCoeff(), 0.0);
  EXPECT_EQ(found->trace.size(), static_cast<size_t>(found->iterations));
  EXPECT_EQ(found->point_scores.size(), request.points_base.size());
  // What Score says of the pose is what the alignment says of it.
  const auto scores = localizer->Score(
      request.points_base,
      {found->map_T_base, request.map_T_base_guess, Displaced(VehiclePose(), {1e8, 0, 0}, 0.0)});
  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_NEAR(scores->at(0).nearest_voxel_likelihood, found->score.nearest_voxel_likelihood, 1e-5);
  EXPECT_LT(scores->at(1).nearest_voxel_likelihood, found->score.nearest_voxel_likelihood);
  EXPECT_EQ(scores->at(2).matched_points, 0U);
}

TEST_P(LocalizerTest, BatchesGiveTheBitsOfSingleCalls) {
  const auto localizer = Make(TownMap());
  std::vector<AlignRequest> requests;
  for (int i = 0; i < 20; ++i) requests.push_back(GoodRequest(0.05 * i));
  requests[3].points_base = PointCloud();
  requests[5].map_T_base_guess.translation.x() = 1e6;
  // A scan that fits nowhere has a low confidence, so that its estimate needs the engine.
  requests[7].map_T_base_guess = Displaced(VehiclePose(), {6.0, 9.0, 0.0}, 1.5);
  const auto batch = localizer->AlignBatch(requests);
  ASSERT_EQ(batch.size(), requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto one = localizer->Align(requests[i]);
    ASSERT_EQ(one.status(), batch[i].status()) << i;
    if (one.ok()) ExpectSame(*one, *batch[i]);
  }
  EXPECT_TRUE(absl::IsInvalidArgument(batch[3].status()));
  EXPECT_EQ(batch[5]->status, AlignmentStatus::kOutOfMap);
  EXPECT_THAT(batch[5]->detail, HasSubstr("outside the map"));
  EXPECT_FALSE(batch[7]->accepted);
  EXPECT_TRUE(localizer->AlignBatch({}).empty());
}

TEST_P(LocalizerTest, AMapThatIsChangedIsTheSameAsANewOne) {
  Map map;
  ASSERT_TRUE(map.AddTile("west", Strip(-100, 0)).ok());
  const auto changed = Make(map);
  ASSERT_TRUE(map.AddTile("east", Strip(0, 100)).ok());
  ASSERT_TRUE(map.AddTile("far", Transform({{500.0, 0.0, 0.0}}, SmallTown())).ok());
  ASSERT_TRUE(changed->SetMap(map).ok());
  EXPECT_TRUE(map.RemoveTile("far"));
  EXPECT_FALSE(map.RemoveTile("far"));
  ASSERT_TRUE(changed->SetMap(map).ok());
  const auto found = changed->Align(GoodRequest());
  ASSERT_TRUE(found.ok()) << found.status();
  ExpectSame(*found, *Make(map)->Align(GoodRequest()));
}

TEST_P(LocalizerTest, EachResultIsOfOneMapWhileAnotherIsSet) {
  Map with_east;
  ASSERT_TRUE(with_east.AddTile("west", Strip(-100, 0)).ok());
  Map without = with_east;
  ASSERT_TRUE(with_east.AddTile("east", Strip(0, 100)).ok());
  const auto localizer = Make(with_east);
  const Alignment with = *localizer->Align(GoodRequest());
  const Alignment west = *Make(without)->Align(GoodRequest());
  ASSERT_NE(with.score.score, west.score.score);
  std::atomic<bool> ended{false};
  std::thread setting([&] {
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(localizer->SetMap(i % 2 == 0 ? without : with_east).ok());
    }
    ended = true;
  });
  do {
    const auto found = localizer->Align(GoodRequest());
    EXPECT_TRUE(found.ok());
    if (found.ok()) ExpectSame(*found, found->score.score == with.score.score ? with : west);
  } while (!ended);
  setting.join();
}

TEST_P(LocalizerTest, LocatesAScanWithoutAGuess) {
  const auto localizer = Make(TownMap());
  LocateRequest request;
  request.points_base = ScanFrom(VehiclePose());
  const auto anywhere = localizer->Locate(request);
  ASSERT_TRUE(anywhere.ok()) << anywhere.status();
  ASSERT_FALSE(anywhere->hypotheses.empty());
  EXPECT_TRUE(anywhere->reliable);
  EXPECT_LT(TranslationDistance(anywhere->hypotheses[0].map_T_base, VehiclePose()), 0.05);
  request.within_map = {{-29, -29, -5}, {-25, -25, 5}, 1};
  const auto elsewhere = localizer->Locate(request);
  ASSERT_TRUE(elsewhere.ok()) << elsewhere.status();
  if (!elsewhere->hypotheses.empty()) {
    EXPECT_GT(TranslationDistance(elsewhere->hypotheses[0].map_T_base, VehiclePose()), 1.0);
  }
  request.within_map = {{1e5, 1e5, -5}, {1.1e5, 1.1e5, 5}, 1};
  EXPECT_TRUE(absl::IsInvalidArgument(localizer->Locate(request).status()));
}

TEST_P(LocalizerTest, LeavesOutPointsThatAreNotFinite) {
  const auto localizer = Make(TownMap());
  AlignRequest request = GoodRequest();
  const Alignment clean = *localizer->Align(request);
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  request.points_base.x.insert(request.points_base.x.begin() + 7, kNaN);
  request.points_base.y.insert(request.points_base.y.begin() + 7, 0.0F);
  request.points_base.z.insert(request.points_base.z.begin() + 7, 0.0F);
  request.points_base.PushBack(0.0F, std::numeric_limits<float>::infinity(), 0.0F);
  ExpectSame(*localizer->Align(request), clean);
}

TEST_P(LocalizerTest, RefusesWhatMakesNoSense) {
  const auto localizer = Make(TownMap());
  const auto error = [&](const AlignRequest& request) {
    const auto found = localizer->Align(request);
    EXPECT_TRUE(absl::IsInvalidArgument(found.status())) << found.status();
    return std::string(found.status().message());
  };
  AlignRequest request = GoodRequest();
  request.points_base.y.pop_back();
  EXPECT_THAT(error(request), HasSubstr("points_base"));
  request = GoodRequest();
  request.map_T_base_guess.translation.z() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(error(request), HasSubstr("not finite"));
  request = GoodRequest();
  request.map_T_base_guess.rotation.coeffs().setZero();
  EXPECT_THAT(error(request), HasSubstr("quaternion"));
  request = GoodRequest();
  request.guess_covariance = -Matrix6::Identity();
  EXPECT_THAT(error(request), HasSubstr("guess_covariance"));
  request = GoodRequest();
  request.timeout_s = -1.0;
  EXPECT_THAT(error(request), HasSubstr("timeout_s must be at least 0 (got -1)"));
  request = GoodRequest();
  request.timeout_s = 1e-9;
  EXPECT_EQ(localizer->Align(request)->status, AlignmentStatus::kDeadline);
  EXPECT_TRUE(absl::IsInvalidArgument(localizer->Score({}, {VehiclePose()}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(localizer->Locate({}).status()));
}

TEST_P(LocalizerTest, AnEmptyMapHasNoPose) {
  const auto localizer = Make(Map());
  const auto found = localizer->Align(GoodRequest());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->status, AlignmentStatus::kOutOfMap);
  EXPECT_EQ(found->detail, "the map has no points");
  LocateRequest request;
  request.points_base = ScanFrom(VehiclePose());
  EXPECT_FALSE(localizer->Locate(request).ok());
}

INSTANTIATE_TEST_SUITE_P(, LocalizerTest, ::testing::ValuesIn(TestEngineNames()), NameByEngine);

TEST(LocalizerOptionsTest, ErrorsSayWhatIsAllowed) {
  const auto error = [](const std::string& profile, const std::string& device) {
    LocalizerOptions options;
    options.profile = profile;
    options.device = device;
    return std::string(Localizer::Create(Map(), options).status().ToString());
  };
  EXPECT_THAT(error("exact", "cpu"), HasSubstr("autoware, precise (got 'exact')"));
  EXPECT_THAT(error("/nowhere.yaml", "cpu"), HasSubstr("NOT_FOUND: /nowhere.yaml"));
  EXPECT_THAT(error("precise", "gpu"), HasSubstr("cpu, cuda or cuda:NUMBER (got 'gpu')"));
  EXPECT_THAT(error("precise", "cuda:x"), HasSubstr("(got 'cuda:x')"));
  EXPECT_THAT(error("precise", "cuda:-1"), HasSubstr("(got 'cuda:-1')"));
  EXPECT_THAT(error("precise", "cuda:99"), HasSubstr("FAILED_PRECONDITION"));
}

TEST(LocalizerOptionsTest, TakesAProfileFromAFile) {
  const ScratchDir scratch;
  LocalizerOptions options;
  options.profile = scratch.Write("own.yaml",
                                  "name: own\nstages: [{cells: {cell_size_m: 1.5}}]\n"
                                  "score_threshold: 99\n");
  const auto localizer = Localizer::Create(TownMap(), options);
  ASSERT_TRUE(localizer.ok()) << localizer.status();
  EXPECT_EQ((*localizer)->Align(GoodRequest())->status, AlignmentStatus::kLowScore);
}

TEST(MapTest, ReadsAFileOrAFolder) {
  const ScratchDir scratch;
  ASSERT_TRUE(WritePcd(scratch.Path("b.pcd"), Strip(0, 100)).ok());
  std::filesystem::create_directory(scratch.Path("map.pcd"));
  ASSERT_TRUE(WritePcd(scratch.Path("map.pcd/a.pcd"), Strip(-100, 0)).ok());
  scratch.Write("notes.txt", "not a cloud");
  const auto folder = Map::FromFile(scratch.Path(""));
  ASSERT_TRUE(folder.ok()) << folder.status();
  ASSERT_EQ(folder->tiles().size(), 2U);
  EXPECT_EQ(folder->tiles().begin()->first, "b.pcd");
  EXPECT_EQ(folder->tiles().at("map.pcd/a.pcd")->size(), Strip(-100, 0).size());
  const auto file = Map::FromFile(scratch.Path("b.pcd"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->tiles().begin()->first, "b.pcd");
  EXPECT_TRUE(absl::IsNotFound(Map::FromFile(scratch.Path("c.pcd")).status()));
  const ScratchDir empty;
  EXPECT_THAT(std::string(Map::FromFile(empty.Path("")).status().message()),
              HasSubstr("has no file .pcd, .ply, .bin (KITTI), .las, .npy or .xyz"));
}

TEST(MapTest, RefusesColumnsOfDifferentLengths) {
  PointCloud town = SmallTown();
  town.x.pop_back();
  EXPECT_THAT(std::string(Map::FromPoints(town).status().message()), HasSubstr("tile 'map'"));
}

}  // namespace
}  // namespace voxloc
