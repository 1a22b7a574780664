// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/results/result_files.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/result_text.h"
#include "clients/cpp/admin_client.h"
#include "clients/dataset/trajectory_file.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

std::string ExtensionOf(const std::string& path) {
  return std::filesystem::path(path).extension().string();
}

// Empty: the path has the extension of a format.
std::string ExtensionError(const std::string& path) {
  const std::string extension = ExtensionOf(path);
  if (extension == ".csv" || extension == ".mcap" || extension == ".ply" || extension == ".tum") {
    return "";
  }
  return absl::StrCat(path, " must end in .csv, .mcap, .ply or .tum (got '", extension, "')");
}

// Two writers would spoil one file. Empty: `path` is one of `paths` once.
std::string RepetitionError(const std::vector<std::string>& paths, const std::string& path) {
  const auto same = [file = FileBehind(path)](const std::string& other) {
    return FileBehind(other) == file;
  };
  return std::count_if(paths.begin(), paths.end(), same) > 1
             ? absl::StrCat(path, " must be given once")
             : "";
}

// Fields with a comma, a quote or a line break are quoted (RFC 4180).
std::string CsvText(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// The cells of a row in the order of kCsvColumns.
class CsvRow {
 public:
  void Add(const std::string& text) { cells_.push_back(CsvText(text)); }
  void Add(double value) { cells_.push_back(std::isfinite(value) ? NumberText(value) : ""); }
  void Skip(size_t cells) { cells_.resize(cells_.size() + cells); }

  // x y z qx qy qz qw, and the standard deviations of `with`, which has the covariance.
  void AddPose(const Pose& pose, const v1::PoseWithCovariance& with) {
    for (int i = 0; i < 3; ++i) Add(pose.translation[i]);
    for (int i = 0; i < 4; ++i) Add(pose.rotation.coeffs()[i]);
    if (with.covariance_size() != 36) return Skip(6);
    for (int i = 0; i < 6; ++i) Add(std::sqrt(with.covariance(7 * i)));
  }

  [[nodiscard]] std::string Line() const { return absl::StrCat(absl::StrJoin(cells_, ","), "\n"); }

 private:
  std::vector<std::string> cells_;
};

constexpr size_t kPoseCells = 13;

// Standard deviations are along and about the axes of the map.
constexpr char kPoseColumns[] =
    "x_m,$y_m,$z_m,$qx,$qy,$qz,$qw,"
    "$sigma_x_m,$sigma_y_m,$sigma_z_m,$sigma_rx_rad,$sigma_ry_rad,$sigma_rz_rad";

std::string CsvHead() {
  return absl::StrCat("index,file,stamp_s,status,accepted,",
                      absl::StrReplaceAll(kPoseColumns, {{"$", ""}}),
                      ",confidence,nvtl,transform_probability,matched_ratio,iterations,latency_ms,"
                      "engine_ms,fused_",
                      absl::StrReplaceAll(kPoseColumns, {{"$", "fused_"}}), "\n");
}

absl::Status WriteTum(const std::string& path, const std::vector<ReplayRow>& rows) {
  std::vector<StampedPose> poses;
  for (const ReplayRow& row : rows) {
    if (row.accepted && row.map_T_base.has_value()) {
      poses.push_back({row.stamp_ns, *row.map_T_base});
    }
  }
  return WriteTrajectory(path, TrajectoryFormat::kTum, poses);
}

absl::StatusOr<CellChoice> ScoreStageOf(const client::Channel& channel, const MapFlags& map,
                                        double timeout_s) {
  VOXLOC_ASSIGN_OR_RETURN(const v1::GetServerInfoResponse info,
                          client::GetServerInfo(channel, timeout_s));
  VOXLOC_ASSIGN_OR_RETURN(const v1::Profile profile, ProfileNamed(info, map.profile));
  return CellChoice{map.map, profile.name(), profile.score_stage()};
}

void WarnOfNoCells(const absl::Status& status) {
  absl::FPrintF(stderr, "warning: the output has no cells of the map: %s\n", status.message());
}

}  // namespace

std::filesystem::path FileBehind(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return std::filesystem::weakly_canonical(absolute, error);
}

void AddResultFilesFlag(CLI::App* command, std::vector<std::string>* paths) {
  CLI::Option* const output = AddOutputFiles(
      command, "--output", paths,
      "Write the results to FILE: .csv (a row for every scan), .mcap (poses, clouds and cells of "
      "the map, for Foxglove and ROS 2), .ply (the points of accepted scans in the map) or .tum "
      "(the "
      "accepted poses, for evo); can be repeated");
  output->check(&ExtensionError)->check([output](const std::string& path) {
    return RepetitionError(output->results(), path);
  });
}

