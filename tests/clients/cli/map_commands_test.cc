// SPDX-License-Identifier: Apache-2.0
//
// The commands on maps against a map service in the test's process, and what they print.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/map/map_load.h"
#include "clients/cli/map/map_manifest.h"
#include "clients/cli/output/message_text.h"
#include "clients/dataset/tile_spill.h"
#include "core/cloud/cloud_digest.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/clients/cpp/fake_maps.h"
#include "tests/clients/dataset/split_into_tiles.h"
#include "tests/core/cloud/io/cloud_bytes.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::cli {
namespace {

namespace fs = std::filesystem;

using ::nlohmann::json;
using ::testing::HasSubstr;

class MapCommands : public ::testing::Test {
 protected:
  MapCommands() : server_(maps_.Behaviour()) {}

  // `map COMMAND...` with a server and a file for its JSON, which is `result_` afterwards.
  absl::Status Run(std::vector<std::string> arguments) {
    const std::string out = scratch_.Path("result.json");
    fs::remove(out);
    arguments.insert(arguments.begin(), "map");
    for (const char* more : {"--server", "", "--json", ""}) arguments.emplace_back(more);
    arguments[arguments.size() - 3] = server_.address();
    arguments.back() = out;
    const ParsedCommandLine parsed = ParseCommandLine(arguments);
    if (!parsed.work) return absl::InvalidArgumentError(parsed.error);
    const absl::StatusOr<ExitCode> code = parsed.work();
    if (!code.ok()) return code.status();
    std::ifstream file(out);
    result_ = json::parse(file, nullptr, false);
    return absl::OkStatus();
  }

  // Two clouds, which are tiles a and b.
  std::string TwoClouds() const {
    PointCloud cloud = RandomCloud(400, 1, true);
    cloud.origin = {4e5, 4e6, 0.0};
    EXPECT_TRUE(WritePcd(scratch_.Path("map/a.pcd"), cloud).ok());
    EXPECT_TRUE(WritePcd(scratch_.Path("map/b.pcd"), RandomCloud(500, 2, false)).ok());
    return scratch_.Path("map");
  }

