// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "absl/strings/escaping.h"
#include "clients/cli/replay/replay_summary.h"

namespace voxloc::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Json SomeReplay(const std::string& map) {
  std::vector<ReplayRow> rows(3);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].index = i;
    rows[i].status = "OK";
    rows[i].answered = true;
    rows[i].accepted = true;
    rows[i].map_T_base = Pose();
  }
  ReplaySetting setting;
  setting.map = map;
  return ReplayJson(setting, SummarizeReplay(rows), rows);
}

std::string EmbeddedData(const std::string& html) {
  const std::string open = R"(<script id="voxloc-data" type="application/json">)";
  const size_t start = html.find(open) + open.size();
  return html.substr(start, html.find("</script>", start) - start);
}

TEST(Report, EmbedsItsDataAsJson) {
  MapPicture picture;
  PointCloud cloud;
  cloud.PushBack(1.0f, 2.0f, 0.0f);
  picture.Add(Pose(), cloud);
  const Json data = Json::parse(EmbeddedData(ReportHtml(SomeReplay("town"), picture)));
  EXPECT_EQ(data["replay"]["map"], "town");
  EXPECT_EQ(data["replay"]["results"].size(), 3u);
  EXPECT_EQ(data["picture"]["cells"], 1);
}

TEST(Report, NoNameInTheDataEndsTheScript) {
  const std::string name = "</script><script>alert(1)</script>";
  const std::string html = ReportHtml(SomeReplay(name), MapPicture());
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_EQ(Json::parse(EmbeddedData(html))["replay"]["map"], name);
}

TEST(Report, IsOneFileThatNeedsNoNetwork) {
  const std::string html = ReportHtml(SomeReplay("town"), MapPicture());
  EXPECT_THAT(html, Not(HasSubstr("http://")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
  EXPECT_THAT(html, Not(HasSubstr("<link")));
  EXPECT_FALSE(std::regex_search(html, std::regex("(src|href)\\s*=")));
  EXPECT_FALSE(std::regex_search(html, std::regex("url\\(")));
  EXPECT_THAT(html, Not(HasSubstr("{{"))) << "a part of the page is missing";
}

TEST(MapPicture, HoldsPointsWhereTheyAre) {
  MapPicture picture;
  PointCloud cloud;
  cloud.PushBack(0.1f, 0.1f, 0.0f);
  cloud.PushBack(0.1f, 0.1f, 2.0f);
  cloud.PushBack(10.1f, 0.1f, 0.0f);
  cloud.PushBack(std::nanf(""), 0.0f, 0.0f);
  const Pose pose{Eigen::Vector3d(400000.0, 4000000.0, 100.0), Eigen::Quaterniond::Identity()};
  picture.Add(pose, cloud);
  const MapPicture::Encoded encoded = picture.Encode();
  EXPECT_EQ(encoded.cells, 2u);
  EXPECT_EQ(encoded.low, Eigen::Vector2d(400000.0, 4000000.0));
  std::string bytes;
  ASSERT_TRUE(absl::Base64Unescape(encoded.base64, &bytes));
  ASSERT_EQ(bytes.size(), 12u);
  EXPECT_EQ(static_cast<uint8_t>(bytes[0]), 0);
  EXPECT_EQ(static_cast<uint8_t>(bytes[4]), 255);  // the fullest cell
  EXPECT_EQ(static_cast<uint8_t>(bytes[5]), 64);   // 2 m high
  EXPECT_EQ(static_cast<uint8_t>(bytes[6]), 40);   // 10 m in cells of 0.25 m
  EXPECT_EQ(static_cast<uint8_t>(bytes[11]), 0);
}

TEST(MapPicture, GrowsCoarserToStayWithinItsSize) {
  MapPicture picture;
  PointCloud cloud;
  for (int x = -50; x < 50; ++x) {
    for (int y = -50; y < 50; ++y) {
      cloud.PushBack(static_cast<float>(x), static_cast<float>(y), 0.0f);
    }
  }
  picture.Add(Pose(), cloud);
  EXPECT_EQ(picture.cells(), 10000u);
  const MapPicture::Encoded encoded = picture.Encode(800);
  EXPECT_LE(encoded.cells, 800u);
  EXPECT_GT(encoded.cells, 100u);
  EXPECT_EQ(encoded.cell_m, 4.0);
  EXPECT_EQ(encoded.low, Eigen::Vector2d(-52.0, -52.0));
}

TEST(MapPicture, OfNothingIsEmpty) {
  EXPECT_EQ(MapPicture().Encode().cells, 0u);
  EXPECT_EQ(MapPicture().Encode().base64, "");
}

}  // namespace
}  // namespace voxloc::cli
