// SPDX-License-Identifier: Apache-2.0
//
// `voxloc map load` before a map service in the test's process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "clients/dataset/tile_spill.h"
#include "core/cloud/cloud_digest.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/clients/cli/map/map_command_test.h"
#include "tests/clients/dataset/split_into_tiles.h"
#include "tests/core/cloud/io/cloud_bytes.h"
#include "tests/core/cloud/io/las_bytes.h"

namespace voxloc::cli {
namespace {

namespace fs = std::filesystem;

using ::nlohmann::json;
using ::testing::HasSubstr;

using MapLoadCommand = MapCommandTest;

client::FakeMaps::Tiles DigestsOf(const std::vector<TileCloud>& tiles) {
  client::FakeMaps::Tiles digests;
  for (const TileCloud& tile : tiles) digests[tile.id] = ToBytes(DigestOf(tile.cloud));
  return digests;
}

TEST_F(MapLoadCommand, MakesATileOfEachCloud) {
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

TEST_F(MapLoadCommand, CutsManyCloudsAsIfTheyWereOne) {
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

TEST_F(MapLoadCommand, SaysWhatTheMapIsLike) {
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

TEST_F(MapLoadCommand, PlacesCloudsByThePosesOfTheVehicleAndTheMountOfTheSensor) {
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

TEST_F(MapLoadCommand, LeavesEmptyCloudsOfADirectoryOutAndNamesThem) {
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

TEST_F(MapLoadCommand, CutsASingleLargeCloud) {
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

TEST_F(MapLoadCommand, SendsACloudThatIsNotLargeAsOneTile) {
  if (!absl::string_view(VOXLOC_SANITIZE).empty()) {
    GTEST_SKIP() << "sending five million points takes minutes in a sanitizer build";
  }
  const std::string path = scratch_.Path("large.bin");
  WriteLargeCloud(path, 5'000'000);
  ASSERT_TRUE(Run({"load", "--map", "town", path}).ok());
  ASSERT_EQ(maps_.tiles().size(), 1u);
  EXPECT_EQ(maps_.tiles().begin()->first, "large");
}

TEST_F(MapLoadCommand, CutsAllCloudsWhereOneIsLarge) {
  const std::string path = scratch_.Path("large.bin");
  WriteLargeCloud(path, 5'000'001);
  ASSERT_TRUE(Run({"load", "--map", "town", path, TwoClouds() + "/b.pcd"}).ok());
  EXPECT_EQ(result_["clouds"], 2);
  EXPECT_EQ(result_["points"], 503);
  EXPECT_EQ(maps_.tiles().count("b"), 0u);
}

TEST_F(MapLoadCommand, TakesTheRegionAndThinsTiles) {
  const PointCloud cloud = RandomCloud(2000, 4, false);
  const std::string path = scratch_.Path("map/c.pcd");
  ASSERT_TRUE(WritePcd(path, cloud).ok());
  std::set<std::vector<double>> voxels;
  size_t inside = 0;
  for (size_t i = 0; i < cloud.size(); ++i) {
    const Eigen::Vector3d point = cloud.Point(i);
    if (point.x() < -50.0 || point.x() > 50.0 || point.y() < -20.0 || point.y() > 90.0 ||
        point.z() < -5.0 || point.z() > 5.0) {
      continue;
    }
    ++inside;
    const Eigen::Vector3d voxel = (point / 10.0).array().floor();
    voxels.insert({voxel.x(), voxel.y(), voxel.z()});
  }
  ASSERT_LT(voxels.size(), inside);
  for (const char* tile_size : {"0", "50"}) {
    ASSERT_TRUE(Run({"load", "--map", "town", "--tile-size", tile_size, "--region",
                     "-50,-20,-5,50,90,5", path})
                    .ok());
    EXPECT_EQ(result_["points"], inside);
    ASSERT_TRUE(Run({"load", "--map", "town", "--tile-size", tile_size, "--region",
                     "-50,-20,-5,50,90,5", "--leaf", "10", path})
                    .ok());
    EXPECT_EQ(result_["points"], voxels.size());
  }
  // A cloud without a point there is left out; a map without one is none.
  ASSERT_TRUE(
      Run({"load", "--map", "town", "--region", "4e5,4e6,-50,5e5,5e6,50", TwoClouds()}).ok());
  EXPECT_EQ(result_["tiles"], 1);
  EXPECT_EQ(result_["skipped"].size(), 2u);
  EXPECT_THAT(
      std::string(Run({"load", "--map", "town", "--region", "0,0,500,1,1,501", path}).message()),
      HasSubstr("must have finite points"));
  EXPECT_THAT(
      std::string(Run({"load", "--map", "town", "--region", "5,0,0,1,1,1", path}).message()),
      HasSubstr("box.min.x must be at most box.max.x"));
}

TEST_F(MapLoadCommand, TakesHeightsAboveTheGroundOfTiles) {
  // Two places, 60 m and 5 m high, with a post on the first; the second is bare.
  PointCloud cloud;
  for (int i = 0; i < 100; ++i) {
    const float x = 0.5F * static_cast<float>(i % 10);
    const float y = 0.5F * static_cast<float>(i / 10);
    cloud.PushBack(x, y, 60.0F);
    cloud.PushBack(x + 100.0F, y, 5.0F);
  }
  for (const float z : {60.5F, 61.0F, 63.0F}) cloud.PushBack(2.2F, 2.2F, z);
  ASSERT_TRUE(WritePcd(scratch_.Path("map/a.pcd"), cloud).ok());
  const std::string path = scratch_.Path("map/a.pcd");
  for (const char* tile_size : {"0", "50"}) {
    ASSERT_TRUE(
        Run({"load", "--map", "town", "--tile-size", tile_size, "--above-ground", "0.5,2", path})
            .ok());
    EXPECT_EQ(result_["points"], 2);
    EXPECT_EQ(result_["tiles"], 1);
    EXPECT_EQ(maps_.tiles().size(), 1u);
    ASSERT_TRUE(Run({"load", "--map", "town", "--tile-size", tile_size, "--above-ground", "0,0.2",
                     "--leaf", "10", path})
                    .ok());
    EXPECT_EQ(result_["points"], 2);
    EXPECT_THAT(std::string(Run({"load", "--map", "town", "--tile-size", tile_size,
                                 "--above-ground", "10,20", path})
                                .message()),
                HasSubstr("must have finite points"));
  }
  for (const char* limits : {"2,1", "-1,2"}) {
    EXPECT_THAT(
        std::string(Run({"load", "--map", "town", absl::StrCat("--above-ground=", limits), path})
                        .message()),
        HasSubstr("--above-ground MIN,MAX must be from 0 and ascend (got "));
  }
}

TEST_F(MapLoadCommand, TransformsTheSystemThatALasFileStates) {
  LasFile file;
  file.offset = {386'000.0, 3'946'000.0, 40.0};
  file.points = {{0, 0, 0, 1, false}, {5000, 6000, 300, 1, false}};
  file.vlr_count = 1;
  file.vlrs = GeoKeysVlr({{1024, 0, 1}, {3072, 0, 32654}});
  scratch_.Write("survey/a.las", file.ToBytes());
  const std::string survey = scratch_.Path("survey");
  scratch_.Write("survey/map_projector_info.yaml",
                 "projector_type: MGRS\nvertical_datum: WGS84\nmgrs_grid: 54SUE\n");
  for (const char* crs : {"auto", "EPSG:32654"}) {
    for (const char* tile_size : {"0", "1000"}) {
      const absl::Status status =
          Run({"load", "--map", "town", "--crs", crs, "--tile-size", tile_size, survey});
      if (status.code() == absl::StatusCode::kFailedPrecondition) {
        GTEST_SKIP() << "without PROJ (package proj-bin): " << status;
      }
      ASSERT_TRUE(status.ok()) << status;
      const std::vector<double> min = result_["bounds"]["min"];
      const std::vector<double> max = result_["bounds"]["max"];
      for (size_t axis = 0; axis < 3; ++axis) {
        EXPECT_NEAR(min[axis], std::vector<double>({86'000, 46'000, 40})[axis], 1e-3);
        EXPECT_NEAR(max[axis], std::vector<double>({86'050, 46'060, 43})[axis], 1e-3);
      }
    }
  }
  EXPECT_THAT(result_["remarks"].dump(), HasSubstr("WGS 84 / UTM zone 54N"));

  // Feet are refused, unless they are transformed.
  file.vlrs = GeoKeysVlr({{1024, 0, 1}, {3072, 0, 2263}, {3076, 0, 9003}, {4096, 0, 6360}});
  file.offset = {987'000.0, 200'000.0, 40.0};
  const std::string feet = scratch_.Write("feet.las", file.ToBytes());
  EXPECT_FALSE(Run({"load", "--map", "york", feet}).ok());
  ASSERT_TRUE(Run({"load", "--map", "york", "--crs", "auto", "--keep-heights", "--wgs84-origin",
                   "40.7,-74", feet})
                  .ok());
  EXPECT_NEAR(result_["extent_m"][0].get<double>(), 50.0 * 1200.0 / 3937.0, 0.1);
}

TEST_F(MapLoadCommand, TakesDegreesOfLasFilesAndText) {
  // A metre in x and in y on the equator, to a tenth of a millimetre: 6378137 m * pi / 180 in a
  // degree east, 6335439.3 m * pi / 180 to the north; what UTM makes of it is 0.9996 as long.
  const double east_deg = 1.0 / (6'378'137.0 * M_PI / 180.0 * 0.9996);
  const double north_deg = 1.0 / (6'335'439.327 * M_PI / 180.0 * 0.9996);
  LasFile file;
  file.scale = {1e-10, 1e-10, 0.001};
  file.offset = {9.0, 0.0, 500.0};
  file.points = {{0, 0, 0, 1, false},
                 {static_cast<int32_t>(std::lround(east_deg * 1e10)),
                  static_cast<int32_t>(std::lround(north_deg * 1e10)), 250, 1, false}};
  file.vlr_count = 1;
  file.vlrs = GeoKeysVlr({{1024, 0, 2}, {2048, 0, 4326}, {4096, 0, 5030}});
  const std::string las = scratch_.Write("degrees/a.las", file.ToBytes());
  const std::string text = scratch_.Write(
      "degrees/b.csv", absl::StrFormat("9,0,500\n%.12f,%.12f,500.25\n", 9.0 + east_deg, north_deg));
  const std::string yaml =
      scratch_.Write("utm.yaml",
                     "projector_type: LocalCartesianUTM\nvertical_datum: WGS84\n"
                     "map_origin:\n  latitude: 0.0\n  longitude: 9.0\n");
  for (const auto& [crs, path] :
       {std::pair("auto", las), std::pair("EPSG:4326", las), std::pair("EPSG:4979", text)}) {
    for (const char* tile_size : {"0", "1000"}) {
      const absl::Status status = Run({"load", "--map", "town", "--crs", crs, "--tile-size",
                                       tile_size, "--projector", yaml, path});
      if (status.code() == absl::StatusCode::kFailedPrecondition) {
        GTEST_SKIP() << "without PROJ (package proj-bin): " << status;
      }
      ASSERT_TRUE(status.ok()) << status;
      const std::vector<double> extent = result_["extent_m"];
      EXPECT_NEAR(extent[0], 1.0, 2e-4);
      EXPECT_NEAR(extent[1], 1.0, 2e-4);
      EXPECT_NEAR(extent[2], 0.25, 2e-4);
    }
  }
  // Of no use without a system, and not in formats that are read as float32.
  EXPECT_THAT(std::string(Run({"load", "--map", "town", las}).message()), HasSubstr("--crs auto"));
  EXPECT_THAT(std::string(Run({"load", "--map", "town", "--crs", "EPSG:4326", "--projector", yaml,
                               TwoClouds()})
                              .message()),
              HasSubstr("a.pcd: a file with coordinates in degrees, by WGS 84, must be .las"));
}

TEST_F(MapLoadCommand, SaysWhatBecomesOfHeights) {
  LasFile file;
  file.minor = 4;
  file.format = 6;
  file.offset = {691'000.0, 5'334'000.0, 500.0};
  file.points = {{0, 0, 0, 1, false}, {5000, 6000, 300, 1, false}};
  file.vlr_count = 1;
  file.vlrs = GeoKeysVlr({{1024, 0, 1}, {3072, 0, 32632}, {4096, 0, 3855}});
  const std::string las = scratch_.Write("a.las", file.ToBytes());
  std::string yaml =
      "projector_type: LocalCartesianUTM\nvertical_datum: EGM2008\n"
      "map_origin:\n  latitude: 0.0\n  longitude: 9.0\n";
  const std::string egm2008 = scratch_.Write("egm2008.yaml", yaml);
  yaml.replace(yaml.find("EGM2008"), 7, "WGS84");
  const std::string wgs84 = scratch_.Write("wgs84.yaml", yaml);
  const absl::Status status =
      Run({"load", "--map", "town", "--crs", "auto", "--projector", egm2008, las});
  if (status.code() == absl::StatusCode::kFailedPrecondition) {
    GTEST_SKIP() << "without PROJ (package proj-bin): " << status;
  }
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_NEAR(result_["bounds"]["min"][2].get<double>(), 500.0, 1e-3);
  EXPECT_THAT(result_["remarks"].dump(), HasSubstr("heights of EGM2008 height become heights above "
                                                   "the geoid EGM2008"));
  EXPECT_EQ(result_["doubts"], json::array());
  ASSERT_TRUE(
      Run({"load", "--map", "town", "--crs", "auto", "--keep-heights", "--projector", wgs84, las})
          .ok());
  EXPECT_NEAR(result_["bounds"]["min"][2].get<double>(), 500.0, 1e-3);
  EXPECT_THAT(result_["doubts"].dump(),
              HasSubstr("heights of EGM2008 height are taken as they are, "
                        "whatever the map's are above"));
  EXPECT_FALSE(Run({"load", "--map", "town", "--keep-heights", las}).ok());
}

TEST_F(MapLoadCommand, ASystemNeedsToBeStatedAndTheMapToBePlaced) {
  const std::string map = TwoClouds();
  EXPECT_THAT(std::string(Run({"load", "--map", "town", "--crs", "auto", map}).message()),
              HasSubstr("--projector FILE, or --wgs84-origin"));
  EXPECT_THAT(
      std::string(Run({"load", "--map", "town", "--crs", "auto", "--wgs84-origin", "48,11", map})
                      .message()),
      HasSubstr("a.pcd: the file must be LAS and state its coordinate reference system"));
  EXPECT_THAT(
      std::string(
          Run({"load", "--map", "town", "--crs", "auto", "--poses", "p.txt", map}).message()),
      HasSubstr("--poses"));
}

TEST_F(MapLoadCommand, FlagsOfACommitReachTheServer) {
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

TEST_F(MapLoadCommand, TakesTheProjectorOfAnAutowareMap) {
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

TEST_F(MapLoadCommand, SaysNothingOfTheFrameWhereNothingIsKnown) {
  ASSERT_TRUE(Run({"load", "--map", "town", TwoClouds()}).ok());
  EXPECT_FALSE(maps_.record().begin.has_frame());
  EXPECT_TRUE(result_["map"]["frame"].is_null());
}

TEST_F(MapLoadCommand, RefusesMalformedAndDifferentProjectors) {
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

}  // namespace
}  // namespace voxloc::cli