  const ScratchDir scratch_;
  client::FakeMaps maps_;
  client::FakeServer server_;
  json result_;
};

client::FakeMaps::Tiles DigestsOf(const std::vector<TileCloud>& tiles) {
  client::FakeMaps::Tiles digests;
  for (const TileCloud& tile : tiles) digests[tile.id] = ToBytes(DigestOf(tile.cloud));
  return digests;
}

TEST_F(MapCommands, LoadMakesATileOfEachCloud) {
  ASSERT_TRUE(Run({"load", "--map", "town", TwoClouds()}).ok());
  const client::FakeMaps::Tiles expected = {
      {"a", ToBytes(DigestOf(*ReadCloud(scratch_.Path("map/a.pcd"))))},
      {"b", ToBytes(DigestOf(*ReadCloud(scratch_.Path("map/b.pcd"))))}};
  EXPECT_EQ(maps_.tiles(), expected);
  EXPECT_TRUE(maps_.record().begin.create());
  EXPECT_TRUE(maps_.record().begin.clear());
  EXPECT_EQ(maps_.record().commit.comment(), "voxloc map load");
  EXPECT_FALSE(maps_.record().commit.stage());
  EXPECT_EQ(result_["clouds"], 2);
  EXPECT_EQ(result_["points"], 900);
  EXPECT_EQ(result_["bytes_sent"], 900 * 12);

  ASSERT_TRUE(Run({"load", "--map", "town", TwoClouds()}).ok());
  EXPECT_EQ(result_["tiles_reused"], 2);
  EXPECT_EQ(result_["bytes_sent"], 0);
  EXPECT_EQ(maps_.tiles(), expected);
}

TEST_F(MapCommands, LoadCutsManyCloudsAsIfTheyWereOne) {
  const std::string spill = scratch_.Path("spill/x");
  ASSERT_TRUE(Run({"load", "--map", "town", "--tile-size", "20", "--spill-dir",
                   fs::path(spill).parent_path().string(), TwoClouds()})
                  .ok());
  PointCloud whole = *ReadCloud(scratch_.Path("map/a.pcd"));
  whole.intensity.clear();
  EXPECT_EQ(DigestsOf(*SplitIntoTiles(*ReadCloud(scratch_.Path("map/b.pcd")), 20.0)).size() +
                DigestsOf(*SplitIntoTiles(whole, 20.0)).size(),
            maps_.tiles().size());
  const client::FakeMaps::Tiles of_first = DigestsOf(*SplitIntoTiles(whole, 20.0));
  const client::FakeMaps::Tiles tiles = maps_.tiles();
  for (const auto& [id, digest] : of_first) EXPECT_EQ(tiles.at(id), digest) << id;
  EXPECT_TRUE(fs::is_empty(fs::path(spill).parent_path()));
}

TEST_F(MapCommands, LoadSaysWhatTheMapIsLike) {
  PointCloud cloud;
  for (int i = 0; i < 100; ++i) {
    cloud.PushBack(static_cast<float>(i % 10), static_cast<float>(i / 10), 2.0F);
  }
  ASSERT_TRUE(WritePcd(scratch_.Path("map/0.pcd"), cloud).ok());
  for (const std::vector<std::string>& cut : {std::vector<std::string>(), {"--tile-size", "5"}}) {
    std::vector<std::string> arguments = {"load", "--map", "town", scratch_.Path("map")};
    arguments.insert(arguments.end(), cut.begin(), cut.end());
    ::testing::internal::CaptureStdout();
    ASSERT_TRUE(Run(arguments).ok());
    EXPECT_THAT(::testing::internal::GetCapturedStdout(),
                HasSubstr("extent 9.0 x 9.0 x 0.0 m, from 0.0 0.0 2.0 to 9.0 9.0 2.0 m\n"
                          "density 1 points/m2"));
    EXPECT_EQ(result_["extent_m"], json({9.0, 9.0, 0.0}));
    EXPECT_EQ(result_["bounds"]["min"], json({0.0, 0.0, 2.0}));
    EXPECT_EQ(result_["points_per_m2"], 1.0);
    EXPECT_EQ(result_["doubts"], json::array());
  }
}

TEST_F(MapCommands, LoadPlacesCloudsByThePosesOfTheVehicleAndTheMountOfTheSensor) {
  PointCloud cloud;
  for (int i = 0; i < 100; ++i) {
    cloud.PushBack(static_cast<float>(i % 10), static_cast<float>(i / 10), 2.0F);
  }
  ASSERT_TRUE(WritePcd(scratch_.Path("map/0.pcd"), cloud).ok());
  const std::string poses = scratch_.Write("poses.txt", "1 0 0 10 0 1 0 20 0 0 1 3\n");
  std::vector<std::string> arguments = {"load",    "--map", "town",
                                        "--poses", poses,   scratch_.Path("map")};
  const auto expect_bounds = [this](const std::vector<double>& min,
                                    const std::vector<double>& max) {
    for (size_t axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(result_["bounds"]["min"][axis].get<double>(), min[axis], 1e-5) << axis;
      EXPECT_NEAR(result_["bounds"]["max"][axis].get<double>(), max[axis], 1e-5) << axis;
    }
  };
  ASSERT_TRUE(Run(arguments).ok());
  expect_bounds({10.0, 20.0, 5.0}, {19.0, 29.0, 5.0});
  // Five metres in front and turned to the left: x of the sensor is y of the vehicle.
  arguments.insert(arguments.end() - 1, {"--base-t-sensor", "5,0,0.5,0,0,90"});
  for (const std::vector<std::string>& cut : {std::vector<std::string>(), {"--tile-size", "50"}}) {
    std::vector<std::string> line = arguments;
    line.insert(line.end() - 1, cut.begin(), cut.end());
    ASSERT_TRUE(Run(line).ok());
    expect_bounds({6.0, 20.0, 5.5}, {15.0, 29.0, 5.5});
  }
}

TEST_F(MapCommands, LoadLeavesEmptyCloudsOfADirectoryOutAndNamesThem) {
  const std::string map = TwoClouds();
  ASSERT_TRUE(WritePcd(scratch_.Path("map/c.pcd"), PointCloud()).ok());
  scratch_.Write("map/d.ply", "");
  PointCloud nowhere;
  nowhere.PushBack(std::numeric_limits<float>::quiet_NaN(), 0.0F, 0.0F);
  ASSERT_TRUE(WritePcd(scratch_.Path("map/e.pcd"), nowhere).ok());
  for (const std::vector<std::string>& cut : {std::vector<std::string>(), {"--tile-size", "50"}}) {
    std::vector<std::string> arguments = {"load", "--map", "town", map};
    arguments.insert(arguments.end(), cut.begin(), cut.end());
    ASSERT_TRUE(Run(arguments).ok());
    EXPECT_EQ(maps_.tiles().count("c") + maps_.tiles().count("d") + maps_.tiles().count("e"), 0u);
    EXPECT_EQ(result_["points"], 900);
  }
  ASSERT_TRUE(Run({"load", "--map", "town", map}).ok());
  EXPECT_EQ(maps_.tiles().size(), 2u);
  EXPECT_EQ(result_["tiles"], 2);
  EXPECT_EQ(result_["clouds"], 2);
  EXPECT_EQ(result_["skipped"], json({map + "/c.pcd", map + "/d.ply", map + "/e.pcd"}));

  // A file that is named is wanted, and an empty map is none.
  EXPECT_FALSE(Run({"load", "--map", "town", map + "/d.ply"}).ok());
  fs::remove(map + "/a.pcd");
  fs::remove(map + "/b.pcd");
  EXPECT_THAT(std::string(Run({"load", "--map", "town", map}).message()),
              HasSubstr("must have finite points"));
  fs::remove(map + "/e.pcd");
  EXPECT_THAT(std::string(Run({"load", "--map", "town", map}).message()),
              HasSubstr("none of its 2 clouds has one"));
}

// So many points, the first three in three tiles. The others are not finite: they count, but are
// neither cut nor sent with tiles.
void WriteLargeCloud(const std::string& path, int points) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  std::ofstream file(path, std::ios::binary);
  for (const float x : {-0.1F, 20.0F, 70.0F}) file << Bytes(x, 10.0F, 1.0F, 0.0F);
  const std::string not_finite = Bytes(none, none, none, 0.0F);
  for (int i = 3; i < points; ++i) file << not_finite;
}

