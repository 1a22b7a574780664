// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench sweep`: detection of wrong point times and wrong motion. Deskews the scans of
// drives correctly and incorrectly, aligns them, and counts the suspect scans.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/dataset/cloud_sources.h"
#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/pcd_header.h"
#include "core/cloud/motion.h"
#include "core/estimate/quality/sweep_check.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/data_set.h"

namespace voxloc::bench {
namespace {

struct SweepFlags {
  EngineOptions engine;
  std::vector<std::string> sets;
  size_t stride = 1;
  std::string profile = "precise";
  std::string json;
};

// A scan as its sensor saw it.
struct TimedScan {
  PointCloud cloud;
  std::vector<float> time_s;
};

// What is done to a scan, and what it is deskewed by.
struct SweepCase {
  const char* name;
  std::function<void(TimedScan& scan, Twist& twist)> spoil;
};

void Scale(double factor, Twist& twist) {
  twist.linear_m_s *= factor;
  twist.angular_rad_s *= factor;
}

// Times that begin elsewhere in the sweep.
void Rotate(float share, std::vector<float>& time_s) {
  const auto [first, last] = std::minmax_element(time_s.begin(), time_s.end());
  const float begin = *first;
  const float end = *last;
  for (float& time : time_s) {
    time += share * (end - begin);
    if (time > end) time -= end - begin;
  }
}

std::vector<SweepCase> SweepCases() {
  return {{"right", [](TimedScan& /*scan*/, Twist& /*twist*/) {}},
          {"motion reversed", [](TimedScan& /*scan*/, Twist& twist) { Scale(-1.0, twist); }},
          {"motion halved", [](TimedScan& /*scan*/, Twist& twist) { Scale(0.5, twist); }},
          {"motion 0.8 times", [](TimedScan& /*scan*/, Twist& twist) { Scale(0.8, twist); }},
          {"deskewed before",
           [](TimedScan& scan, Twist& twist) { Deskew(twist, scan.time_s, 0.0, scan.cloud); }},
          {"times by half a turn",
           [](TimedScan& scan, Twist& /*twist*/) { Rotate(0.5F, scan.time_s); }}};
}

// The field `t` of the binary PCD files of `voxloc simulate --point-times`.
absl::StatusOr<TimedScan> ReadTimedScan(const std::string& path) {
  auto cloud = ReadCloud(path);
  if (!cloud.ok()) return cloud.status();
  const auto bytes = ReadFileBytes(path, CloudReadOptions().max_file_bytes);
  if (!bytes.ok()) return bytes.status();
  const auto header = ParsePcdHeader(bytes->view(), path);
  if (!header.ok()) return header.status();
  TimedScan scan;
  scan.cloud = *std::move(cloud);
  size_t offset = header->data_offset;
  for (const PcdField& field : header->fields) {
    if (field.name == "t" && header->encoding == PcdEncoding::kBinary) {
      const ScalarLoader load = LoaderOf(field.type);
      for (size_t i = 0; i < scan.cloud.size(); ++i) {
        const char* const value = bytes->view().data() + offset + i * header->point_bytes();
        scan.time_s.push_back(static_cast<float>(load(value)));
      }
      return scan;
    }
    offset += field.bytes();
  }
  return absl::InvalidArgumentError(absl::StrCat(path, ": must be binary and have a field t"));
}

// As the server prepares a scan: deskewed, then thinned, each point with its time.
absl::StatusOr<TimedScan> Prepare(TimedScan scan, const Twist& twist, const ScanOptions& options) {
  Deskew(twist, scan.time_s, 0.0, scan.cloud);
  scan.cloud.intensity = std::move(scan.time_s);
  FilterOptions filter;
  filter.min_range_m = options.min_range_m;
  filter.voxel_leaf_m = options.leaf_m;
  filter.max_points = options.points;
  filter.random_seed = options.seed;
  auto filtered = FilterCloud(scan.cloud, filter);
  if (!filtered.ok()) return filtered.status();
  TimedScan prepared;
  prepared.cloud = std::move(filtered->cloud);
  prepared.time_s = std::move(prepared.cloud.intensity);
  prepared.cloud.intensity.clear();
  return prepared;
}

struct SweepCounts {
  size_t aligned = 0;
  size_t accepted = 0;
  size_t checked = 0;  // with as many scans before them as a suspicion needs
  size_t suspect = 0;
  double error_m = 0.0;   // sum over the accepted
  double farthest = 0.0;  // unexplained motion of those checked
  SweepReport last;
};

absl::StatusOr<SweepCounts> CountSet(Engine& engine, const LoadedSet& set,
                                     const std::vector<std::string>& files,
                                     const ScanOptions& options, const Profile& profile,
                                     const SweepFlags& flags, const SweepCase& sweep_case) {
  SweepCounts counts;
  SweepCheck check;
  for (size_t i = 0; i < set.scans.size(); ++i) {
    if (!set.scans[i].base_twist.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(set.name, ": must have poses with stamps (--pose-format tum)"));
    }
    auto scan = ReadTimedScan(files[i * flags.stride]);
    if (!scan.ok()) return scan.status();
    Twist twist = *set.scans[i].base_twist;
    sweep_case.spoil(*scan, twist);
    auto prepared = Prepare(*std::move(scan), twist, options);
    if (!prepared.ok()) return prepared.status();
    AlignJob job;
    job.map = set.map;
    job.scan = std::make_shared<const PointCloud>(std::move(prepared->cloud));
    job.map_T_base_guess = set.scans[i].map_T_base_guess;
    job.profile = profile;
    const auto slices = SliceSweep(prepared->time_s);
    const bool moves = slices.has_value() && MotionOver(*slices, twist) >= kMinSweepMotionM;
    if (moves) static_cast<void>(RequestSweepPass(*slices, nullptr, job));
    const AlignResult result = engine.Align(absl::MakeConstSpan(&job, 1))[0];
    if (!result.status.ok()) return result.status;
    ++counts.aligned;
    if (Judge(result, profile) != Acceptance::kAccepted) continue;
    ++counts.accepted;
    counts.error_m += TranslationDistance(result.map_T_base, set.scans[i].map_T_base);
    if (!moves) continue;
    counts.last = check.Add(
        ComputeSweepDerivatives(*slices, result.passes[0].groups, twist, result.map_T_base));
    if (counts.last.scans < kMinSweeps) continue;
    ++counts.checked;
    counts.suspect += counts.last.suspect ? 1 : 0;
    if (std::abs(counts.last.unexplained_motion) > std::abs(counts.farthest)) {
      counts.farthest = counts.last.unexplained_motion;
    }
  }
  return counts;
}

nlohmann::json ReportCase(const std::string& set, const SweepCase& sweep_case,
                          const SweepCounts& counts) {
  const double error_m =
      counts.error_m / std::max<double>(1.0, static_cast<double>(counts.accepted));
  std::printf(
      "%-20s %-20s accepted %3zu of %3zu, error %.3f m; suspect %3zu of %3zu; farthest "
      "%+.2f; last %+.2f, sigma %.3f\n",
      set.c_str(), sweep_case.name, counts.accepted, counts.aligned, error_m, counts.suspect,
      counts.checked, counts.farthest, counts.last.unexplained_motion, counts.last.sigma);
  return {{"set", set},
          {"case", sweep_case.name},
          {"aligned", counts.aligned},
          {"accepted", counts.accepted},
          {"error_m", error_m},
          {"checked", counts.checked},
          {"suspect", counts.suspect},
          {"farthest", counts.farthest},
          {"unexplained_motion", counts.last.unexplained_motion},
          {"sigma", counts.last.sigma}};
}

absl::Status RunSweep(const SweepFlags& options) {
  auto engine = MakeEngine(options.engine);
  if (!engine.ok()) return engine.status();
  const auto profile = ProfileOf(options.profile);
  if (!profile.ok()) return profile.status();
  const auto sets = ParseSets(options.sets);
  if (!sets.ok()) return sets.status();
  nlohmann::json rows = nlohmann::json::array();
  for (const DataSet& set : *sets) {
    const auto loaded = LoadSet(**engine, set, {*profile}, options.stride);
    if (!loaded.ok()) return loaded.status();
    const auto files = ListClouds(set.scans.scans);
    if (!files.ok()) return files.status();
    for (const SweepCase& sweep_case : SweepCases()) {
      const auto counts =
          CountSet(**engine, *loaded, *files, set.scans, *profile, options, sweep_case);
      if (!counts.ok()) return counts.status();
      rows.push_back(ReportCase(set.name, sweep_case, *counts));
    }
  }
  return WriteJson(options.json, {{"profile", profile->name}, {"rows", rows}});
}

}  // namespace

Command AddSweepCommand(CLI::App& program) {
  auto options = std::make_shared<SweepFlags>();
  CLI::App* app = program.add_subcommand(
      "sweep", "Count the scans whose point times or motion are suspected, right and wrong ones");
  AddEngineFlags(*app, options->engine);
  AddSetFlag(*app, options->sets);
  app->add_option("--stride", options->stride, "Use every Nth scan")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  AddProfileFlag(*app, options->profile);
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunSweep(*options); }};
}

}  // namespace voxloc::bench
