// SPDX-License-Identifier: Apache-2.0

#include <clocale>
#include <filesystem>
#include <string>
#include <vector>

#include "clients/dataset/cloud_sources.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/real_data.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kYaml = "pointcloud_map_metadata.yaml";

std::string AsciiPcd(const std::string& line) {
  return "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 1\nHEIGHT 1\n"
         "POINTS 1\nDATA ascii\n" +
         line + "\n";
}

MapSourceOptions Posed(const std::string& poses) {
  MapSourceOptions options;
  options.poses = poses;
  return options;
}

std::vector<std::string> IdsOf(const std::vector<TileSource>& sources) {
  std::vector<std::string> ids;
  for (const TileSource& source : sources) ids.push_back(source.id);
  return ids;
}

TEST(MapSourceTest, FilesAndDirectoriesKeepTheirOrder) {
  const ScratchDir scratch;
  const std::string single = scratch.Write("z.pcd", AsciiPcd("1 2 3"));
  scratch.Write("clouds/b.ply", "");
  scratch.Write("clouds/a.pcd", "");
  scratch.Write("clouds/notes.txt", "");
  const auto sources = ResolveMapSources({single, scratch.Path("clouds")});
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_THAT(IdsOf(*sources), ElementsAre("z", "a", "b"));
  EXPECT_FALSE((*sources)[0].map_T_cloud.has_value());
  EXPECT_FALSE((*sources)[0].bounds.has_value());
  const auto tile = LoadTile((*sources)[0]);
  ASSERT_TRUE(tile.ok()) << tile.status();
  EXPECT_EQ(tile->Point(0), Eigen::Vector3d(1, 2, 3));
  EXPECT_FALSE(LoadTile((*sources)[1]).ok());  // an empty file, found when it is read
}

TEST(MapSourceTest, EqualNamesGetDistinctIds) {
  const ScratchDir scratch;
  const auto sources =
      ResolveMapSources({scratch.Write("a/map.pcd", ""), scratch.Write("b/map.pcd", ""),
                         scratch.Write("c/map.ply", "")});
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_THAT(IdsOf(*sources), ElementsAre("map", "map-2", "map-3"));
}

TEST(MapSourceTest, PosesPlaceTheClouds) {
  const ScratchDir scratch;
  const std::string first = scratch.Write("1.pcd", AsciiPcd("1 0 0"));
  const std::string second = scratch.Write("2.pcd", AsciiPcd("1 0 0"));
  const std::string poses =
      scratch.Write("poses.txt", "1 0 0 10 0 1 0 0 0 0 1 0\n0 -1 0 0 1 0 0 20 0 0 1 0\n");
  const auto sources = ResolveMapSources({first, second}, Posed(poses));
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_LT((LoadTile((*sources)[0])->Point(0) - Eigen::Vector3d(11, 0, 0)).norm(), 1e-6);
  EXPECT_LT((LoadTile((*sources)[1])->Point(0) - Eigen::Vector3d(0, 21, 0)).norm(), 1e-6);

  const auto too_few = ResolveMapSources({first}, Posed(poses));
  EXPECT_EQ(too_few.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(too_few.status().message()),
              AllOf(HasSubstr("poses.txt"), HasSubstr("2 poses for 1 clouds")));
}

TEST(MapSourceTest, PosesGoToTheCloudsInNumericOrder) {
  const ScratchDir scratch;
  std::string lines;
  for (const int number : {0, 1, 2, 10}) {
    scratch.Write("scans/" + std::to_string(number) + ".pcd",
                  AsciiPcd(std::to_string(number) + " 0 0"));
    lines += "1 0 0 " + std::to_string(100 * number) + " 0 1 0 0 0 0 1 0\n";
  }
  InputNotes notes;
  const auto sources =
      ResolveMapSources({scratch.Path("scans")}, Posed(scratch.Write("poses.txt", lines)), &notes);
  ASSERT_TRUE(sources.ok()) << sources.status();
  ASSERT_THAT(IdsOf(*sources), ElementsAre("0", "1", "2", "10"));
  for (const TileSource& source : *sources) {
    EXPECT_EQ(LoadTile(source)->Point(0).x(), 101 * std::stoi(source.id));
  }
  EXPECT_THAT(notes.remarks, ElementsAre("poses are paired with the clouds in the numeric order of "
                                         "their names: 0.pcd, 1.pcd, 2.pcd, 10.pcd"));
}

TEST(MapSourceTest, TilesOfMetadataAreInNumericOrder) {
  const ScratchDir scratch;
  std::string yaml = "x_resolution: 20.0\ny_resolution: 20.0\n";
  for (const char* name : {"2.pcd", "10.pcd", "1.pcd"}) {
    scratch.Write(std::string("map/") + name, "");
    yaml += std::string(name) + ": [0, 0]\n";
  }
  scratch.Write(std::string("map/") + kYaml, yaml);
  EXPECT_THAT(IdsOf(ResolveMapSources({scratch.Path("map")}).value()), ElementsAre("1", "2", "10"));
}

