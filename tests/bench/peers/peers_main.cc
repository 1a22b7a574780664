// SPDX-License-Identifier: Apache-2.0
//
// voxloc_bench_peers: the CPU engine and registrations of other projects on the same scans, in one
// run. Reading and thinning are outside the timing.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "core/parallel/deadlock_detection.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/peers/peer.h"
#include "tests/bench/pose_errors.h"

namespace voxloc::bench {
namespace {

struct PeersFlags {
  MapOptions map;
  ScanOptions scans;
  std::vector<int> threads = {1, 2};
  size_t repeat = 10;
  std::string json;
};

struct Row {
  std::string name;
  int threads;
  std::vector<double> align_ms;
  std::vector<double> prepare_ms;
  PoseErrors errors;
};

void Print(const Row& row) {
  const Summary align_ms = Summarize(row.align_ms);
  const Summary translation_m = Summarize(row.errors.translation_m);
  std::printf(
      "%-18s %2d  align p50 %8.3f  p95 %8.3f ms  prepare p50 %7.3f ms  iterations %5.1f  "
      "translation p50 %6.1f  max %6.1f mm\n",
      row.name.c_str(), row.threads, align_ms.p50, align_ms.p95, Summarize(row.prepare_ms).p50,
      Summarize(row.errors.iterations).mean, translation_m.p50 * 1e3, translation_m.max * 1e3);
  std::fflush(stdout);
}

nlohmann::json RowJson(const Row& row) {
  return {{"name", row.name},
          {"threads", row.threads},
          {"align_ms", ToJson(Summarize(row.align_ms))},
          {"prepare_ms", ToJson(Summarize(row.prepare_ms))},
          {"iterations", Summarize(row.errors.iterations).mean},
          {"translation_error_m", ToJson(Summarize(row.errors.translation_m))},
          {"rotation_error_deg", ToJson(Summarize(row.errors.rotation_deg))},
          {"lost", row.errors.beyond},
          {"scans", row.errors.count()}};
}

// All scans in rotation, after a round to warm up, whose poses count.
template <typename Align>
Row Measure(const std::string& name, int threads, const std::vector<BenchScan>& scans,
            size_t repeat, const Align& align) {
  Row row{name, threads, {}, {}, {}};
  for (size_t round = 0; round <= repeat; ++round) {
    for (const BenchScan& scan : scans) {
      const PeerResult result = align(scan);
      if (round == 0) {
        row.errors.AddPose(result.map_T_base, result.iterations, scan.map_T_base, kLost);
        continue;
      }
      row.align_ms.push_back(result.align_ms);
      row.prepare_ms.push_back(result.prepare_ms);
    }
  }
  return row;
}

absl::StatusOr<Row> MeasureVoxloc(const PeersFlags& options, const std::string& profile,
                                  int threads, const std::vector<BenchScan>& scans) {
  EngineOptions engine;
  engine.threads = static_cast<size_t>(threads);
  const auto bench = MakeBench(engine, profile, options.map);
  if (!bench.ok()) return bench.status();
  return Measure("voxloc " + profile, threads, scans, options.repeat, [&](const BenchScan& scan) {
    AlignJob job;
    job.map = bench->map.resident;
    job.scan = scan.cloud;
    job.profile = bench->profile;
    job.map_T_base_guess = scan.map_T_base_guess;
    std::vector<AlignResult> results;
    PeerResult result;
    result.align_ms = TimeMs([&] { results = bench->engine->Align({&job, 1}); });
    result.map_T_base = results[0].map_T_base;
    result.iterations = results[0].iterations;
    return result;
  });
}

std::vector<std::unique_ptr<Peer>> MakePeers(int threads) {
  std::vector<std::unique_ptr<Peer>> peers;
#if defined(VOXLOC_HAVE_AUTOWARE_NDT)
  peers.push_back(MakeAutowareNdtPeer(threads));
#endif
#if defined(VOXLOC_HAVE_SMALL_GICP)
  peers.push_back(MakeSmallVgicpPeer(threads));
  peers.push_back(MakeSmallGicpPeer(threads));
#endif
  return peers;
}

absl::Status Run(const PeersFlags& options) {
  const auto scans = LoadScans(options.scans);
  if (!scans.ok()) return scans.status();
  const auto clouds = LoadMapClouds(options.map);
  if (!clouds.ok()) return clouds.status();
  nlohmann::json rows = nlohmann::json::array();
  for (const int threads : options.threads) {
    for (const std::string profile : {"autoware", "precise"}) {
      const absl::StatusOr<Row> row = MeasureVoxloc(options, profile, threads, *scans);
      if (!row.ok()) return row.status();
      Print(*row);
      rows.push_back(RowJson(*row));
    }
    for (const std::unique_ptr<Peer>& peer : MakePeers(threads)) {
      peer->SetMap(*clouds);
      const Row row = Measure(
          peer->name(), threads, *scans, options.repeat,
          [&](const BenchScan& scan) { return peer->Align(*scan.cloud, scan.map_T_base_guess); });
      Print(row);
      rows.push_back(RowJson(row));
    }
  }
  return WriteJson(options.json, {{"scans", scans->size()}, {"rows", rows}});
}

}  // namespace
}  // namespace voxloc::bench

int main(int argc, char** argv) {
  voxloc::DisableDeadlockDetection();
  CLI::App program(
      "Times the CPU engine and registrations of other projects on the same scans.\n\n"
      "  voxloc_bench_peers --map map.ply --scans scans --poses poses.txt "
      "--guesses guesses.txt");
  voxloc::bench::PeersFlags options;
  voxloc::bench::AddMapFlags(program, options.map);
  voxloc::bench::AddScanFlags(program, options.scans);
  voxloc::bench::RequireMapAndScans(program);
  program
      .add_option("--threads", options.threads, "Measure with these numbers of threads, 1 to 256")
      ->delimiter(',')
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  voxloc::bench::AddRepeatFlag(program, options.repeat,
                               "Time this many rounds over all scans, after one to warm up");
  voxloc::bench::AddJsonFlag(program, options.json);
  CLI11_PARSE(program, argc, argv);
  if (const absl::Status status = voxloc::bench::Run(options); !status.ok()) {
    std::cerr << "voxloc_bench_peers: " << status.message() << "\n";
    return 1;
  }
  return 0;
}
