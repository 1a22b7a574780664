// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "clients/cli/replay/replay_input.h"
#include "clients/cli/replay/replay_results.h"
#include "clients/cpp/messages.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Pose At(double x, double yaw_deg) {
  return Pose{Eigen::Vector3d(x, 0.0, 0.0), Eigen::Quaterniond(Eigen::AngleAxisd(
                                                yaw_deg * M_PI / 180.0, Eigen::Vector3d::UnitZ()))};
}

v1::AlignmentResult ResultAt(const Pose& pose, v1::AlignmentStatus status, bool accepted) {
  v1::AlignmentResult result;
  result.set_status(status);
  result.set_accepted(accepted);
  result.set_iterations(4);
  result.mutable_timings()->set_align_s(0.002);
  client::EncodePose(pose, result.mutable_map_t_base()->mutable_pose());
  return result;
}

TEST(ReplayRow, MeasuresErrorsAgainstTheTruth) {
  ReplayRow row;
  row.truth_map_T_base = At(10.0, 90.0);
  FillRow(ResultAt(At(10.25, 92.0), v1::ALIGNMENT_STATUS_OK, true), 3.5, &row);
  ASSERT_TRUE(row.map_T_base.has_value());
  EXPECT_NEAR(row.error.translation_m, 0.25, 1e-12);
  EXPECT_NEAR(row.error.rotation_deg, 2.0, 1e-9);
  EXPECT_EQ(row.status, "OK");
  EXPECT_NEAR(row.engine_ms, 2.0, 1e-12);
  EXPECT_EQ(row.latency_ms, 3.5);
}

TEST(ReplayRow, KeepsTheTraceForTheJson) {
  v1::AlignmentResult result = ResultAt(Pose(), v1::ALIGNMENT_STATUS_OK, true);
  std::vector<ReplayRow> rows(1);
  const auto trace = [&] {
    FillRow(result, 1.0, rows.data());
    return ReplayJson(ReplaySetting(), SummarizeReplay(rows), rows)["results"][0]["trace"];
  };
  EXPECT_TRUE(trace().is_null());
  result.mutable_trace()->add_iterations()->set_step_length(0.25);
  ASSERT_EQ(trace().size(), 1u);
  EXPECT_EQ(trace()[0]["step_length"], 0.25);
}

TEST(ReplayRow, AcceptsWhatTheServerAccepts) {
  const auto accepted = [](v1::AlignmentStatus status, bool passed_gate) {
    ReplayRow row;
    FillRow(ResultAt(Pose(), status, passed_gate), 1.0, &row);
    return row.accepted;
  };
  EXPECT_TRUE(accepted(v1::ALIGNMENT_STATUS_OK, true));
  EXPECT_TRUE(accepted(v1::ALIGNMENT_STATUS_DEGENERATE, true));
  EXPECT_FALSE(accepted(v1::ALIGNMENT_STATUS_DEGENERATE, false));
}

TEST(ReplayInput, ScansAreInNumericOrder) {
  const ScratchDir scratch;
  std::string lines;
  for (int i = 0; i < 12; ++i) {
    scratch.Write("scans/" + std::to_string(i) + ".pcd", "");
    lines += "1 0 0 " + std::to_string(i) + " 0 1 0 0 0 0 1 0\n";
  }
  ReplayFiles files;
  files.scans = scratch.Path("scans");
  files.poses = scratch.Write("poses.txt", lines);
  const absl::StatusOr<ReplayInput> input = ReadReplayInput(files);
  ASSERT_TRUE(input.ok()) << input.status();
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(input->scans[i], files.scans + "/" + std::to_string(i) + ".pcd");
    EXPECT_EQ(input->truth[i].pose.translation.x(), static_cast<double>(i));
  }
  EXPECT_THAT(input->order, HasSubstr("numeric order of their names: 0.pcd, 1.pcd, 2.pcd, ... 11"));
}

