// SPDX-License-Identifier: Apache-2.0
//
// Alignments: single ones, batches, candidates of a start pose.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/engine/profile.h"
#include "core/geometry/euler.h"
#include "tests/bench/align_batch.h"
#include "tests/bench/gpu_row.h"
#include "tests/support/diagonal_covariance.h"

namespace voxloc::bench {
namespace {

struct Spread {
  double translation_m = 0.0;  // along x and y; a fifth of it along z
  double yaw_rad = 0.0;
};

// Within the spread around the pose, evenly.
Pose SpreadPose(const Pose& pose, const Spread& spread, std::mt19937_64& random) {
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1.0p-52 - 1.0; };
  Pose moved = pose;
  moved.translation +=
      spread.translation_m * Eigen::Vector3d(uniform(), uniform(), 0.2 * uniform());
  const Eigen::AngleAxisd turn(spread.yaw_rad * uniform(), Eigen::Vector3d::UnitZ());
  moved.rotation = (turn * moved.rotation).normalized();
  return moved;
}

// The batches in rotation, in a map of their profile's cells.
Row MakeRow(const std::string& name, const GpuData& data, const Profile& profile,
            std::vector<AlignBatch> batches, const std::shared_ptr<ThreadPool>& packers) {
  const auto shared = std::make_shared<const std::vector<AlignBatch>>(std::move(batches));
  Row row;
  row.name = name;
  row.item = "alignments";
  row.prepare = [shared, profile, packers,
                 clouds = &data.map](Engine& engine) -> absl::StatusOr<Call> {
    const auto map = BuildMap(engine, *clouds, RequiredStatistics({profile}));
    if (!map.ok()) return map.status();
    auto placed = std::make_shared<std::vector<AlignBatch>>(*shared);
    // The server's jobs can be cancelled: the engine looks at this while the device works.
    const auto never = std::make_shared<const std::atomic<bool>>(false);
    for (AlignBatch& batch : *placed) {
      for (AlignJob& job : batch.jobs) {
        job.map = map->resident;
        job.stop.cancelled = never;
      }
    }
    return Call([placed, packers, &engine](size_t round) {
      return AlignOnce(engine, (*placed)[round % placed->size()], round < placed->size(),
                       packers.get());
    });
  };
  return row;
}

// The first scan at its own guess. Copies of it in rotation: no call finds its points in a cache.
std::vector<AlignBatch> FirstScan(const std::vector<BenchScan>& scans, const Profile& profile) {
  std::vector<AlignBatch> batches(16);
  for (AlignBatch& batch : batches) {
    BenchScan copy = scans[0];
    copy.cloud = std::make_shared<const PointCloud>(*copy.cloud);
    batch.Add(copy, copy.map_T_base_guess, profile);
  }
  return batches;
}

std::vector<AlignBatch> OneByOne(const std::vector<BenchScan>& scans, const Profile& profile) {
  std::vector<AlignBatch> batches(scans.size());
  for (size_t i = 0; i < scans.size(); ++i) {
    batches[i].Add(scans[i], scans[i].map_T_base_guess, profile);
  }
  return batches;
}

// All scans in turn until there are `size` jobs; a second batch begins with another.
std::vector<AlignBatch> InTurn(const std::vector<BenchScan>& scans, size_t size,
                               const Profile& profile) {
  std::vector<AlignBatch> batches(2);
  for (size_t b = 0; b < batches.size(); ++b) {
    for (size_t i = 0; i < size; ++i) {
      const BenchScan& scan = scans[(i + 7 * b) % scans.size()];
      batches[b].Add(scan, scan.map_T_base_guess, profile);
    }
  }
  return batches;
}

// The first scan many times, from places around its guess.
std::vector<AlignBatch> Spreading(const std::vector<BenchScan>& scans, size_t size,
                                  const Spread& spread, const Profile& profile) {
  std::mt19937_64 random(7);
  std::vector<AlignBatch> batches(4);
  for (AlignBatch& batch : batches) {
    for (size_t i = 0; i < size; ++i) {
      batch.Add(scans[0], SpreadPose(scans[0].map_T_base_guess, spread, random), profile);
    }
  }
  return batches;
}

// The covariance that the guesses of SyntheticScans have: 0.5 m and 2 degrees off, over three axes.
void AddCovariances(std::vector<AlignBatch>& batches) {
  const double sigma_m = 0.5 / std::sqrt(3.0);
  const double sigma_rad = 2.0 * kRadiansPerDegree / std::sqrt(3.0);
  const Matrix6 covariance = DiagonalCovariance(sigma_m, sigma_rad);
  for (AlignBatch& batch : batches) {
    for (AlignJob& job : batch.jobs) job.prior_covariance = covariance;
  }
}

// Candidates of a search, as many as a slice holds and more.
std::vector<AlignBatch> Searching(const std::vector<BenchScan>& scans, const Profile& profile) {
  std::vector<AlignBatch> batches = Spreading(scans, 4096, {5.0, M_PI}, profile);
  for (AlignBatch& batch : batches) {
    for (AlignJob& job : batch.jobs) job.work_class = WorkClass::kSearching;
  }
  return batches;
}

}  // namespace