TEST_F(MapCommands, LoadCutsASingleLargeCloud) {
  constexpr int kPoints = 5'000'001;
  const std::string path = scratch_.Path("large.bin");
  WriteLargeCloud(path, kPoints);
  ASSERT_TRUE(Run({"load", "--map", "town", path}).ok());
  const client::FakeMaps::Tiles tiles = maps_.tiles();
  ASSERT_EQ(tiles.size(), 3u);
  EXPECT_EQ(tiles.count("x-50_y0"), 1u);
  EXPECT_EQ(result_["points"], 3);
  EXPECT_EQ(result_["points_not_finite"], kPoints - 3);
}

TEST_F(MapCommands, LoadSendsACloudThatIsNotLargeAsOneTile) {
  if (!absl::string_view(VOXLOC_SANITIZE).empty()) {
    GTEST_SKIP() << "sending five million points takes minutes in a sanitizer build";
  }
  const std::string path = scratch_.Path("large.bin");
  WriteLargeCloud(path, 5'000'000);
  ASSERT_TRUE(Run({"load", "--map", "town", path}).ok());
  ASSERT_EQ(maps_.tiles().size(), 1u);
  EXPECT_EQ(maps_.tiles().begin()->first, "large");
}

TEST_F(MapCommands, FlagsOfACommitReachTheServer) {
  ASSERT_TRUE(Run({"load", "--map", "town", "--canary", "bus-7,bus-9", "--comment", "new bridge",
                   "--request-id", "change 5", "--base-revision", "8", TwoClouds()})
                  .ok());
  const client::FakeMaps::Record record = maps_.record();
  EXPECT_TRUE(record.commit.stage());
  ASSERT_EQ(record.commit.canary_vehicles_size(), 2);
  EXPECT_EQ(record.commit.canary_vehicles(1), "bus-9");
  EXPECT_EQ(record.commit.comment(), "new bridge");
  EXPECT_EQ(record.begin.request_id(), "change 5");
  EXPECT_EQ(record.begin.base_revision(), 8u);
  ASSERT_TRUE(Run({"load", "--map", "town", "--request-id", "change 5", TwoClouds()}).ok());
  EXPECT_EQ(result_["repeated"], true);
  EXPECT_EQ(maps_.revisions().size(), 1u);
}

