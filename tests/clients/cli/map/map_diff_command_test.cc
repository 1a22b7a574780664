// SPDX-License-Identifier: Apache-2.0
//
// `voxloc map diff` between files, and between revisions of a map service in the test's process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/cloud/io/cloud_file.h"
#include "tests/clients/cli/map/map_command_test.h"
#include "tests/clients/cli/page_data.h"
#include "tests/core/cloud/io/cloud_bytes.h"

namespace voxloc::cli {
namespace {

using ::nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class MapDiffCommand : public MapCommandTest {
 protected:
  MapDiffCommand() {
    // a is the same before and after, and a box of 8 x 4 x 2 cubes stands in b, which is far away.
    PointCloud scattered = RandomCloud(400, 1, false);
    scattered.origin.x() = -1000.0;
    WriteTiles("before", scattered, RandomCloud(500, 2, false));
    PointCloud b = RandomCloud(500, 2, false);
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 4; ++j) {
        for (int k = 0; k < 2; ++k) {
          for (int n = 0; n < 5; ++n) {
            b.PushBack(500.1F + 0.5F * static_cast<float>(i), 500.1F + 0.5F * static_cast<float>(j),
                       0.1F + 0.5F * static_cast<float>(k));
          }
        }
      }
    }
    WriteTiles("after", scattered, b);
  }

  void WriteTiles(const std::string& folder, const PointCloud& a, const PointCloud& b) const {
    EXPECT_TRUE(WritePcd(scratch_.Path(folder + "/a.pcd"), a).ok());
    EXPECT_TRUE(WritePcd(scratch_.Path(folder + "/b.pcd"), b).ok());
  }

  void ExpectTheBox() const {
    EXPECT_EQ(result_["cubes_came"], 64);
    EXPECT_EQ(result_["cubes_went"], 0);
    ASSERT_EQ(result_["places"].size(), 1U);
    const json& place = result_["places"][0];
    EXPECT_EQ(place["kind"], "came");
    EXPECT_EQ(place["points"], 320);
    EXPECT_EQ(place["min"], json({500.0, 500.0, 0.0}));
    EXPECT_EQ(place["max"], json({504.0, 502.0, 1.0}));
  }
};

TEST_F(MapDiffCommand, ComparesDirectoriesAndWritesTheCubes) {
  const std::string ply = scratch_.Path("changed.ply");
  ASSERT_TRUE(Run({"diff", scratch_.Path("before"), scratch_.Path("after"), "--output", ply}).ok());
  ExpectTheBox();
  EXPECT_FALSE(result_.contains("tiles"));
  const auto cubes = ReadCloud(ply);
  ASSERT_TRUE(cubes.ok()) << cubes.status();
  ASSERT_EQ(cubes->size(), 64U);
  EXPECT_LE((cubes->Point(0) - Eigen::Vector3d(500.1, 500.1, 0.1)).norm(), 1e-4);

  const std::string csv = scratch_.Path("changed.csv");
  ASSERT_TRUE(Run({"diff", scratch_.Path("after"), scratch_.Path("before"), "--output", csv}).ok());
  EXPECT_EQ(result_["cubes_went"], 64);
  EXPECT_THAT(FileText(csv), StartsWith("x,y,z,points,kind\n500.100,500.100,0.100,5,went\n"));
}

TEST_F(MapDiffCommand, ShowsTheCubesInAPage) {
  const std::string page = scratch_.Path("changes.html");
  ASSERT_TRUE(Run({"diff", scratch_.Path("before"), scratch_.Path("after"), "--html", page}).ok());
  const json data = json::parse(EmbeddedData(FileText(page)), nullptr, false);
  ASSERT_EQ(data["layers"].size(), 2U);
  EXPECT_EQ(data["layers"][0]["name"], "came");
  EXPECT_EQ(data["layers"][0]["count"], 64);
  EXPECT_EQ(data["layers"][1]["count"], 0);
  EXPECT_EQ(data["places"], result_["places"]);
  EXPECT_EQ(data["tiles"].size(), 2U) << "those of the map after";
  // The first cube spans 500 to 500.5 m, its half edge is 250 mm.
  const json& block = data["layers"][0]["blocks"][0];
  const std::string bytes = PackedBytes(block);
  ASSERT_GE(bytes.size(), 18U);
  EXPECT_NEAR(block["origin"][0].get<double>() + 0.005 * PackedInt16(bytes, 0), 500.25, 0.003);
  EXPECT_EQ(PackedInt16(bytes, 3), 250);
  EXPECT_EQ(PackedInt16(bytes, 4), 0);
}

