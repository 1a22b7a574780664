// SPDX-License-Identifier: Apache-2.0
//
// voxloc_autoware_reference: what Autoware's own code makes of golden sets and of drives, for
// scripts/autoware-reference.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/dataset/trajectory_file.h"
#include "core/cloud/io/cloud_file.h"
#include "core/geometry/pose.h"
#include "core/parallel/deadlock_detection.h"
#include "core/status/try.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/peers/autoware_golden.h"
#include "tests/bench/peers/autoware_node.h"

namespace voxloc::bench {
namespace {

constexpr int64_t kScanPeriodNs = 100'000'000;
// How far the guesses of the control are moved: about the step of float32, in which the reference
// computes, between 64 and 128 m from the map's zero.
constexpr double kMovedM = 1e-5;

struct GoldenFlags {
  std::string set;
  std::string target;
  std::string source;
  std::string out;
};

struct DriveFlags {
  MapOptions map;
  ScanOptions scans;
  int threads = 1;
  std::string out;
};

absl::Status RunGolden(const GoldenFlags& flags) {
  std::ifstream file(flags.set);
  const auto set = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (set.is_discarded()) return absl::InvalidArgumentError(absl::StrCat(flags.set, ": no JSON"));
  VOXLOC_ASSIGN_OR_RETURN(const PointCloud target, ReadCloud(flags.target));
  VOXLOC_ASSIGN_OR_RETURN(const PointCloud source, ReadCloud(flags.source));
  return WriteJson(flags.out, ComputeGoldenSet(set, target, source));
}

// Writes what `voxloc compare` reads: the scans as they were aligned, the guesses, the accepted
// poses, and the values of all scans that were aligned. The values have columns of a control: what
// Autoware's code does when the guess is moved by kMovedM along x, and how far that ends from the
// result, which says how much of a difference rounding alone makes.
absl::Status RunDrive(const DriveFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<BenchScan> scans, LoadScans(flags.scans));
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<PointCloud> tiles, LoadMapClouds(flags.map));
  const std::filesystem::path out = flags.out;
  std::filesystem::create_directories(out / "scans");
  AutowareNode node(tiles, flags.threads);
  std::vector<StampedPose> guesses;
  std::vector<StampedPose> poses;
  std::ofstream values(out / "values.csv");
  values << "stamp,transform_probability,nvtl,iterations,time_ms,accepted,moved_accepted,"
            "moved_iterations,moved_translation_m,moved_rotation_deg\n";
  for (size_t i = 0; i < scans.size(); ++i) {
    const int64_t stamp_ns = static_cast<int64_t>(i) * kScanPeriodNs;
    VOXLOC_TRY(WritePcd(out / absl::StrFormat("scans/%06d.pcd", i), *scans[i].cloud));
    guesses.push_back({stamp_ns, scans[i].map_T_base_guess});
    const AutowareResult result = node.Localize(*scans[i].cloud, scans[i].map_T_base_guess);
    if (result.accepted) poses.push_back({stamp_ns, result.map_T_base});
    if (!result.aligned) continue;
    Pose moved_guess = scans[i].map_T_base_guess;
    moved_guess.translation.x() += kMovedM;
    const AutowareResult moved = node.Localize(*scans[i].cloud, moved_guess);
    values << absl::StrFormat(
        "%.9f,%.9g,%.9g,%d,%.6f,%d,%d,%d,%.9g,%.9g\n", static_cast<double>(stamp_ns) * 1e-9,
        result.transform_probability, result.nvtl, result.iterations, result.time_ms,
        result.accepted, moved.accepted, moved.iterations,
        TranslationDistance(result.map_T_base, moved.map_T_base),
        kDegreesPerRadian * RotationDistance(result.map_T_base, moved.map_T_base));
  }
  values.close();
  if (!values) return absl::InternalError(absl::StrCat("cannot write ", flags.out, "/values.csv"));
  VOXLOC_TRY(WriteTrajectory(out / "guesses.txt", TrajectoryFormat::kTum, guesses));
  return WriteTrajectory(out / "poses.txt", TrajectoryFormat::kTum, poses);
}

int Main(int argc, char** argv) {
  DisableDeadlockDetection();
  CLI::App program("Computes golden sets and drives with Autoware's NDT.");
  program.require_subcommand(1);
  GoldenFlags golden;
  CLI::App* const golden_command = program.add_subcommand("golden", "Fill in a golden set");
  golden_command->add_option("SET", golden.set, "Take the parameters and poses of this JSON")
      ->required();
  golden_command->add_option("--target", golden.target, "Read the map's points")->required();
  golden_command->add_option("--source", golden.source, "Read the scan's points")->required();
  golden_command->add_option("--out", golden.out, "Write the set to this file")->required();
  DriveFlags drive;
  CLI::App* const drive_command =
      program.add_subcommand("drive", "Align the scans of a drive as Autoware's node does");
  AddMapFlags(*drive_command, drive.map);
  AddScanFlags(*drive_command, drive.scans);
  RequireMapAndScans(*drive_command);
  drive_command->add_option("--threads", drive.threads, "Use this many threads, 1 to 256")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  drive_command->add_option("--out", drive.out, "Write the results to this folder")->required();
  CLI11_PARSE(program, argc, argv);
  const absl::Status status = golden_command->parsed() ? RunGolden(golden) : RunDrive(drive);
  if (status.ok()) return 0;
  std::cerr << "voxloc_autoware_reference: " << status.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace voxloc::bench

int main(int argc, char** argv) { return voxloc::bench::Main(argc, argv); }