// The vehicle heads along the map's y, with its left along the map's -x.
class AxesTest : public ::testing::Test {
 protected:
  // An answer that is off by `error_map`, with these variances along the map's axes.
  static ReplayRow RowOff(const Eigen::Vector3d& error_map, const Eigen::Vector3d& variances_map,
                          bool accepted = true) {
    ReplayRow row;
    row.truth_map_T_base = At(10.0, 90.0);
    Pose pose = row.truth_map_T_base;
    pose.translation += error_map;
    v1::AlignmentResult result = ResultAt(pose, v1::ALIGNMENT_STATUS_OK, accepted);
    for (int i = 0; i < 36; ++i) {
      const bool of_position = i % 7 == 0 && i / 7 < 3;
      result.mutable_map_t_base()->add_covariance(of_position ? variances_map[i / 7] : 0.0);
    }
    FillRow(result, 1.0, &row);
    return row;
  }
};

TEST_F(AxesTest, SplitsTheErrorAndSigmaAlongTheVehiclesAxes) {
  const std::vector<ReplayRow> rows = {RowOff({-0.1, 0.5, 0.02}, {0.01, 0.04, 0.0001})};
  const Json row = ReplayJson(ReplaySetting(), SummarizeReplay(rows), rows)["results"][0];
  EXPECT_NEAR(row["error_m"]["along"].get<double>(), 0.5, 1e-12);
  EXPECT_NEAR(row["error_m"]["across"].get<double>(), 0.1, 1e-12);
  EXPECT_NEAR(row["error_m"]["up"].get<double>(), 0.02, 1e-12);
  EXPECT_NEAR(row["sigma_m"]["along"].get<double>(), 0.2, 1e-12);
  EXPECT_NEAR(row["sigma_m"]["across"].get<double>(), 0.1, 1e-12);
  EXPECT_NEAR(row["sigma_m"]["up"].get<double>(), 0.01, 1e-12);
  EXPECT_TRUE(row["dead_reckoning"].is_null()) << "there is no odometry";
}

TEST_F(AxesTest, CountsAcceptedErrorsWithinThreeSigmaByAxis) {
  const Eigen::Vector3d variances(0.01, 0.01, 0.01);
  const std::vector<ReplayRow> rows = {
      RowOff({0.0, 0.29, 0.0}, variances), RowOff({0.0, -0.31, 0.0}, variances),
      RowOff({0.31, 0.31, 0.0}, variances), RowOff({9.0, 9.0, 9.0}, variances, false)};
  const Json json = ReplayJson(ReplaySetting(), SummarizeReplay(rows), rows);
  EXPECT_EQ(json["within_3_sigma"], Json::parse(R"({"along": 1, "across": 2, "up": 3, "of": 3})"));
  EXPECT_EQ(json["results"][1]["within_3_sigma"],
            Json::parse(R"({"along": false, "across": true, "up": true})"));
  EXPECT_EQ(json["error_m"]["along"]["p50"], 0.31);
  EXPECT_NEAR(json["sigma_m"]["across"]["max"].get<double>(), 0.1, 1e-12);
}

TEST_F(AxesTest, WithoutACovarianceThereIsNoSigma) {
  std::vector<ReplayRow> rows(1);
  FillRow(ResultAt(At(1.0, 0.0), v1::ALIGNMENT_STATUS_OK, true), 1.0, rows.data());
  const Json json = ReplayJson(ReplaySetting(), SummarizeReplay(rows), rows);
  EXPECT_TRUE(json["results"][0]["sigma_m"].is_null());
  EXPECT_TRUE(json["results"][0]["within_3_sigma"].is_null());
  EXPECT_EQ(json["within_3_sigma"]["of"], 0);
}

TEST_F(AxesTest, DeadReckoningIsMeasuredAgainstTheTruth) {
  std::vector<ReplayRow> rows(3, RowOff({0.0, 0.0, 0.0}, {0.01, 0.01, 0.01}));
  EXPECT_THAT(SummaryText(ReplaySetting(), SummarizeReplay(rows)),
              Not(HasSubstr("dead reckoning")));
  const double behind_m[] = {0.0, 6.1, 4.2};
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].dead_reckoned_map_T_base = rows[i].truth_map_T_base;
    rows[i].dead_reckoned_map_T_base->translation.y() -= behind_m[i];
  }
  const ReplaySummary summary = SummarizeReplay(rows);
  const Json json = ReplayJson(ReplaySetting(), summary, rows);
  EXPECT_NEAR(json["dead_reckoning"]["end_m"]["along"].get<double>(), -4.2, 1e-12);
  EXPECT_NEAR(json["dead_reckoning"]["max_error_m"].get<double>(), 6.1, 1e-12);
  const Json& row = json["results"][1]["dead_reckoning"];
  EXPECT_NEAR(row["translation_error_m"].get<double>(), 6.1, 1e-12);
  EXPECT_NEAR(row["error_m"]["along"].get<double>(), -6.1, 1e-12);
  EXPECT_EQ(row["pose"].size(), 7u);
  const std::string text = SummaryText(ReplaySetting(), summary);
  EXPECT_THAT(text, HasSubstr("dead reckoning ends 4.20 m off, at most 6.10 m\n"));
  EXPECT_THAT(text, HasSubstr("within 3 sigma: along 3, across 3, up 3 of 3 accepted poses\n"));
  EXPECT_THAT(text, HasSubstr("  across, cm"));
}