TEST_F(MapDiffCommand, ComparesRevisionsByTheTilesThatDiffer) {
  ASSERT_TRUE(Run({"load", "--map", "town", scratch_.Path("before")}).ok());
  ASSERT_TRUE(Run({"load", "--map", "town", scratch_.Path("after")}).ok());
  ASSERT_TRUE(Run({"diff", "town@1", "town"}).ok());
  EXPECT_EQ(result_["before"], "town@1");
  EXPECT_EQ(result_["after"], "town@2");
  EXPECT_EQ(result_["tiles"], json({{"came", 0}, {"went", 0}, {"changed", 1}, {"same", 1}}));
  ExpectTheBox();

  // The tile that is the same is not read.
  maps_.DamageTile("a");
  EXPECT_TRUE(Run({"diff", "town@1", "town@2"}).ok());
  maps_.DamageTile("b");
  EXPECT_EQ(Run({"diff", "town@1", "town@2"}).code(), absl::StatusCode::kDataLoss);
}

TEST_F(MapDiffCommand, ReadsTilesBesideOnesThatDiffer) {
  // Along x: a; b, 0.4 m behind it; c, 0.6 m behind b.
  const auto load = [this](float a_height) {
    for (const auto& [name, from] : {std::pair("a", -10.0F), {"b", 0.4F}, {"c", 11.0F}}) {
      PointCloud cloud;
      const float height = *name == 'a' ? a_height : 0.0F;
      for (const float x : {0.0F, 5.0F, 10.0F}) cloud.PushBack(from + x, -3.0F, height);
      EXPECT_TRUE(WritePcd(scratch_.Path(std::string("row/") + name + ".pcd"), cloud).ok());
    }
    EXPECT_TRUE(Run({"load", "--map", "row", scratch_.Path("row")}).ok());
  };
  load(0.0F);
  load(0.2F);
  maps_.DamageTile("c");
  EXPECT_TRUE(Run({"diff", "row@1", "row@2"}).ok());
  maps_.DamageTile("b");
  EXPECT_EQ(Run({"diff", "row@1", "row@2"}).code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(Run({"diff", "row@1", "row@2", "--cube", "0.3"}).ok());
}

TEST_F(MapDiffCommand, ComparesARevisionWithFiles) {
  ASSERT_TRUE(Run({"load", "--map", "town", scratch_.Path("before")}).ok());
  ASSERT_TRUE(Run({"diff", "town", scratch_.Path("after")}).ok());
  ExpectTheBox();
}

TEST_F(MapDiffCommand, OfAnExportTheTilesOfItsManifestCount) {
  ASSERT_TRUE(Run({"load", "--map", "town", scratch_.Path("after")}).ok());
  const std::string saved = scratch_.Path("saved");
  ASSERT_TRUE(Run({"export", "--map", "town", saved}).ok());
  // As an earlier export may have left it.
  ASSERT_TRUE(WritePcd(saved + "/tiles/left.pcd", RandomCloud(500, 3, false)).ok());
  ASSERT_TRUE(Run({"diff", "town", saved, "--min-points", "1"}).ok());
  EXPECT_EQ(result_["cubes_came"], 0);
  EXPECT_EQ(result_["cubes_went"], 0);
  ASSERT_TRUE(Run({"diff", scratch_.Path("before"), saved}).ok());
  ExpectTheBox();
}

TEST_F(MapDiffCommand, WhatCannotBeComparedIsAnErrorThatSaysSo) {
  ASSERT_TRUE(Run({"load", "--map", "town", scratch_.Path("before")}).ok());
  EXPECT_THAT(std::string(Run({"diff", "town@x", "town"}).message()), HasSubstr("MAP@REVISION"));
  EXPECT_EQ(Run({"diff", "town@9", "town"}).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Run({"diff", "town", "town", "--cube", "0"}).message()),
              HasSubstr("--cube"));
  EXPECT_THAT(std::string(Run({"diff", "town", "town", "--output", "x.las"}).message()),
              HasSubstr(".csv or .ply"));
}

}  // namespace
}  // namespace voxloc::cli
