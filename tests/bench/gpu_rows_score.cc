// SPDX-License-Identifier: Apache-2.0
//
// Scores of many poses of one scan.

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "clients/dataset/perturbation.h"
#include "core/engine/profile.h"
#include "tests/bench/gpu_row.h"

namespace voxloc::bench {
namespace {

constexpr size_t kPoses = 100'000;

// Spread over a metre and a few degrees around the truth.
ScoreRequest MakeRequest(const BenchScan& scan, const Stage& stage, uint64_t seed) {
  ScoreRequest request;
  request.scan = scan.cloud;
  request.stage = stage;
  request.work_class = WorkClass::kScoring;
  request.map_T_base.reserve(kPoses);
  for (size_t i = 0; i < kPoses; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(kPoses);
    Perturbation spread;
    spread.translation_m = Eigen::Vector3d(share, 1.0 - share, 0.2 * share);
    spread.rotation_rpy_deg = Eigen::Vector3d(0.5 * share, 0.5 * share, 5.0 * share);
    request.map_T_base.push_back(Perturb(scan.map_T_base, spread, seed, i));
  }
  return request;
}

absl::StatusOr<CallResult> ScoreOnce(Engine& engine, const ScoreRequest& request) {
  absl::StatusOr<ScoreResult> result;
  CallResult call;
  call.ms = TimeMs([&] { result = engine.Score(request); });
  if (!result.ok()) return result.status();
  call.items = static_cast<double>(result->poses.size());
  call.point_evaluations = call.items * static_cast<double>(request.scan->size());
  return call;
}

}  // namespace

std::vector<Row> ScoreRows(const GpuData& data) {
  Row row;
  row.name = absl::StrCat("score ", kPoses, " poses x ", data.scans[0].cloud->size(), " points");
  row.item = "poses";
  row.prepare = [&data](Engine& engine) -> absl::StatusOr<Call> {
    const Profile profile = AutowareProfile();
    const auto map = BuildMap(engine, data.map, RequiredStatistics({profile}));
    if (!map.ok()) return map.status();
    auto requests = std::make_shared<std::vector<ScoreRequest>>();
    for (size_t i = 0; i < std::min<size_t>(3, data.scans.size()); ++i) {
      requests->push_back(MakeRequest(data.scans[i], profile.stages[0], i));
      requests->back().map = map->resident;
    }
    return Call([requests, &engine](size_t round) {
      return ScoreOnce(engine, (*requests)[round % requests->size()]);
    });
  };
  return {row};
}

}  // namespace voxloc::bench
