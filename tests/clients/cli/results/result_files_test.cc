// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/results/result_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/str_split.h"
#include "clients/cpp/messages.h"
#include "clients/dataset/trajectory_file.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::cli {
namespace {

using ::testing::HasSubstr;

// Beyond a double's nanoseconds.
constexpr int64_t kResultStamp_ns = 1'700'000'000'123'456'789;

Pose ResultPose(double x) {
  return Pose{Eigen::Vector3d(x, -2.0, 0.5),
              Eigen::Quaterniond(Eigen::AngleAxisd(0.3, Eigen::Vector3d::UnitZ()))};
}

// Standard deviations 0.1, 0.2 ... 0.6.
void EncodeResultPose(const Pose& pose, v1::PoseWithCovariance* message) {
  client::EncodePose(pose, message->mutable_pose());
  for (int i = 0; i < 36; ++i) {
    const double sigma = 0.1 * (i / 7 + 1);
    message->add_covariance(i % 7 == 0 ? sigma * sigma : 0.0);
  }
}

ReplayRow ResultRowAt(size_t index, double x, bool accepted) {
  v1::AlignmentResult result;
  result.set_status(accepted ? v1::ALIGNMENT_STATUS_OK : v1::ALIGNMENT_STATUS_LOW_SCORE);
  result.set_accepted(accepted);
  result.set_iterations(7);
  result.mutable_scores()->set_nvtl(3.25);
  result.mutable_timings()->set_align_s(0.002);
  EncodeResultPose(ResultPose(x), result.mutable_map_t_base());
  ReplayRow row = RowOf("drive/scans/a.pcd", result, 3.5);
  row.index = index;
  row.stamp_ns = kResultStamp_ns + static_cast<int64_t>(index) * 100'000'000;
  return row;
}

// Of each row after the head, the cells by the names of their columns.
std::vector<std::map<std::string, std::string>> CellsOf(const std::string& csv) {
  const std::vector<std::string> lines = absl::StrSplit(csv, '\n', absl::SkipEmpty());
  const std::vector<std::string> names = absl::StrSplit(lines.at(0), ',');
  std::vector<std::map<std::string, std::string>> rows;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = absl::StrSplit(lines[i], ',');
    EXPECT_EQ(cells.size(), names.size()) << lines[i];
    std::map<std::string, std::string>& row = rows.emplace_back();
    for (size_t c = 0; c < std::min(cells.size(), names.size()); ++c) row[names[c]] = cells[c];
  }
  return rows;
}

TEST(ResultFiles, ACsvRowHasEachValueUnderItsName) {
  ReplayRow row = ResultRowAt(3, 12.5, true);
  EncodeResultPose(ResultPose(13.5), row.result.mutable_fused()->mutable_map_t_base());
  row.fused = FusedRowOf(row.result.fused(), Pose());
  const auto rows = CellsOf(ResultsCsv({row}));
  ASSERT_EQ(rows.size(), 1u);
  const std::map<std::string, std::string>& cells = rows[0];
  EXPECT_EQ(cells.at("index"), "3");
  EXPECT_EQ(cells.at("file"), "a.pcd");
  EXPECT_EQ(cells.at("stamp_s"), "1700000000.423456789");
  EXPECT_EQ(cells.at("status"), "OK");
  EXPECT_EQ(cells.at("accepted"), "true");
  EXPECT_EQ(cells.at("x_m"), "12.5");
  EXPECT_NEAR(std::stod(cells.at("qz")), std::sin(0.15), 1e-15);
  EXPECT_NEAR(std::stod(cells.at("sigma_x_m")), 0.1, 1e-12);
  EXPECT_NEAR(std::stod(cells.at("sigma_rz_rad")), 0.6, 1e-12);
  EXPECT_EQ(cells.at("confidence"), "");
  EXPECT_EQ(cells.at("nvtl"), "3.25");
  EXPECT_EQ(cells.at("iterations"), "7");
  EXPECT_EQ(cells.at("latency_ms"), "3.5");
  EXPECT_EQ(cells.at("engine_ms"), "2");
  EXPECT_EQ(cells.at("fused_x_m"), "13.5");
  EXPECT_NEAR(std::stod(cells.at("fused_sigma_z_m")), 0.3, 1e-12);
}