TEST(ReplayRow, TheGuessIsTheServersWhereNoneWasSent) {
  v1::AlignmentResult result = ResultAt(At(3.0, 0.0), v1::ALIGNMENT_STATUS_OK, true);
  std::vector<ReplayRow> rows(3);
  rows[0].guess_map_T_base = At(1.0, 0.0);
  FillRow(result, 1.0, &rows[2]);  // neither names one
  client::EncodePose(At(2.0, 0.0), result.mutable_guess_map_t_base());
  FillRow(result, 1.0, rows.data());
  FillRow(result, 1.0, &rows[1]);
  const Json results = ReplayJson(ReplaySetting(), SummarizeReplay(rows), rows)["results"];
  EXPECT_EQ(results[0]["guess"][0], 1.0);
  EXPECT_EQ(results[1]["guess"][0], 2.0);
  EXPECT_TRUE(results[2]["guess"].is_null());
}

class ReplaySummaryTest : public ::testing::Test {
 protected:
  ReplaySummaryTest() : rows_(4) {
    for (size_t i = 0; i < rows_.size(); ++i) rows_[i].index = i;
    FillRow(ResultAt(At(0.01, 0.0), v1::ALIGNMENT_STATUS_OK, true), 4.0, &rows_[0]);
    FillRow(ResultAt(At(0.03, 0.0), v1::ALIGNMENT_STATUS_LOW_SCORE, false), 6.0, &rows_[1]);
    v1::AlignmentResult superseded;
    superseded.set_status(v1::ALIGNMENT_STATUS_SUPERSEDED);
    FillRow(superseded, 1.0, &rows_[2]);
    v1::AlignmentResult no_map;
    no_map.set_status(v1::ALIGNMENT_STATUS_NO_MAP);
    FillRow(no_map, 2.0, &rows_[3]);
  }
  std::vector<ReplayRow> rows_;
};

TEST_F(ReplaySummaryTest, CountsWhatBecameOfTheScans) {
  const ReplaySummary summary = SummarizeReplay(rows_);
  EXPECT_EQ(summary.scans, 4u);
  EXPECT_EQ(summary.answered, 3u);
  EXPECT_EQ(summary.accepted, 1u);
  EXPECT_EQ(summary.superseded, 1u);
  EXPECT_EQ(summary.error.translation_m.count, 2u);
  EXPECT_NEAR(summary.error.translation_m.mean, 0.02, 1e-12);
  EXPECT_EQ(summary.latency_ms.count, 3u);
  EXPECT_EQ(summary.latency_ms.p50, 4.0);
  EXPECT_NEAR(summary.overhead_ms.max, 4.0, 1e-12);
}