TEST_F(MapCommands, ExportAndImportKeepEveryBit) {
  ASSERT_TRUE(Run({"load", "--map", "town", "--tile-size", "20", TwoClouds()}).ok());
  const client::FakeMaps::Tiles before = maps_.tiles();
  const std::string out = scratch_.Path("saved");
  maps_.BreakGetTilesAfter(static_cast<int>(before.size()) / 2);
  ASSERT_TRUE(Run({"export", "--map", "town", out}).ok());
  EXPECT_EQ(result_["tiles"], before.size());
  EXPECT_EQ(result_["tiles_kept"], 0);
  const absl::StatusOr<MapManifest> manifest = ReadManifest(out);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->map, "town");
  ASSERT_EQ(manifest->tiles.size(), before.size());

  // A server that has nothing of it.
  client::FakeMaps other;
  const client::FakeServer other_server(other.Behaviour());
  const ParsedCommandLine parsed =
      ParseCommandLine({"map", "import", "--map", "copy", "--server", other_server.address(), out});
  const absl::StatusOr<ExitCode> imported = parsed.work();
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(other.tiles(), before);
  EXPECT_EQ(other.record().begin.map(), "copy");

  // The tiles alone are the map too: their VIEWPOINT places them.
  ASSERT_TRUE(Run({"load", "--map", "town", TilesDirectory(out)}).ok());
  EXPECT_EQ(maps_.tiles(), before);
  EXPECT_EQ(result_["tiles_sent"], 0);

  // And the one that has everything: nothing is read.
  fs::remove_all(fs::path(TilesDirectory(out)));
  ASSERT_TRUE(Run({"import", out}).ok());
  EXPECT_EQ(result_["tiles_sent"], 0);
  EXPECT_EQ(maps_.tiles(), before);
  EXPECT_EQ(maps_.record().begin.map(), "town");
}

TEST_F(MapCommands, LoadTakesTheProjectorOfAnAutowareMap) {
  const std::string map = TwoClouds();
  scratch_.Write("map/map_projector_info.yaml",
                 "projector_type: LocalCartesianUTM\nvertical_datum: WGS84\n"
                 "map_origin:\n  latitude: 35.6762\n  longitude: 139.6503\n");
  ASSERT_TRUE(Run({"load", "--map", "town", "--wgs84-origin", "48.1,11.5,519,90", map}).ok());
  const v1::MapFrame frame = maps_.record().begin.frame();
  EXPECT_EQ(frame.projector().projector_type(), "LocalCartesianUTM");
  EXPECT_EQ(frame.projector().map_origin().longitude_deg(), 139.6503);
  EXPECT_EQ(frame.origin().point().latitude_deg(), 48.1);
  EXPECT_EQ(frame.origin().point().altitude_m(), 519.0);
  EXPECT_NEAR(frame.origin().x_axis_yaw_rad(), M_PI / 2.0, 1e-12);
  EXPECT_EQ(result_["map"]["frame"]["projector"]["map_origin"]["latitude_deg"], 35.6762);

  // --projector comes before it.
  const std::string other = scratch_.Write("other.yaml", "projector_type: Local\n");
  ASSERT_TRUE(Run({"load", "--map", "town", "--projector", other, map}).ok());
  EXPECT_EQ(maps_.record().begin.frame().projector().projector_type(), "Local");
  EXPECT_FALSE(maps_.record().begin.frame().has_origin());
}

TEST_F(MapCommands, LoadSaysNothingOfTheFrameWhereNothingIsKnown) {
  ASSERT_TRUE(Run({"load", "--map", "town", TwoClouds()}).ok());
  EXPECT_FALSE(maps_.record().begin.has_frame());
  EXPECT_TRUE(result_["map"]["frame"].is_null());
}

TEST_F(MapCommands, LoadRefusesMalformedAndDifferentProjectors) {
  const std::string map = TwoClouds();
  scratch_.Write("map/map_projector_info.yaml", "projector_type: MGRS\nvertical_datum: WGS84\n");
  const absl::Status malformed = Run({"load", "--map", "town", map});
  EXPECT_THAT(std::string(malformed.message()), HasSubstr("mgrs_grid must be a word"));
  scratch_.Write("map/map_projector_info.yaml",
                 "projector_type: MGRS\nvertical_datum: WGS84\nmgrs_grid: 54SUE\n");
  scratch_.Write("east/map_projector_info.yaml",
                 "projector_type: MGRS\nvertical_datum: WGS84\nmgrs_grid: 54SVE\n");
  fs::copy(scratch_.Path("map/a.pcd"), scratch_.Path("east/c.pcd"));
  const absl::Status different = Run({"load", "--map", "town", map, scratch_.Path("east")});
  EXPECT_THAT(std::string(different.message()), HasSubstr("must have one projector"));
  EXPECT_THAT(std::string(different.message()), HasSubstr("grid 54SVE"));
  EXPECT_TRUE(maps_.revisions().empty());
}