TEST(ResultFiles, CellsWithoutAValueAreEmpty) {
  ReplayRow unanswered;
  unanswered.status = "UNANSWERED";
  const auto rows = CellsOf(ResultsCsv({unanswered}));
  ASSERT_EQ(rows.size(), 1u);
  for (const char* name : {"x_m", "sigma_x_m", "nvtl", "iterations", "latency_ms", "fused_qw"}) {
    EXPECT_EQ(rows[0].at(name), "") << name;
  }
  EXPECT_EQ(rows[0].at("accepted"), "false");
}

TEST(ResultFiles, CsvQuotesNamesWithCommas) {
  ReplayRow row = ResultRowAt(0, 1.0, true);
  row.file = "a,\"b\".pcd";
  EXPECT_THAT(ResultsCsv({row}), HasSubstr("\n0,\"a,\"\"b\"\".pcd\",1700000000."));
}

TEST(ResultFiles, TumHasTheAcceptedPosesWithExactStamps) {
  const ScratchDir scratch;
  const std::string path = scratch.Path("drive.tum");
  const std::vector<ReplayRow> rows = {ResultRowAt(0, 1.0, true), ResultRowAt(1, 2.0, false),
                                       ResultRowAt(2, 3.0, true)};
  auto files = ResultFiles::Open({path, scratch.Path("drive.csv")});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_FALSE(files->HasScene());
  ASSERT_TRUE(files->Close(rows).ok());
  const auto poses = ReadTrajectory(path, TrajectoryFormat::kTum);
  ASSERT_TRUE(poses.ok()) << poses.status();
  ASSERT_EQ(poses->size(), 2u);
  EXPECT_EQ((*poses)[1].stamp_ns, kResultStamp_ns + 200'000'000);
  EXPECT_EQ((*poses)[1].pose.translation, ResultPose(3.0).translation);
  std::ifstream csv(scratch.Path("drive.csv"));
  EXPECT_EQ(CellsOf(std::string(std::istreambuf_iterator<char>(csv), {})).size(), 3u);
}

TEST(ResultFiles, ASearchIsARowOfItsFirstPose) {
  v1::SearchResult found;
  EXPECT_FALSE(RowOf("a.pcd", found, 1.0).map_T_base.has_value());
  for (const double x : {4.0, 5.0}) {
    v1::PoseHypothesis* hypothesis = found.add_hypotheses();
    hypothesis->set_status(v1::ALIGNMENT_STATUS_OK);
    EncodeResultPose(ResultPose(x), hypothesis->mutable_map_t_base());
  }
  found.set_ambiguous(true);
  found.set_reliable(true);
  EXPECT_FALSE(RowOf("a.pcd", found, 1.0).accepted);
  found.set_ambiguous(false);
  const ReplayRow row = RowOf("a.pcd", found, 1.0);
  EXPECT_TRUE(row.accepted);
  EXPECT_EQ(row.map_T_base->translation.x(), 4.0);
}

TEST(ResultFiles, AnExtensionThatIsNoFormatIsRefusedByName) {
  for (const char* path : {"drive.txt", "drive", "-"}) {
    CLI::App app;
    std::vector<std::string> paths;
    AddResultFilesFlag(&app, &paths);
    try {
      app.parse(std::vector<std::string>{path, "--output"});  // from the end to the front
      ADD_FAILURE() << path;
    } catch (const CLI::ValidationError& error) {
      EXPECT_THAT(error.what(), HasSubstr("must end in .csv, .mcap, .ply or .tum (got '"));
    }
  }
}

}  // namespace
}  // namespace voxloc::cli
