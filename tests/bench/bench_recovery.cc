// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench recovery`: how often later scans agree with a pose that a search for a lost vehicle
// found, for right and for wrong poses. These are the probabilities that the confirmation of a
// recovery assumes. Also reports the decisions of the confirmation. The scans of a set must be
// consecutive scans of a drive.

#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "core/estimate/initial_pose/pose_search.h"
#include "core/estimate/scan_estimate.h"
#include "core/tracking/pose_proposal.h"
#include "core/tracking/recovery.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/data_set.h"
#include "tests/support/random_numbers.h"

namespace voxloc::bench {
namespace {

// Radius of the searches, and the range of distances from the truth of those that are meant to find
// a wrong pose.
constexpr double kRadiusM = 8.0;
constexpr double kNearM = 5.0;
constexpr double kFarFromM = 15.0;
constexpr double kFarToM = 40.0;
// Error of odometry between two scans, as a share of the distance.
constexpr double kOdometryError = 0.01;

struct RecoveryFlags {
  EngineOptions engine;
  std::vector<std::string> sets;
  size_t stride = 10;
  size_t follow = 10;
  size_t wrong_searches = 3;
  double min_travel_m = 0.0;
  std::string profile = "precise";
  std::string json;
};

// Of the found poses that are right, or wrong.
struct FoundPoses {
  size_t poses = 0;
  size_t passing = 0;  // those that pass every guard of a search
  size_t checked = 0;  // later scans
  size_t agreeing = 0;
  std::vector<double> distances_m;  // from the expected pose to where the alignment ended
  size_t confirmed = 0;
  size_t passing_confirmed = 0;
  size_t dropped = 0;
  std::vector<double> decision_scans;  // of the confirmed ones
};

struct FoundPosesByTruth {
  FoundPoses right;
  FoundPoses wrong;

  FoundPoses& Of(bool is_right) { return is_right ? right : wrong; }
};

class RecoveryRun {
 public:
  RecoveryRun(Engine& engine, const LoadedSet& set, const Profile& profile,
              const RecoveryFlags& flags, FoundPosesByTruth& tallies)
      : engine_(engine), set_(set), profile_(profile), flags_(flags), tallies_(tallies) {
    estimate_.covariance.method = CovarianceMethod::kFixed;
    confidence_ = [this](const AlignedScan& scan) -> std::optional<double> {
      EstimateRequest request;
      request.scan = scan;
      request.options = &estimate_;
      const std::vector<ScanEstimate> estimates = EstimateScans(engine_, {&request, 1});
      if (!estimates.front().confidence.has_value()) return std::nullopt;
      return estimates.front().confidence->value;
    };
    // Without the guards of a search: with them there are hardly any wrong poses.
    unguarded_.min_matched_ratio = 0.0;
    unguarded_.min_confidence = 0.0;
    unguarded_.hypotheses.ambiguity_gap = 0.0;
  }

  void Run() {
    for (size_t i = 0; i + flags_.follow < set_.scans.size(); i += flags_.stride) {
      RandomNumbers random(i);
      Search(i, random.Uniform(0.0, kNearM), random);
      for (size_t k = 0; k < flags_.wrong_searches; ++k) {
        Search(i, random.Uniform(kFarFromM, kFarToM), random);
      }
    }
  }

 private:
  AlignJob JobOf(size_t i) const {
    AlignJob job;
    job.map = set_.map;
    job.scan = set_.scans[i].cloud;
    job.profile = profile_;
    job.with_point_scores = true;
    return job;
  }

  void Search(size_t i, double off_m, RandomNumbers& random) {
    const Pose& truth = set_.scans[i].map_T_base;
    const double heading = random.Uniform(-M_PI, M_PI);
    RecoverySearch search;
    search.map_T_base = truth;
    search.map_T_base.translation +=
        off_m * Eigen::Vector3d(std::cos(heading), std::sin(heading), 0.0);
    search.radius_m = kRadiusM;
    search.number = i;
    const RecoveryReport report =
        SearchForVehicle(engine_, JobOf(i), search, unguarded_, confidence_);
    if (!report.proposal.has_value()) return;
    const Pose& found = report.proposal->map_T_base;
    // A distinct hypothesis is a wrong one.
    const HypothesisOptions distinct;
    const bool right = TranslationDistance(found, truth) <= distinct.min_separation_m &&
                       RotationDistance(found, truth) <= distinct.min_separation_rad;
    const bool passes =
        report.ranked.ambiguity_gap >= options_.hypotheses.ambiguity_gap &&
        RejectReason(*report.proposal, report.confidence, profile_, options_).empty();
    FollowProposal(i, found, passes, random, tallies_.Of(right));
  }

  // The motion to the next scan as odometry has it.
  Pose Odometry(size_t i, RandomNumbers& random) const {
    Pose step = set_.scans[i].map_T_base.Inverse() * set_.scans[i + 1].map_T_base;
    step.translation += kOdometryError * step.translation.norm() * random.NormalVector();
    return step;
  }

