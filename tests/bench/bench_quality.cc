// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench quality`: how well confidence separates right from wrong poses of many kinds,
// compared with TP and NVTL; its calibration as a probability; and the errors at each limit.

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/dataset/summary.h"
#include "core/engine/profile.h"
#include "core/geometry/euler.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/classification.h"
#include "tests/bench/data_set.h"
#include "tests/bench/quality_cases.h"

namespace voxloc::bench {
namespace {

constexpr size_t kBins = 10;
constexpr std::array<double, 4> kLimits = {0.3, 0.5, 0.8, 0.9};

struct QualityFlags {
  EngineOptions engine;
  std::vector<std::string> sets;
  size_t stride = 1;
  std::string profile = "autoware";
  std::string dump;
  std::string json;
};

using Cases = std::vector<QualityCase>;

bool HasTruth(const QualityCase& one) {
  return one.truth == Truth::kRight || one.truth == Truth::kWrong;
}

// The values of the cases that have a truth and pass the filter.
template <typename Filter, typename Value>
std::vector<LabeledScore> CollectScores(const Cases& cases, Filter filter, Value value) {
  std::vector<LabeledScore> scores;
  for (const QualityCase& one : cases) {
    if (HasTruth(one) && filter(one)) scores.push_back({value(one), one.truth == Truth::kRight});
  }
  return scores;
}

double ConfidenceOfCase(const QualityCase& one) { return one.confidence.value; }

// Areas of confidence, TP and NVTL.
template <typename Filter>
nlohmann::json ReportAreas(const Cases& cases, const std::string& name, Filter filter) {
  const auto confidence = CollectScores(cases, filter, ConfidenceOfCase);
  const auto right = static_cast<size_t>(std::count_if(
      confidence.begin(), confidence.end(), [](const LabeledScore& j) { return j.right; }));
  const std::array<double, 3> area = {
      AreaUnderCurve(confidence),
      AreaUnderCurve(CollectScores(
          cases, filter, [](const QualityCase& one) { return one.transform_probability; })),
      AreaUnderCurve(
          CollectScores(cases, filter, [](const QualityCase& one) { return one.nvtl; }))};
  std::printf("%-16s %6zu %6zu   %.4f  %.4f  %.4f\n", name.c_str(), right,
              confidence.size() - right, area[0], area[1], area[2]);
  return {{"kind", name},          {"right", right}, {"wrong", confidence.size() - right},
          {"confidence", area[0]}, {"tp", area[1]},  {"nvtl", area[2]}};
}

// Per kind: its wrong poses against its right ones and the right ones of `tracking`.
nlohmann::json ReportKinds(const Cases& cases) {
  std::printf("area under the ROC curve\n%-16s %6s %6s   %-6s  %-6s  %-6s\n", "poses", "right",
              "wrong", "conf.", "TP", "NVTL");
  const auto is_hard = [](const QualityCase& one) {
    const auto end = kQualityKinds.begin() + kHardKinds;
    return std::find(kQualityKinds.begin(), end, one.kind) != end;
  };
  nlohmann::json kinds = nlohmann::json::array();
  kinds.push_back(ReportAreas(cases, "all", [](const QualityCase&) { return true; }));
  kinds.push_back(ReportAreas(cases, "hard", is_hard));
  kinds.push_back(ReportAreas(cases, "hard, told apart", [&](const QualityCase& one) {
    return is_hard(one) && !one.explains_as_well;
  }));
  for (size_t i = 1; i < kQualityKinds.size(); ++i) {
    const std::string& kind = kQualityKinds[i];
    kinds.push_back(ReportAreas(cases, kind, [&](const QualityCase& one) {
      return one.kind == kind || (one.kind == kQualityKinds[0] && one.truth == Truth::kRight);
    }));
  }
  return kinds;
}

nlohmann::json ReportReliability(absl::Span<const LabeledScore> scores) {
  const std::vector<ReliabilityBin> bins = ReliabilityOf(scores, kBins);
  const double error = CalibrationError(bins);
  std::printf("\nreliability where one half is right; calibration error %.3f\n", error);
  std::printf("%8s %8s %12s %8s\n", "poses", "share", "confidence", "right");
  nlohmann::json rows = nlohmann::json::array();
  for (const ReliabilityBin& bin : bins) {
    std::printf("%8zu %8.3f %12.3f %8.3f\n", bin.count, bin.weight, bin.value, bin.right);
    rows.push_back({{"poses", bin.count},
                    {"share", bin.weight},
                    {"confidence", bin.value},
                    {"right", bin.right}});
  }
  return {{"calibration_error", error}, {"bins", rows}};
}

nlohmann::json ReportGate(absl::Span<const LabeledScore> scores) {
  std::printf("\n%-10s %14s %14s\n", "limit", "right refused", "wrong passing");
  nlohmann::json rows = nlohmann::json::array();
  for (const double limit : kLimits) {
    const GateCost cost = GateCostOf(scores, limit);
    std::printf("%-10.1f %14.4f %14.4f\n", limit, cost.refused_right, cost.accepted_wrong);
    rows.push_back({{"limit", limit},
                    {"refused_right", cost.refused_right},
                    {"accepted_wrong", cost.accepted_wrong}});
  }
  return rows;
}

// Of the poses that were tracked and are right, set by set.
nlohmann::json ReportSets(const Cases& cases, const std::vector<DataSet>& sets) {
  std::printf("\nright poses that were tracked\n%-24s %6s %6s %6s %6s\n", "set", "poses", "min",
              "p50", "TP p50");
  nlohmann::json rows = nlohmann::json::array();
  for (const DataSet& set : sets) {
    std::vector<double> values;
    std::vector<double> tp;
    for (const QualityCase& one : cases) {
      if (one.set != set.name || one.kind != kQualityKinds[0]) continue;
      if (one.truth != Truth::kRight) continue;
      values.push_back(one.confidence.value);
      tp.push_back(one.transform_probability);
    }
    if (values.empty()) continue;
    const double least = *std::min_element(values.begin(), values.end());
    const size_t count = values.size();
    const double median = Summarize(std::move(values)).p50;
    std::printf("%-24s %6zu %6.3f %6.3f %6.3f\n", set.name.c_str(), count, least, median,
                Summarize(std::move(tp)).p50);
    rows.push_back({{"set", set.name}, {"poses", count}, {"min", least}, {"p50", median}});
  }
  return rows;
}

const char* NameOf(Truth truth) {
  switch (truth) {
    case Truth::kRight:
      return "right";
    case Truth::kWrong:
      return "wrong";
    case Truth::kIndistinguishable:
      return "alike";
    case Truth::kExcluded:
      return "neither";
  }
  return "";
}

absl::Status WriteDump(const std::string& path, const std::string& profile, const Cases& cases) {
  if (path.empty()) return absl::OkStatus();
  std::ofstream file(path);
  file << "profile,set,kind,truth,distance_m,angle_deg,likelihood_share,degenerate,"
          "answer_cell_size_m,confidence,tp,nvtl";
  for (const ConfidenceTerm& term : ConfidenceTerms({})) file << ",term_" << term.name;
  file << '\n';
  for (const QualityCase& one : cases) {
    const QualitySignals& signals = one.confidence.signals;
    file << absl::StrJoin(
        std::make_tuple(profile, one.set, one.kind, NameOf(one.truth), one.distance_m,
                        one.angle_rad / kRadiansPerDegree, one.likelihood_share,
                        one.degenerate ? 1 : 0, signals.answer_cell_size_m, one.confidence.value,
                        one.transform_probability, one.nvtl),
        ",");
    for (const ConfidenceTerm& term : ConfidenceTerms(signals)) file << ',' << term.value;
    file << '\n';
  }
  file.close();
  if (!file) return absl::InternalError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

size_t CountOf(const Cases& cases, Truth truth) {
  return static_cast<size_t>(std::count_if(
      cases.begin(), cases.end(), [&](const QualityCase& one) { return one.truth == truth; }));
}

absl::Status RunQuality(const QualityFlags& options) {
  auto engine = MakeEngine(options.engine);
  if (!engine.ok()) return engine.status();
  const auto profile = ProfileOf(options.profile);
  if (!profile.ok()) return profile.status();
  const auto sets = ParseSets(options.sets);
  if (!sets.ok()) return sets.status();
  Cases cases;
  for (const DataSet& set : *sets) {
    const auto loaded = LoadSet(**engine, set, {*profile}, options.stride);
    if (!loaded.ok()) return loaded.status();
    auto found = QualityCasesOf(**engine, *loaded, *profile);
    if (!found.ok()) return found.status();
    std::move(found->begin(), found->end(), std::back_inserter(cases));
  }
  std::printf("profile %s; %zu poses that cannot be told from the truth are left out\n",
              profile->name.c_str(), CountOf(cases, Truth::kIndistinguishable));
  const auto scores = CollectScores(
      cases, [](const QualityCase&) { return true; }, ConfidenceOfCase);
  nlohmann::json result = {{"profile", profile->name},
                           {"alike", CountOf(cases, Truth::kIndistinguishable)}};
  result["kinds"] = ReportKinds(cases);
  result["reliability"] = ReportReliability(scores);
  result["gate"] = ReportGate(scores);
  result["sets"] = ReportSets(cases, *sets);
  if (absl::Status status = WriteDump(options.dump, profile->name, cases); !status.ok()) {
    return status;
  }
  return WriteJson(options.json, result);
}

}  // namespace

Command AddQualityCommand(CLI::App& program) {
  auto options = std::make_shared<QualityFlags>();
  CLI::App* app = program.add_subcommand(
      "quality", "Compare how well confidence, TP and NVTL separate right poses from wrong ones");
  AddEngineFlags(*app, options->engine);
  AddSetFlag(*app, options->sets);
  app->add_option("--stride", options->stride, "Use every Nth scan")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  AddProfileFlag(*app, options->profile);
  app->add_option("--dump", options->dump,
                  "Write one line per pose to this file, with what the confidence is made of");
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunQuality(*options); }};
}

}  // namespace voxloc::bench