TEST(MapSourceTest, LimitsReachTheReader) {
  const ScratchDir scratch;
  const auto sources = ResolveMapSources({scratch.Write("1.pcd", AsciiPcd("1 0 0"))});
  CloudReadOptions limits;
  limits.max_points = 0;
  EXPECT_EQ(LoadTile((*sources)[0], limits).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(MapSourceTest, AutowareMapsAreReadAsTheirMetadataSays) {
  const ScratchDir scratch;
  scratch.Write(std::string("map/") + kYaml,
                "x_resolution: 20.0\ny_resolution: 10\nb.pcd: [-20, 40]\n\"a.pcd\": [0.5, 40]\n");
  const std::string inside = scratch.Write("map/pointcloud_map.pcd/b.pcd", AsciiPcd("-1 45 0"));
  const std::string beside = scratch.Write("map/a.pcd", AsciiPcd("1 45 0"));
  scratch.Write("map/pointcloud_map.pcd/unlisted.pcd", AsciiPcd("0 0 0"));
  const auto sources = ResolveMapSources({scratch.Path("map")});
  ASSERT_TRUE(sources.ok()) << sources.status();
  ASSERT_THAT(IdsOf(*sources), ElementsAre("a", "b"));
  EXPECT_EQ((*sources)[0].path, beside);
  EXPECT_EQ((*sources)[1].path, inside);
  ASSERT_TRUE((*sources)[1].bounds.has_value());
  EXPECT_EQ((*sources)[1].bounds->min, Eigen::Vector2d(-20, 40));
  EXPECT_EQ((*sources)[1].bounds->max, Eigen::Vector2d(0, 50));
  EXPECT_EQ((*sources)[0].bounds->min, Eigen::Vector2d(0.5, 40));
  EXPECT_EQ(LoadTile((*sources)[1])->size(), 1u);
}

TEST(MapSourceTest, TheLocaleDoesNotChangeTheMetadata) {
  const ScratchDir scratch;
  scratch.Write(std::string("map/") + kYaml,
                "x_resolution: 20.5\ny_resolution: 20.5\na.pcd: [1.5, 2.5]\n");
  scratch.Write("map/a.pcd", "");
  const std::string before = std::setlocale(LC_ALL, nullptr);
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  const auto sources = ResolveMapSources({scratch.Path("map")});
  std::setlocale(LC_ALL, before.c_str());
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_EQ((*sources)[0].bounds->max, Eigen::Vector2d(22.0, 23.0));
}

TEST(MapSourceTest, BrokenMetadataIsNamedWithItsLine) {
  const ScratchDir scratch;
  scratch.Write("map/a.pcd", "");
  const std::string head = "x_resolution: 20.0\ny_resolution: 20.0\n";
  const auto error = [&](const std::string& yaml) {
    scratch.Write(std::string("map/") + kYaml, yaml);
    const auto sources = ResolveMapSources({scratch.Path("map")});
    EXPECT_EQ(sources.status().code(), absl::StatusCode::kInvalidArgument) << yaml;
    EXPECT_THAT(std::string(sources.status().message()), HasSubstr(kYaml));
    return std::string(sources.status().message());
  };
  EXPECT_THAT(error(head + "a.pcd: [1, 2\n"), HasSubstr("not YAML"));
  EXPECT_THAT(error(head + "a.pcd: [1]\n"), AllOf(HasSubstr("line 3"), HasSubstr("two numbers")));
  EXPECT_THAT(error(head + "a.pcd: here\n"), HasSubstr("[min_x, min_y]"));
  EXPECT_THAT(error(head + "a.pcd: [1, x]\n"), HasSubstr("finite numbers"));
  EXPECT_THAT(error(head + "a.pcd: [1, .nan]\n"), HasSubstr("finite numbers"));
  EXPECT_THAT(error("x_resolution: 0\ny_resolution: 1\na.pcd: [0, 0]\n"), HasSubstr("over 0"));
  EXPECT_THAT(error("y_resolution: 1\na.pcd: [0, 0]\n"), HasSubstr("x_resolution is missing"));
  EXPECT_THAT(error("x_resolution: 1\na.pcd: [0, 0]\n"), HasSubstr("y_resolution is missing"));
  EXPECT_THAT(error(head), HasSubstr("no tile"));
  EXPECT_THAT(error(head + "a.pcd: [0, 0]\na.pcd: [1, 1]\n"), HasSubstr("named twice"));
  EXPECT_THAT(error("- a\n- b\n"), HasSubstr("must be a map"));
  EXPECT_THAT(error(""), HasSubstr("must be a map"));
  EXPECT_THAT(error(head + "? [1, 2]\n: [0, 0]\n"), HasSubstr("not a word"));
}

TEST(MapSourceTest, TilesThatAreMissingAreNamed) {
  const ScratchDir scratch;
  scratch.Write(std::string("map/") + kYaml,
                "x_resolution: 20.0\ny_resolution: 20.0\ngone.pcd: [0, 0]\n");
  const auto sources = ResolveMapSources({scratch.Path("map")});
  EXPECT_EQ(sources.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(sources.status().message()), HasSubstr("gone.pcd"));
  EXPECT_EQ(ResolveMapSources({scratch.Path("nowhere")}).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ResolveMapSources({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(MapSourceTest, RealScansArePlacedByTheirPoses) {
  VOXLOC_REAL_DATA_OR_SKIP(data);
  const auto sources =
      ResolveMapSources({data + "/ouster_os1/scans"}, Posed(data + "/ouster_os1/poses.txt"));
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_THAT(IdsOf(*sources), ElementsAre("000000", "000001", "000002"));
  const auto tile = LoadTile((*sources)[2]);
  ASSERT_TRUE(tile.ok()) << tile.status();
  EXPECT_LT((tile->origin - Eigen::Vector3d(0.4978, 0.0060, -0.0006)).norm(), 1e-3);
}

}  // namespace
}  // namespace voxloc