TEST_F(MapCommands, ExportAndImportKeepTheFrame) {
  const std::string map = TwoClouds();
  scratch_.Write("map/map_projector_info.yaml",
                 "projector_type: TransverseMercator\nvertical_datum: EGM2008\n"
                 "map_origin: {latitude: -33.8567844, longitude: 151.213108}\n"
                 "scale_factor: 0.9999\n");
  ASSERT_TRUE(Run({"load", "--map", "town", "--wgs84-origin", "-33.9,151.3,4.25,30", map}).ok());
  const std::string frame = maps_.record().begin.frame().SerializeAsString();
  const std::string out = scratch_.Path("saved");
  ASSERT_TRUE(Run({"export", "--map", "town", out}).ok());
  EXPECT_TRUE(fs::exists(out + "/map_projector_info.yaml"));
  ASSERT_TRUE(Run({"import", out}).ok());
  EXPECT_EQ(maps_.record().begin.frame().SerializeAsString(), frame);

  // A map without one leaves no file, and none of an earlier export.
  client::FakeMaps bare;
  const client::FakeServer server(bare.Behaviour());
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"map", "load", "--map", "town", map + "/a.pcd"},
        std::vector<std::string>{"map", "export", "--map", "town", out},
        std::vector<std::string>{"map", "import", out}}) {
    std::vector<std::string> arguments = line;
    arguments.insert(arguments.end(), {"--server", server.address()});
    const ParsedCommandLine parsed = ParseCommandLine(arguments);
    ASSERT_TRUE(parsed.work) << parsed.error;
    ASSERT_TRUE(parsed.work().ok());
  }
  EXPECT_FALSE(fs::exists(out + "/map_projector_info.yaml"));
  EXPECT_FALSE(bare.record().begin.has_frame());
}

TEST_F(MapCommands, ExportKeepsWhatIsThere) {
  ASSERT_TRUE(Run({"load", "--map", "town", TwoClouds()}).ok());
  const std::string out = scratch_.Path("saved");
  ASSERT_TRUE(Run({"export", "--map", "town", out}).ok());
  fs::resize_file(out + "/tiles/a.pcd", 300);
  const auto untouched = fs::last_write_time(out + "/tiles/b.pcd");
  ASSERT_TRUE(Run({"export", "--map", "town", out}).ok());
  EXPECT_EQ(result_["tiles_kept"], 1);
  EXPECT_EQ(result_["bytes_received"], 400 * 12);
  EXPECT_EQ(fs::last_write_time(out + "/tiles/b.pcd"), untouched);
  EXPECT_EQ(DigestOf(*ReadCloud(out + "/tiles/a.pcd")),
            DigestOf(*ReadCloud(scratch_.Path("map/a.pcd"))));
}

TEST_F(MapCommands, AnExportThatBreaksOffHasNoManifest) {
  ASSERT_TRUE(Run({"load", "--map", "town", TwoClouds()}).ok());
  const std::string out = scratch_.Path("saved");
  ASSERT_TRUE(Run({"export", "--map", "town", out}).ok());
  fs::remove(out + "/tiles/b.pcd");
  maps_.DamageTile("b");
  const absl::Status status = Run({"export", "--map", "town", out});
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("tile b"));
  EXPECT_FALSE(fs::exists(ManifestPath(out)));
  EXPECT_FALSE(Run({"import", out}).ok());
}

TEST_F(MapCommands, ImportRefusesADamagedTileByName) {
  ASSERT_TRUE(Run({"load", "--map", "town", TwoClouds()}).ok());
  const std::string out = scratch_.Path("saved");
  ASSERT_TRUE(Run({"export", "--map", "town", out}).ok());
  {
    std::fstream file(out + "/tiles/b.pcd", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-5, std::ios::end);
    file.put('x');
  }
  client::FakeMaps other;
  const client::FakeServer other_server(other.Behaviour());
  const ParsedCommandLine parsed =
      ParseCommandLine({"map", "import", "--server", other_server.address(), out});
  const absl::Status status = parsed.work().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("tile b is damaged"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("b.pcd"));
  EXPECT_TRUE(other.revisions().empty());
}