TEST_F(ReplaySummaryTest, JsonHasTheKeysThatScriptsRelyOn) {
  const Json json = ReplayJson(ReplaySetting(), SummarizeReplay(rows_), rows_);
  const Json parsed = Json::parse(json.dump());
  for (const char* key : {"scans", "answered", "accepted", "superseded"}) {
    ASSERT_TRUE(parsed.contains(key)) << key;
    EXPECT_TRUE(parsed[key].is_number_unsigned()) << key;
  }
  for (const char* key :
       {"translation_error_m", "rotation_error_deg", "latency_ms", "engine_ms", "iterations"}) {
    ASSERT_TRUE(parsed.contains(key)) << key;
    for (const char* statistic : {"mean", "p50", "p95", "p99", "max"}) {
      EXPECT_TRUE(parsed[key][statistic].is_number()) << key << "." << statistic;
    }
  }
  ASSERT_TRUE(parsed["results"].is_array());
  ASSERT_EQ(parsed["results"].size(), 4u);
  const Json& row = parsed["results"][0];
  EXPECT_TRUE(row["stamp_s"].is_number());
  EXPECT_EQ(row["pose"].size(), 7u);
  EXPECT_EQ(row["truth"].size(), 7u);
  EXPECT_TRUE(row["translation_error_m"].is_number_float());
  EXPECT_TRUE(row["rotation_error_deg"].is_number());
  EXPECT_EQ(row["status"], "OK");
  EXPECT_TRUE(row["scores"]["nvtl"].is_number());
  EXPECT_EQ(row["iterations"], 4);
  EXPECT_TRUE(parsed["results"][2]["pose"].is_null());
  EXPECT_TRUE(parsed["results"][2]["translation_error_m"].is_null());
}

TEST(ReplaySummary, SaysWhatSigmaIsMadeOfAlongTheLeastCertainAxis) {
  v1::AlignmentResult result = ResultAt(Pose(), v1::ALIGNMENT_STATUS_OK, true);
  v1::SigmaShares& shares = *result.mutable_covariance_report()->mutable_sigma_shares();
  // Along y the time counts for most.
  for (const float sigma : {0.01f, 0.02f, 0.03f, 0.f, 0.f, 0.f}) shares.add_scan(sigma);
  for (const float sigma : {0.04f, 0.05f, 0.06f, 0.f, 0.f, 0.f}) {
    shares.add_map_and_mounting(sigma);
  }
  for (const float sigma : {0.f, 0.2f, 0.f, 0.f, 0.f, 0.f}) shares.add_time(sigma);
  for (int i = 0; i < 6; ++i) shares.add_sweep(0.f);
  std::vector<ReplayRow> rows(1);
  FillRow(result, 1.0, rows.data());
  const Json json = ReplayJson(ReplaySetting(), SummarizeReplay(rows), rows);
  const auto median = [&json](const char* share) {
    return json["position_sigma_shares_m"][share]["p50"].get<double>();
  };
  EXPECT_NEAR(median("scan"), 0.02, 1e-6);
  EXPECT_NEAR(median("map_and_mounting"), 0.05, 1e-6);
  EXPECT_NEAR(median("time"), 0.2, 1e-6);
  EXPECT_EQ(median("sweep"), 0.0);
  EXPECT_NEAR(json["results"][0]["sigma_shares"]["scan"][2].get<double>(), 0.03, 1e-6);
  EXPECT_THAT(SummaryText(ReplaySetting(), SummarizeReplay(rows)),
              HasSubstr("  time of the stamps, cm"));
  EXPECT_EQ(SigmaSharesText(rows[0].sigma_shares),
            "along the base's y 0.207 m: scan 0.020, map and mounting 0.050, time of the stamps "
            "0.200, motion in the sweep 0.000");
  // Of another method.
  result.clear_covariance_report();
  FillRow(result, 1.0, rows.data());
  EXPECT_TRUE(ReplayJson(ReplaySetting(), SummarizeReplay(rows), rows)["results"][0]["sigma_shares"]
                  .is_null());
  EXPECT_EQ(SigmaSharesText(rows[0].sigma_shares), "");
  EXPECT_THAT(SummaryText(ReplaySetting(), SummarizeReplay(rows)),
              Not(HasSubstr("time of the stamps")));
}

TEST_F(ReplaySummaryTest, JsonSaysWhenOfWhichMapAndWithWhatItRan) {
  ReplaySetting setting;
  setting.started_at = "2026-03-04T05:06:07Z";
  setting.command_line = "voxloc replay --map town";
  setting.client_version = "1.2.3";
  setting.filter.leaf_m = 1.5;
  setting.filter.points = 1500;
  setting.filter.min_range_m = 1.0;
  setting.filter.max_range_m = 80.0;
  setting.filter.seed = 7;
  setting.filter.record_floats = 5;
  setting.filtered_by_server = true;
  Json json = ReplayJson(setting, SummarizeReplay(rows_), rows_);
  EXPECT_EQ(json["started_at"], "2026-03-04T05:06:07Z");
  EXPECT_EQ(json["command_line"], "voxloc replay --map town");
  EXPECT_EQ(json["client_version"], "1.2.3");
  EXPECT_EQ(json["filter"], Json::parse(R"({"min_range_m": 1.0, "max_range_m": 80.0, "leaf_m": 1.5,
      "points": 1500, "seed": 7, "record_floats": 5, "by_server": true})"));
  EXPECT_TRUE(json["map_revisions"].is_null());

  // Scans without a map have no revision.
  rows_[0].map_revision = 5;
  rows_[1].map_revision = 3;
  json = ReplayJson(setting, SummarizeReplay(rows_), rows_);
  EXPECT_EQ(json["map_revisions"], Json::parse(R"({"min": 3, "max": 5})"));
}