  void FollowProposal(size_t i, const Pose& found, bool passes, RandomNumbers& random,
                      FoundPoses& tally) {
    ++tally.poses;
    if (passes) ++tally.passing;
    Pose odometry;
    Pose vehicle = found;
    PoseProposal proposal(found, odometry, options_.confirmation, flags_.min_travel_m);
    bool open = true;
    for (size_t k = 0; k < flags_.follow; ++k) {
      const Pose step = Odometry(i + k, random);
      odometry = odometry * step;
      const Pose expected = vehicle * step;
      const ProposalCheck check =
          CheckProposal(engine_, JobOf(i + k + 1), expected, nullptr, options_, confidence_);
      ++tally.checked;
      if (check.agrees()) ++tally.agreeing;
      if (check.result.status.ok()) {
        tally.distances_m.push_back(TranslationDistance(check.result.map_T_base, expected));
      }
      vehicle = check.agrees() ? check.result.map_T_base : expected;
      if (!open) continue;
      proposal.Check(check.agrees() ? std::optional<Pose>(vehicle) : std::nullopt, odometry);
      const ProposalState state = proposal.outcome().state;
      open = state == ProposalState::kPending;
      if (state == ProposalState::kDropped) ++tally.dropped;
      if (state != ProposalState::kConfirmed) continue;
      ++tally.confirmed;
      if (passes) ++tally.passing_confirmed;
      tally.decision_scans.push_back(static_cast<double>(k + 1));
    }
  }

  Engine& engine_;
  const LoadedSet& set_;
  const Profile& profile_;
  const RecoveryFlags& flags_;
  FoundPosesByTruth& tallies_;
  EstimateOptions estimate_;
  ConfidenceFunction confidence_;
  const RecoveryOptions options_;
  RecoveryOptions unguarded_;
};

nlohmann::json Report(const std::string& name, const FoundPoses& tally) {
  const double share =
      tally.checked > 0 ? static_cast<double>(tally.agreeing) / static_cast<double>(tally.checked)
                        : 0.0;
  const Summary distances = Summarize(tally.distances_m);
  const Summary scans = Summarize(tally.decision_scans);
  std::printf("%-6s %6zu %8zu %8zu %8.3f %8.3f %8.3f %10zu %8zu %8.1f %18zu\n", name.c_str(),
              tally.poses, tally.passing, tally.checked, share, distances.p50, distances.p95,
              tally.confirmed, tally.dropped, scans.p50, tally.passing_confirmed);
  return {{"poses", tally.poses},           {"passing", tally.passing},
          {"checked_scans", tally.checked}, {"agreeing_scans", tally.agreeing},
          {"agreeing_share", share},        {"distance_m", ToJson(distances)},
          {"confirmed", tally.confirmed},   {"passing_confirmed", tally.passing_confirmed},
          {"dropped", tally.dropped},       {"decision_scans", ToJson(scans)}};
}

absl::Status RunRecovery(const RecoveryFlags& options) {
  auto engine = MakeEngine(options.engine);
  if (!engine.ok()) return engine.status();
  const auto profile = ProfileOf(options.profile);
  if (!profile.ok()) return profile.status();
  const auto sets = ParseSets(options.sets);
  if (!sets.ok()) return sets.status();
  nlohmann::json rows = nlohmann::json::array();
  for (const DataSet& set : *sets) {
    const auto loaded = LoadSet(**engine, set, {*profile}, 1);
    if (!loaded.ok()) return loaded.status();
    FoundPosesByTruth tallies;
    RecoveryRun(**engine, *loaded, *profile, options, tallies).Run();
    std::printf("%s, %s\n", loaded->name.c_str(), profile->name.c_str());
    std::printf("%-6s %6s %8s %8s %8s %8s %8s %10s %8s %8s %18s\n", "found", "poses", "passing",
                "scans", "agree", "p50 m", "p95 m", "confirmed", "dropped", "p50 N",
                "passing, confirmed");
    rows.push_back({{"name", loaded->name},
                    {"right", Report("right", tallies.right)},
                    {"wrong", Report("wrong", tallies.wrong)}});
    std::fflush(stdout);
  }
  return WriteJson(options.json, {{"profile", profile->name}, {"rows", rows}});
}

}  // namespace

Command AddRecoveryCommand(CLI::App& program) {
  auto options = std::make_shared<RecoveryFlags>();
  CLI::App* app = program.add_subcommand(
      "recovery",
      "Count how often later scans agree with right and with wrong poses of a lost vehicle");
  AddEngineFlags(*app, options->engine);
  AddSetFlag(*app, options->sets);
  app->add_option("--stride", options->stride, "Search with every Nth scan")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app->add_option("--follow", options->follow, "Compare each found pose with this many scans")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  app->add_option("--wrong-searches", options->wrong_searches,
                  "Search this many times around places where the vehicle is not")
      ->check(CLI::Range(0, 1'000))
      ->capture_default_str();
  app->add_option("--min-travel", options->min_travel_m,
                  "Confirm a pose only after the vehicle has moved this far, m")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  AddProfileFlag(*app, options->profile);
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunRecovery(*options); }};
}

}  // namespace voxloc::bench