TEST(UploadNotes, SayWhenNoTileHasChanged) {
  client::UploadResult result;
  result.committed.mutable_map()->set_name("town");
  EXPECT_THAT(UploadNotes(result, /*staged=*/false, 0),
              HasSubstr("no tile has changed: the revision is the same as the one before\n"));
  EXPECT_THAT(UploadNotes(result, /*staged=*/true, 0),
              HasSubstr("no tile has changed: the revision is the same as the one in use\n"));
  EXPECT_EQ(UploadJson(result)["changed"], false);
  result.committed.set_tiles_replaced(1);
  EXPECT_EQ(UploadNotes(result, /*staged=*/false, 0), "");
  EXPECT_EQ(UploadJson(result)["changed"], true);
}

TEST(RevisionText, ThePreviousRevisionIsTheOneThatWasInUseBefore) {
  std::vector<v1::MapRevision> revisions(4);
  const v1::RevisionState states[] = {v1::REVISION_STATE_SUPERSEDED, v1::REVISION_STATE_SUPERSEDED,
                                      v1::REVISION_STATE_ACTIVE, v1::REVISION_STATE_STAGED};
  for (size_t i = 0; i < revisions.size(); ++i) {
    revisions[i].set_revision(3 + i);
    revisions[i].set_parent(2 + i);
    revisions[i].set_state(states[i]);
  }
  // Revision 4 was withdrawn: 5 was made from 3.
  revisions[2].set_parent(3);
  EXPECT_EQ(PreviousRevision("town", revisions).value(), 3u);
  revisions.erase(revisions.begin());
  EXPECT_THAT(std::string(PreviousRevision("town", revisions).status().message()),
              HasSubstr("revision 3 of map town, which was in use before, is no longer kept"));
  revisions[1].set_parent(0);
  EXPECT_EQ(PreviousRevision("town", revisions).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(MapCommands, RollbackMakesANewRevisionOfAnEarlierOne) {
  ASSERT_TRUE(Run({"load", "--map", "town", TwoClouds()}).ok());
  const client::FakeMaps::Tiles first = maps_.tiles();
  ASSERT_TRUE(Run({"load", "--map", "town", scratch_.Path("map/a.pcd")}).ok());
  ASSERT_EQ(maps_.tiles().size(), 1u);
  ASSERT_TRUE(Run({"rollback", "--map", "town", "--to", "1"}).ok());
  EXPECT_EQ(maps_.tiles(), first);
  EXPECT_EQ(maps_.revisions().size(), 3u);
  EXPECT_EQ(maps_.record().commit.comment(), "rollback to revision 1");
  EXPECT_FALSE(maps_.record().begin.create());
  EXPECT_EQ(Run({"rollback", "--map", "town", "--to", "9"}).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(Run({"history", "--map", "town"}).ok());
  ASSERT_EQ(result_["revisions"].size(), 3u);
  EXPECT_EQ(result_["revisions"][2]["parent"], 1);
  ASSERT_TRUE(Run({"tiles", "--map", "town", "--revision", "2"}).ok());
  EXPECT_EQ(result_["tiles"].size(), 1u);
}

TEST(MapManifest, FilesAreNamedAfterTiles) {
  EXPECT_EQ(TileFileName("x-20_y40.5"), "x-20_y40.5.pcd");
  EXPECT_EQ(TileFileName("../a b"), "%2E.%2Fa%20b.pcd");
  EXPECT_EQ(TileFileName("Straße"), "Stra%C3%9Fe.pcd");
  EXPECT_NE(TileFileName("a%2Fb"), TileFileName("a/b"));
  const std::string long_name = TileFileName(std::string(256, 'a'));
  EXPECT_EQ(long_name.size(), 204u);
  EXPECT_NE(long_name, TileFileName(std::string(255, 'a')));
}

TEST(MapManifest, SaysWhatIsWrongWithAFile) {
  const ScratchDir scratch;
  MapManifest manifest;
  manifest.map = "town";
  manifest.options.add_profiles("precise");
  manifest.options.mutable_cell_size_m()->set_value(0.7);
  manifest.tiles.push_back({"a/b", TileFileName("a/b"), Sha256Of("x"), 5, {1e6, 1.0 / 3.0, 0}, {}});
  const std::string directory = fs::path(scratch.Path("m/x")).parent_path().string();
  ASSERT_TRUE(WriteManifest(directory, manifest).ok());
  const absl::StatusOr<MapManifest> read = ReadManifest(directory);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->tiles.size(), 1u);
  EXPECT_EQ(read->tiles[0].sha256, manifest.tiles[0].sha256);
  EXPECT_EQ(read->tiles[0].origin, manifest.tiles[0].origin);
  EXPECT_EQ(read->options.cell_size_m().value(), 0.7);

  std::ifstream file(ManifestPath(directory));
  std::stringstream text;
  text << file.rdbuf();
  const json whole = json::parse(text.str());
  const auto refused = [&](const json& wrong, const std::string& says) {
    std::ofstream(ManifestPath(directory)) << wrong.dump();
    const absl::Status status = ReadManifest(directory).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(ManifestPath(directory)));
    EXPECT_THAT(std::string(status.message()), HasSubstr(says));
  };
  json wrong = whole;
  wrong["version"] = 2;
  refused(wrong, "newer");
  wrong = whole;
  wrong["tiles"][0]["file"] = "../../secret.pcd";
  refused(wrong, "secret");
  wrong = whole;
  wrong["tiles"].push_back(whole["tiles"][0]);
  refused(wrong, "twice");
  wrong = whole;
  wrong["tiles"][0]["sha256"] = "12";
  refused(wrong, "");
  wrong = whole;
  wrong.erase("map");
  refused(wrong, "map");
  refused(json("text"), "");
}

TEST(RevisionText, ShowsARevisionALine) {
  v1::MapRevision first;
  first.set_revision(1);
  first.set_state(v1::REVISION_STATE_SUPERSEDED);
  first.set_committed_at_ns(int64_t{1'700'000'000} * 1'000'000'000);
  first.set_tiles(400);
  first.set_points(12'345'678);
  first.set_tiles_added(400);
  first.set_comment("survey");
  v1::MapRevision second = first;
  second.set_revision(2);
  second.set_parent(1);
  second.set_state(v1::REVISION_STATE_STAGED);
  second.add_canary_vehicles("bus-7");
  second.set_tiles_added(1);
  second.set_tiles_replaced(2);
  second.set_tiles_removed(3);
  second.set_comment("");
  EXPECT_EQ(RevisionTableText({first, second}),
            "revision  from  state                       committed                tiles      points"
            "    +  ~  -  comment\n"
            "       1     -  superseded                  2023-11-14 22:13:20 UTC    400  12,345,678"
            "  400  0  0  survey\n"
            "       2     1  staged, tried by 1 vehicle  2023-11-14 22:13:20 UTC    400  12,345,678"
            "    1  2  3\n");
}

TEST(RevisionText, NamesTheFirstTilesOfAnEvent) {
  v1::WatchMapResponse event;
  event.set_kind(v1::MAP_EVENT_KIND_UPDATED);
  event.mutable_map()->set_name("town");
  event.mutable_map()->set_revision(7);
  EXPECT_EQ(MapEventText(event, 0), "1970-01-01 00:00:00 UTC  town updated, revision 7\n");
  for (int i = 0; i < 7; ++i) event.add_changed_tiles("t" + std::to_string(i));
  EXPECT_THAT(MapEventText(event, 0), HasSubstr(", tiles changed: t0, t1, t2, t3, t4 and 2 more"));
  event.set_tiles_omitted(true);
  EXPECT_THAT(MapEventText(event, 0), HasSubstr("many tiles changed"));
}

TEST(UploadText, ShowsUploadProgress) {
  client::UploadProgress progress;
  progress.tiles = 60;
  progress.counts.bytes_sent = 40 << 20;
  EXPECT_EQ(UploadText("loading town", 240, progress, 10.0, false),
            "loading town 60 of 240 tiles, 40.0 MiB sent, 4.0 MiB/s, 30 s left");
  progress.counts.tiles_reused = 20;
  EXPECT_THAT(UploadText("loading town", 240, progress, 10.0, false),
              HasSubstr("tiles, 20 there already, 40.0 MiB sent"));
  progress.broken = absl::UnavailableError("gone");
  progress.wait_s = 0.5;
  EXPECT_EQ(UploadText("loading town", 240, progress, 10.0, false),
            "loading town: the connection was lost (gone); again in 0.5 s");
}

}  // namespace
}  // namespace voxloc::cli