TEST_F(ReplaySummaryTest, CountsAcceptedPosesThatAreWrong) {
  EXPECT_EQ(SummarizeReplay(rows_).accepted_wrong, 0u);
  EXPECT_THAT(SummaryText(ReplaySetting(), SummarizeReplay(rows_)),
              ::testing::Not(HasSubstr("wrong")));
  const auto add = [this](const Pose& pose, bool accepted) {
    FillRow(ResultAt(pose, v1::ALIGNMENT_STATUS_OK, accepted), 1.0, &rows_.emplace_back());
  };
  add(At(1.01, 0.0), true);
  add(At(0.0, 10.1), true);
  add(At(0.99, 9.9), true);
  add(At(50.0, 0.0), false);
  const ReplaySummary summary = SummarizeReplay(rows_);
  EXPECT_EQ(summary.accepted, 4u);
  EXPECT_EQ(summary.accepted_wrong, 2u);
  EXPECT_THAT(SummaryText(ReplaySetting(), summary), HasSubstr("accepted but wrong: 2 poses"));
  EXPECT_EQ(ReplayJson(ReplaySetting(), summary, rows_)["accepted_wrong"], 2);
}

TEST_F(ReplaySummaryTest, SaysWhatEndedItEarly) {
  ReplaySetting setting;
  const ReplaySummary summary = SummarizeReplay(rows_);
  EXPECT_TRUE(ReplayJson(setting, summary, rows_)["ended_early"].is_null());
  setting.planned_scans = 9;
  setting.ended_early = "ended after 4 of 9 scans: a:1: it drains";
  EXPECT_THAT(SummaryText(setting, summary),
              HasSubstr("incomplete: ended after 4 of 9 scans: a:1: it drains\n"));
  const Json json = ReplayJson(setting, summary, rows_);
  EXPECT_EQ(json["ended_early"], setting.ended_early);
  EXPECT_EQ(json["planned_scans"], 9);
  EXPECT_EQ(json["scans"], 4);
}

TEST(ReplaySummary, NamesTheServerThatEndedTheDrive) {
  const absl::Status drains = absl::UnavailableError("the server drains");
  EXPECT_EQ(EndedEarlyText(drains, 32, 120, "a:50051"),
            "ended after 32 of 120 scans: a:50051: the server drains");
  EXPECT_EQ(EndedEarlyText(absl::UnavailableError("a:1 AlignScans: gone"), 1, 2, "a:1"),
            "ended after 1 of 2 scans: a:1 AlignScans: gone");
  EXPECT_EQ(EndedEarlyText(absl::CancelledError("interrupted"), 1, 2, ""),
            "ended after 1 of 2 scans: interrupted");
}

TEST(ReplaySummary, DetectsAMissingMap) {
  ReplaySummary summary;
  summary.answered = 120;
  EXPECT_FALSE(MapWasMissing(summary));
  summary.statuses = {{"OK", 60}, {"NO_MAP", 60}};
  EXPECT_FALSE(MapWasMissing(summary));
  summary.statuses = {{"OK", 30}, {"NO_MAP", 90}};
  EXPECT_TRUE(MapWasMissing(summary));
}

TEST(ReplaySummary, WithoutAnAnswerItsNumbersAreNull) {
  const std::vector<ReplayRow> none(2);
  const Json parsed = Json::parse(ReplayJson(ReplaySetting(), SummarizeReplay(none), none).dump());
  EXPECT_EQ(parsed["answered"], 0);
  EXPECT_TRUE(parsed["translation_error_m"]["mean"].is_null());
}

