// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "clients/cli/replay/replay_results.h"
#include "tests/clients/cli/page_data.h"
#include "tests/support/scratch_dir.h"

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

TEST(Report, EmbedsItsDataAsJson) {
  ReportContent content;
  PointCloud cloud;
  cloud.PushBack(1.0f, 2.0f, 0.0f);
  content.picture.Add(Pose(), cloud);
  const Json data = Json::parse(EmbeddedData(ReportHtml(SomeReplay("town"), content)));
  EXPECT_EQ(data["replay"]["map"], "town");
  EXPECT_EQ(data["replay"]["results"].size(), 3u);
  EXPECT_EQ(data["picture"]["cells"], 1);
}

TEST(Report, NoNameInTheDataEndsTheScript) {
  const std::string name = "</script><script>alert(1)</script>";
  const std::string html = ReportHtml(SomeReplay(name), {});
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_EQ(Json::parse(EmbeddedData(html))["replay"]["map"], name);
}

TEST(Report, IsOneFileThatNeedsNoNetwork) {
  const std::string html = ReportHtml(SomeReplay("town"), {});
  EXPECT_THAT(html, Not(HasSubstr("http://")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
  EXPECT_THAT(html, Not(HasSubstr("<link")));
  EXPECT_FALSE(std::regex_search(html, std::regex("(src|href)\\s*=")));
  EXPECT_FALSE(std::regex_search(html, std::regex("url\\(")));
  EXPECT_THAT(html, Not(HasSubstr("{{"))) << "a part of the page is missing";
}

TEST(Report, ThinsLongDrivesAndKeepsTheScansWithPoints) {
  Json replay = SomeReplay("town");
  const Json row = replay["results"][0];
  replay["results"] = Json::array();
  const size_t scans = 2 * kMaxReportRows + 1;
  for (size_t i = 0; i < scans; ++i) {
    replay["results"].push_back(row);
    replay["results"].back()["index"] = i;
  }
  ReportContent content;
  content.views.scans.emplace_back();
  content.views.scans.back().index = 4;  // not a multiple of the step
  const Json data = Json::parse(EmbeddedData(ReportHtml(replay, content)));
  EXPECT_EQ(data["row_step"], 3);
  const Json& rows = data["replay"]["results"];
  EXPECT_LE(rows.size(), kMaxReportRows + 1);
  EXPECT_EQ(rows[1]["index"], 3);
  EXPECT_EQ(rows[2]["index"], 4);
  EXPECT_EQ(rows[3]["index"], 6);
}

TEST(Report, RowsHaveThePositionsCovariance) {
  Json row = SomeReplay("town")["results"][0];
  EXPECT_TRUE(ReportRow(row)["position_covariance"].is_null());
  Json covariance = Json::array();
  for (int i = 0; i < 36; ++i) covariance.push_back(i);
  row["covariance"] = covariance;
  EXPECT_EQ(ReportRow(row)["position_covariance"], Json::parse("[0, 1, 2, 7, 8, 14]"));
  EXPECT_FALSE(ReportRow(row).contains("covariance"));
}

TEST(Report, RowsHaveThePlaceOfDeadReckoning) {
  Json row = SomeReplay("town")["results"][0];
  EXPECT_TRUE(ReportRow(row)["dead_reckoned"].is_null());
  row["dead_reckoning"] = {{"pose", {5.0, 6.0, 7.0, 0.0, 0.0, 0.0, 1.0}}};
  EXPECT_EQ(ReportRow(row)["dead_reckoned"], Json::parse("[5.0, 6.0]"));
  // Of another program.
  row["dead_reckoning"] = {{"pose", {5.0}}};
  EXPECT_TRUE(ReportRow(row)["dead_reckoned"].is_null());
}

TEST(Report, RowsHaveWhatThePageShowsOfTheFilter) {
  Json row = SomeReplay("town")["results"][0];
  EXPECT_TRUE(ReportRow(row)["fused"].is_null());
  row["fused"] = Json::parse(
      R"({"pose": [5, 6, 7, 0, 0, 0, 1], "translation_error_m": 0.5, "rotation_error_deg": 0.1,
          "error_m": {"along": 0.5}, "sigma_m": null, "covariance": [1, 2]})");
  EXPECT_EQ(ReportRow(row)["fused"],
            Json::parse(R"({"pose": [5, 6, 7, 0, 0, 0, 1], "translation_error_m": 0.5,
                            "rotation_error_deg": 0.1, "error_m": {"along": 0.5},
                            "sigma_m": null})"));
  // Of another program.
  row["fused"] = {{"pose", {5.0}}};
  EXPECT_TRUE(ReportRow(row)["fused"].is_null());
}

TEST(ScanChoice, HalfIsSpreadAndHalfHasTheLargestErrors) {
  ScanChoice choice(101, 6);
  PointCloud cloud;
  cloud.PushBack(1.0f, 2.0f, 3.0f);
  for (size_t i = 0; i < 101; ++i) {
    // Largest at 30, 31 and 32.
    choice.Offer(i,
                 i == 31              ? 5.0
                 : i == 30 || i == 32 ? 4.0
                                      : 0.01 * static_cast<double>(i % 7),
                 cloud);
  }
  std::vector<size_t> indices;
  for (const ChosenScan& scan : choice.Take()) indices.push_back(scan.index);
  EXPECT_EQ(indices, (std::vector<size_t>{0, 30, 31, 32, 50, 100}));
}

TEST(ScanChoice, TakesNoMoreThanItIsAllowed) {
  PointCloud cloud;
  for (const size_t most : {size_t{0}, size_t{1}, size_t{2}, size_t{5}, size_t{50}}) {
    for (const size_t scans : {size_t{1}, size_t{2}, size_t{3}, size_t{40}}) {
      ScanChoice choice(scans, most);
      for (size_t i = 0; i < scans; ++i) choice.Offer(i, 1.0, cloud);
      EXPECT_LE(choice.Take().size(), most) << scans;
    }
  }
}

// An int16 of a packed view.
int NumberAt(const std::string& bytes, size_t at) {
  return static_cast<int16_t>(static_cast<uint8_t>(bytes[at]) |
                              (static_cast<uint8_t>(bytes[at + 1]) << 8));
}

TEST(ScanViews, PackPointsScoresAndCells) {
  ScanViews views;
  views.cell_size_m = 2.0;
  ScanView view;
  view.map_T_base.translation = {400000.4, 4000000.2, 100.0};
  view.points_base.PushBack(1.5f, -2.0f, 0.25f);
  view.points_base.PushBack(500.0f, 0.0f, 0.0f);  // too far
  view.points_base.PushBack(-10.0f, 0.0f, 0.0f);
  view.scores = {2.5f, 1.0f, 0.0f};
  ViewCell cell;
  cell.mean_map = {400001.0, 4000002.0, 97.0};
  // Turned by 30 degrees about z: axes of 0.5 and 0.1 m.
  const Eigen::Matrix3d turn =
      Eigen::AngleAxisd(M_PI / 6.0, Eigen::Vector3d::UnitZ()).toRotationMatrix();
  cell.covariance_map = turn * Eigen::Vector3d(0.25, 0.01, 0.04).asDiagonal() * turn.transpose();
  view.cells.push_back(cell);
  views.scans.push_back(view);
  const Json json = ScanViewsJson(views);
  const Json& scan = json["scans"][0];
  EXPECT_EQ(scan["origin"], Json::parse("[400000.0, 4000000.0, 100.0]"));
  EXPECT_EQ(scan["points"]["count"], 2);
  EXPECT_EQ(scan["points"]["points_of"], 3);
  EXPECT_EQ(scan["points"]["scored"], true);
  std::string points;
  ASSERT_TRUE(absl::Base64Unescape(scan["points"]["base64"].get<std::string>(), &points));
  ASSERT_EQ(points.size(), 14u);
  EXPECT_EQ(NumberAt(points, 0), 300);
  EXPECT_EQ(NumberAt(points, 2), -400);
  EXPECT_EQ(NumberAt(points, 4), 50);
  EXPECT_EQ(static_cast<uint8_t>(points[6]), 125);
  EXPECT_EQ(points[13], 0);
  std::string cells;
  ASSERT_TRUE(absl::Base64Unescape(scan["cells"]["base64"].get<std::string>(), &cells));
  ASSERT_EQ(cells.size(), 18u);
  EXPECT_EQ(NumberAt(cells, 0), 200);
  EXPECT_EQ(NumberAt(cells, 2), 400);
  EXPECT_EQ(NumberAt(cells, 4), -600);
  // The root is the same turn of axes with lengths 0.5, 0.1 and 0.2 m: c^2 a + s^2 b, c s (a - b).
  EXPECT_EQ(NumberAt(cells, 6), 400);   // xx
  EXPECT_EQ(NumberAt(cells, 8), 173);   // xy
  EXPECT_EQ(NumberAt(cells, 10), 0);    // xz
  EXPECT_EQ(NumberAt(cells, 12), 200);  // yy
  EXPECT_EQ(NumberAt(cells, 16), 200);  // zz
}

TEST(ScanViews, AreBoundedWhateverTheScan) {
  ScanViews views;
  views.scans.emplace_back();
  ScanView& view = views.scans.back();
  for (size_t i = 0; i < 3 * kMaxViewPoints; ++i) {
    view.points_base.PushBack(static_cast<float>(i % 100), 0.0f, 0.0f);
  }
  for (size_t i = 0; i < 2 * kMaxViewCells; ++i) {
    ViewCell cell;
    cell.mean_map.x() = 0.01 * static_cast<double>(i);
    view.cells.push_back(cell);
  }
  const Json scan = ScanViewsJson(views)["scans"][0];
  EXPECT_EQ(scan["points"]["count"], kMaxViewPoints);
  EXPECT_EQ(scan["cells"]["count"], kMaxViewCells);
  EXPECT_EQ(scan["cells"]["cells_of"], 2 * kMaxViewCells);
  EXPECT_LT(scan.dump().size(), 120'000u);
}

class ComparedRun : public ::testing::Test {
 protected:
  std::string Write(const Json& run) { return scratch_.Write("run.json", run.dump()); }

  const ScratchDir scratch_;
};

TEST_F(ComparedRun, RowsAreMatchedByTheirStamps) {
  Json here = SomeReplay("town");
  Json there = SomeReplay("town2");
  for (int i = 0; i < 3; ++i) {
    here["results"][i]["stamp_ns"] = 100 * i;
    there["results"][i]["stamp_ns"] = 100 * (3 - i);  // 300, 200, 100
    there["results"][i]["file"] = std::to_string(i);
  }
  const auto other = ReadRun(Write(there));
  ASSERT_TRUE(other.ok()) << other.status();
  const auto compared = CompareRuns(here, *other, "run.json");
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_EQ((*compared)["map"], "town2");
  EXPECT_EQ((*compared)["unmatched"], 1);
  EXPECT_TRUE((*compared)["results"][0].is_null());
  EXPECT_EQ((*compared)["results"][1]["file"], "2");
  EXPECT_EQ((*compared)["results"][2]["file"], "1");

  for (int i = 0; i < 3; ++i) here["results"][i]["stamp_ns"] = 7 + i;
  EXPECT_EQ(CompareRuns(here, *other, "run.json").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ComparedRun, FilesThatAreNoRunsAreRefusedByName) {
  EXPECT_EQ(ReadRun(scratch_.Path("none.json")).status().code(), absl::StatusCode::kNotFound);
  for (const char* text : {"", "[]", "{}", R"({"results": 5})", "{\"results\": [", "\xff"}) {
    EXPECT_EQ(ReadRun(scratch_.Write("bad.json", text)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
  const Json good = SomeReplay("town");
  ASSERT_TRUE(ReadRun(Write(good)).ok());
  for (const char* key : {"stamp_ns", "file", "status", "pose", "truth", "scores", "latency_ms"}) {
    Json bad = good;
    bad["results"][1].erase(key);
    EXPECT_THAT(std::string(ReadRun(Write(bad)).status().message()), HasSubstr("row 1")) << key;
    bad["results"][1][key] = true;
    EXPECT_FALSE(ReadRun(Write(bad)).ok()) << key;
  }
  Json bad = good;
  bad["results"][2]["pose"] = Json::parse("[1, 2, 3]");
  EXPECT_FALSE(ReadRun(Write(bad)).ok());
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