std::string ResultsCsv(const std::vector<ReplayRow>& rows) {
  std::string text = CsvHead();
  for (const ReplayRow& row : rows) {
    CsvRow cells;
    cells.Add(absl::StrCat(row.index));
    cells.Add(row.file);
    cells.Add(SecondsFromNanoseconds(row.stamp_ns));
    cells.Add(row.status);
    cells.Add(row.accepted ? "true" : "false");
    if (row.map_T_base.has_value()) {
      cells.AddPose(*row.map_T_base, row.result.map_t_base());
      if (row.result.has_confidence()) {
        cells.Add(row.result.confidence().value());
      } else {
        cells.Skip(1);
      }
      const v1::Scores& scores = row.result.scores();
      cells.Add(scores.nvtl());
      cells.Add(scores.transform_probability());
      cells.Add(scores.matched_ratio());
      cells.Add(row.result.iterations());
    } else {
      cells.Skip(kPoseCells + 5);
    }
    if (row.answered) {
      cells.Add(row.latency_ms);
      cells.Add(row.engine_ms);
    } else {
      cells.Skip(2);
    }
    if (row.fused.has_value()) {
      cells.AddPose(row.fused->map_T_base, row.result.fused().map_t_base());
    } else {
      cells.Skip(kPoseCells);
    }
    absl::StrAppend(&text, cells.Line());
  }
  return text;
}

absl::StatusOr<ResultFiles> ResultFiles::Open(std::vector<std::string> paths) {
  ResultFiles files;
  files.paths_ = std::move(paths);
  for (const std::string& path : files.paths_) {
    if (ExtensionOf(path) == ".mcap") {
      VOXLOC_ASSIGN_OR_RETURN(files.recordings_.emplace_back(), McapRecording::Create(path));
    } else if (ExtensionOf(path) == ".ply") {
      VOXLOC_ASSIGN_OR_RETURN(files.point_files_.emplace_back(), AlignedPoints::Create(path));
    }
  }
  return files;
}

void ResultFiles::AddCellsAlong(const client::Channel& channel, const CellChoice& choice,
                                int64_t stamp_ns, const std::vector<Pose>& map_T_base,
                                double timeout_s) {
  if (!HasScene()) return;
  const absl::StatusOr<DriveCells> drive = CellsAlong(channel, choice, map_T_base, timeout_s);
  if (!drive.ok()) return WarnOfNoCells(drive.status());
  if (drive->cells.size() < drive->all) {
    absl::FPrintF(stderr, "warning: the output has %d of the %d cells around the drive\n",
                  drive->cells.size(), drive->all);
  }
  for (const auto& recording : recordings_) recording->AddCells(stamp_ns, drive->cells);
}

void ResultFiles::Add(const ReplayRow& row, const Pose* truth_map_T_base) {
  for (const auto& recording : recordings_) {
    if (truth_map_T_base != nullptr) recording->AddTruth(row.stamp_ns, *truth_map_T_base);
    recording->Add(row);
  }
  for (const auto& points : point_files_) points->Add(row);
}

absl::Status ResultFiles::Close(const std::vector<ReplayRow>& rows) {
  absl::Status status;
  for (const auto& recording : recordings_) status.Update(recording->Close());
  for (const auto& points : point_files_) status.Update(points->Close());
  for (const std::string& path : paths_) {
    const std::string extension = ExtensionOf(path);
    if (extension == ".tum") status.Update(WriteTum(path, rows));
    if (extension == ".csv") status.Update(WriteTextFile(path, ResultsCsv(rows)));
  }
  return status;
}

void AddResultOutputs(const std::vector<std::string>& paths, v1::OutputOptions* output) {
  for (const std::string& path : paths) {
    const std::string extension = ExtensionOf(path);
    if (extension == ".mcap" || extension == ".ply") output->set_aligned_cloud(true);
    if (extension == ".mcap") output->set_diagnostics(true);
  }
}

absl::Status WriteResultFiles(const std::vector<std::string>& paths, const client::Channel& channel,
                              const MapFlags& map, const ReplayRow& row, double timeout_s) {
  VOXLOC_ASSIGN_OR_RETURN(ResultFiles files, ResultFiles::Open(paths));
  if (files.HasScene() && row.map_T_base.has_value()) {
    const absl::StatusOr<CellChoice> choice = ScoreStageOf(channel, map, timeout_s);
    if (choice.ok()) {
      files.AddCellsAlong(channel, *choice, row.stamp_ns, {*row.map_T_base}, timeout_s);
    } else {
      WarnOfNoCells(choice.status());
    }
  }
  files.Add(row, nullptr);
  return files.Close({row});
}

ReplayRow RowOf(const std::string& file, const v1::AlignmentResult& result, double latency_ms) {
  ReplayRow row;
  row.file = std::filesystem::path(file).filename().string();
  FillRow(result, latency_ms, &row);
  return row;
}

ReplayRow RowOf(const std::string& file, const v1::SearchResult& result, double latency_ms) {
  v1::AlignmentResult best;
  *best.mutable_timings() = result.timings();
  best.set_accepted(Located(result));
  if (result.hypotheses_size() > 0) {
    const v1::PoseHypothesis& first = result.hypotheses(0);
    best.set_status(first.status());
    *best.mutable_map_t_base() = first.map_t_base();
    *best.mutable_scores() = first.scores();
    if (first.has_confidence()) *best.mutable_confidence() = first.confidence();
  }
  return RowOf(file, best, latency_ms);
}

}  // namespace voxloc::cli