TEST_F(ReplaySummaryTest, TheTableNamesStatusesOtherThanOk) {
  const std::string text = SummaryText(ReplaySetting(), SummarizeReplay(rows_));
  EXPECT_THAT(text, HasSubstr("4 scans, 3 answered, 1 accepted (33.3 %)"));
  EXPECT_THAT(text, HasSubstr("LOW_SCORE 1"));
  EXPECT_THAT(text, HasSubstr("position error, cm"));
}

class ReplayInputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path parent = std::filesystem::temp_directory_path();
    std::string pattern = (parent / "voxloc_replay_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    std::filesystem::create_directory(directory_ / "scans");
    PointCloud cloud;
    cloud.PushBack(1.0f, 2.0f, 3.0f);
    std::vector<StampedPose> truth;
    for (int i = 0; i < 3; ++i) {
      const std::string name = "scans/" + std::to_string(i) + ".pcd";
      ASSERT_TRUE(WritePcd((directory_ / name).string(), cloud).ok());
      truth.push_back({i * 100000000, At(i, 10.0 * i)});
    }
    files_.scans = (directory_ / "scans").string();
    files_.poses = (directory_ / "poses.txt").string();
    ASSERT_TRUE(WriteTrajectory(files_.poses, TrajectoryFormat::kKitti, truth).ok());
    short_poses_ = (directory_ / "short.txt").string();
    truth.pop_back();
    ASSERT_TRUE(WriteTrajectory(short_poses_, TrajectoryFormat::kKitti, truth).ok());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path directory_;
  ReplayFiles files_;
  std::string short_poses_;
};

TEST_F(ReplayInputTest, ReadsAPoseForEveryScan) {
  const auto input = ReadReplayInput(files_);
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->scans.size(), 3u);
  EXPECT_EQ(input->truth[2].stamp_ns, 200000000);
  EXPECT_NEAR(input->truth[2].pose.translation.x(), 2.0, 1e-9);
}

TEST_F(ReplayInputTest, RefusesCountsThatDiffer) {
  ReplayFiles files = files_;
  files.poses = short_poses_;
  const absl::Status poses = ReadReplayInput(files).status();
  EXPECT_EQ(poses.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(poses.message()), HasSubstr("3 scans"));
  EXPECT_THAT(std::string(poses.message()), HasSubstr("2 poses"));
  files = files_;
  files.guesses = short_poses_;
  EXPECT_THAT(std::string(ReadReplayInput(files).status().message()), HasSubstr("2 guesses"));
}

TEST_F(ReplayInputTest, GuessesComeFromWhereTheyWereAskedFor) {
  files_.guesses = files_.poses;
  const auto input = ReadReplayInput(files_);
  ASSERT_TRUE(input.ok()) << input.status();
  using Kind = GuessSource::Kind;
  const Pose answer = At(77.0, 0.0);
  EXPECT_EQ(GuessSource(*input, Kind::kTruth, std::nullopt, 0).GuessFor(1, answer).translation.x(),
            1.0);
  const GuessSource previous(*input, Kind::kPrevious, std::nullopt, 0);
  EXPECT_EQ(previous.GuessFor(0, std::nullopt).translation.x(), 0.0);
  EXPECT_EQ(previous.GuessFor(1, answer).translation.x(), 77.0);
  EXPECT_EQ(GuessSource(*input, Kind::kFile, std::nullopt, 0).GuessFor(2, answer).translation.x(),
            2.0);
}

// Scans at 0, 0.1 and 0.2 s.
TEST_F(ReplayInputTest, OdometryIsInterpolatedAtTheStampsOfTheScans) {
  auto input = ReadReplayInput(files_);
  ASSERT_TRUE(input.ok()) << input.status();
  const std::string path = (directory_ / "odometry.txt").string();
  // The middle scan lies a quarter of the way between two poses.
  ASSERT_TRUE(WriteTrajectory(path, TrajectoryFormat::kTum,
                              {{0, At(5.0, 0.0)},
                               {75'000'000, At(6.0, 0.0)},
                               {175'000'000, At(10.0, 40.0)},
                               {200'000'000, At(11.0, 50.0)}})
                  .ok());
  const absl::Status status = ReadOdometry(path, &*input);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(input->odometry.size(), 3u);
  EXPECT_NEAR(TranslationDistance(input->odometry[1], At(7.0, 10.0)), 0.0, 1e-9);
  EXPECT_NEAR(RotationDistance(input->odometry[1], At(7.0, 10.0)), 0.0, 1e-9);
  EXPECT_NEAR(TranslationDistance(input->odometry[2], At(11.0, 50.0)), 0.0, 1e-9);
}

