// SPDX-License-Identifier: Apache-2.0
//
// The commands on maps apart from load and diff, and what they print.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "clients/cli/map/map_load.h"
#include "clients/cli/map/map_manifest.h"
#include "clients/cli/output/message_text.h"
#include "core/cloud/cloud_digest.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/clients/cli/map/map_command_test.h"

namespace voxloc::cli {
namespace {

namespace fs = std::filesystem;

using ::nlohmann::json;
using ::testing::HasSubstr;

using MapCommands = MapCommandTest;

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