std::vector<Row> TrackingRows(const GpuData& data) {
  const Profile profile = PreciseProfile();
  const Row tracking =
      MakeRow("tracking: one scan, precise", data, profile, OneByOne(data.scans, profile), nullptr);
  std::vector<Row> rows = {tracking};
  rows.push_back(WithBackgroundLoad(tracking, MakeRow("search of 4096 candidates", data, profile,
                                                      Searching(data.scans, profile), nullptr)));
  for (const Row& score : ScoreRows(data)) rows.push_back(WithBackgroundLoad(tracking, score));
  for (const Row& build : BuildRows()) {
    if (build.name == "build 1M points, both profiles")
      rows.push_back(WithBackgroundLoad(tracking, build));
  }
  return rows;
}

std::vector<Row> AlignRows(const GpuData& data, std::shared_ptr<ThreadPool> packers) {
  const Profile autoware = AutowareProfile();
  const Profile precise = PreciseProfile();
  const std::vector<BenchScan>& scans = data.scans;
  const std::string points = absl::StrCat(scans[0].cloud->size(), " points");
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, const Profile& profile,
                       std::vector<AlignBatch> batches) {
    rows.push_back(MakeRow(name, data, profile, std::move(batches), packers));
  };
  add(absl::StrCat("one scan of ", points), autoware, FirstScan(scans, autoware));
  add(absl::StrCat("one scan, ", scans.size(), " in turn"), autoware, OneByOne(scans, autoware));
  for (const std::vector<BenchScan>& dense : data.dense_scans) {
    add(absl::StrCat("one scan of ", dense[0].cloud->size(), " points"), autoware,
        OneByOne(dense, autoware));
  }
  for (const size_t size : {8, 16, 32, 64, 128, 256, 1024}) {
    add(absl::StrCat("batch of ", size, ", scans in turn"), autoware,
        InTurn(scans, size, autoware));
  }
  add("batch of 4096, starts within 0.1 m", autoware, Spreading(scans, 4096, {0.1, 0.0}, autoware));
  add("batch of 4096, scans in turn", autoware, InTurn(scans, 4096, autoware));
  add("200 candidates within 0.5 m, 5 deg", autoware,
      Spreading(scans, 200, {0.5, 5.0 * kRadiansPerDegree}, autoware));
  add("200 candidates within 5 m, any heading", autoware,
      Spreading(scans, 200, {5.0, M_PI}, autoware));
  for (const bool held : {false, true}) {
    const std::string suffix = held ? ", guesses with covariance" : "";
    const auto add_precise = [&](const std::string& name, std::vector<AlignBatch> batches) {
      if (held) AddCovariances(batches);
      add(absl::StrCat("precise: ", name, suffix), precise, std::move(batches));
    };
    add_precise("one scan, in turn", OneByOne(scans, precise));
    for (const std::vector<BenchScan>& dense : data.dense_scans) {
      add_precise(absl::StrCat("one scan of ", dense[0].cloud->size(), " points"),
                  OneByOne(dense, precise));
    }
    for (const size_t size : {64, 256, 4096}) {
      add_precise(absl::StrCat("batch of ", size, ", in turn"), InTurn(scans, size, precise));
    }
  }
  add("precise: search of 4096 candidates", precise, Searching(scans, precise));
  return rows;
}

}  // namespace voxloc::bench