TEST_F(ReplayInputTest, NamesTheScanWithoutOdometry) {
  auto input = ReadReplayInput(files_);
  ASSERT_TRUE(input.ok()) << input.status();
  const std::string path = (directory_ / "odometry.txt").string();
  const auto refusal = [&](int64_t first_ns, int64_t second_ns) {
    EXPECT_TRUE(
        WriteTrajectory(path, TrajectoryFormat::kTum, {{first_ns, Pose()}, {second_ns, Pose()}})
            .ok());
    const absl::Status status = ReadOdometry(path, &*input);
    return status.ok() ? "" : std::string(status.message());
  };
  EXPECT_EQ(refusal(0, 1'000'000'000), "");
  EXPECT_THAT(refusal(0, 1'000'000'001), HasSubstr("1.pcd at 0.100000000 s"));
  EXPECT_THAT(refusal(0, 199'000'000), HasSubstr("2.pcd at 0.200000000 s"));
  EXPECT_THAT(refusal(1, 200'000'000), HasSubstr("0.pcd at 0.000000000 s"));
}

TEST_F(ReplayInputTest, ByOdometryTheFirstGuessIsCarriedOnUntilTheServerGuesses) {
  auto input = ReadReplayInput(files_);
  ASSERT_TRUE(input.ok()) << input.status();
  // The odometry's frame is turned by 90 degrees: it drives along its own y.
  for (int i = 0; i < 3; ++i) {
    Pose pose = At(0.0, 90.0);
    pose.translation.y() = 2.0 * i;
    input->odometry.push_back(pose);
  }
  Perturbation by;
  by.translation_m.y() = 0.5;
  const GuessSource source(*input, GuessSource::Kind::kOdometry, by, 5);
  const Pose first = source.GuessFor(0, std::nullopt);
  EXPECT_NEAR(std::abs(first.translation.y()), 0.5, 1e-12);
  const Pose third = source.GuessFor(2, At(77.0, 0.0));
  EXPECT_NEAR((third.translation - first.translation - Eigen::Vector3d(4.0, 0.0, 0.0)).norm(), 0.0,
              1e-9);
  EXPECT_FALSE(source.IsLeftToServer(false));
  EXPECT_TRUE(source.IsLeftToServer(true));
  EXPECT_FALSE(
      GuessSource(*input, GuessSource::Kind::kPrevious, std::nullopt, 0).IsLeftToServer(true));
  input->guesses = {At(30.0, 0.0), At(31.0, 0.0), At(32.0, 0.0)};
  const GuessSource of_file(*input, GuessSource::Kind::kOdometry, std::nullopt, 5);
  EXPECT_NEAR(of_file.GuessFor(1, std::nullopt).translation.x(), 32.0, 1e-9)
      << "the first guess of the file and 2 m of odometry";
}

TEST_F(ReplayInputTest, PerturbationMovesEveryGuessByTheGivenAmounts) {
  const auto input = ReadReplayInput(files_);
  ASSERT_TRUE(input.ok()) << input.status();
  Perturbation by;
  by.translation_m = Eigen::Vector3d(0.5, 0.25, 0.125);
  by.rotation_rpy_deg = Eigen::Vector3d(0.0, 0.0, 2.0);
  const GuessSource source(*input, GuessSource::Kind::kTruth, by, 5);
  for (size_t i = 0; i < 3; ++i) {
    const Pose guess = source.GuessFor(i, std::nullopt);
    const Pose& truth = input->truth[i].pose;
    const Eigen::Vector3d moved = (guess.translation - truth.translation).cwiseAbs();
    EXPECT_LT((moved - by.translation_m).norm(), 1e-12);
    EXPECT_NEAR(RotationDistance(guess, truth), 2.0 * M_PI / 180.0, 1e-9);
    EXPECT_EQ(guess.translation, source.GuessFor(i, std::nullopt).translation);
  }
}

}  // namespace
}  // namespace voxloc::cli
