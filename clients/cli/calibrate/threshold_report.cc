// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/calibrate/threshold_report.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/calibrate/displaced_starts.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/terminal.h"
#include "clients/dataset/summary.h"

namespace voxloc::cli {
namespace {

constexpr double kPercents[] = {0.0, 1.0, 5.0, 50.0, 95.0, 99.0, 100.0};

std::vector<double> AscendingScores(const std::vector<ScoredAnswer>& answers) {
  std::vector<double> scores;
  for (const ScoredAnswer& answer : answers) scores.push_back(answer.score);
  std::sort(scores.begin(), scores.end());
  return scores;
}

ThresholdFinding FindThreshold(const DriveScores& scores, v1::ScoreType type,
                               const ThresholdCriteria& criteria) {
  const std::vector<ScoredAnswer>& right = scores.right.at(type);
  const auto found_wrong = scores.wrong.find(type);
  const std::vector<ScoredAnswer> wrong =
      found_wrong == scores.wrong.end() ? std::vector<ScoredAnswer>() : found_wrong->second;
  ThresholdFinding finding;
  finding.type = type;
  finding.right = AscendingScores(right);
  finding.wrong = AscendingScores(wrong);
  const double keeping = LargestThresholdKeeping(0.01 * criteria.keep_percent, finding.right);
  finding.keeping = RatesAt(keeping, right, wrong);
  const auto refusing = LeastThresholdRefusing(0.01 * criteria.max_wrong_percent, wrong);
  if (refusing.has_value()) finding.refusing = RatesAt(*refusing, right, wrong);

  std::map<double, std::vector<std::string>> meanings;
  if (refusing.value_or(keeping) <= keeping) {
    const auto over = std::upper_bound(finding.wrong.begin(), finding.wrong.end(), keeping);
    const double highest = over == finding.wrong.begin() ? keeping : *std::prev(over);
    const double midpoint = ThresholdAtOrOver(0.5 * (highest + keeping));
    finding.recommended = RatesAt(midpoint, right, wrong);
    meanings[midpoint].push_back("recommended");
  }
  for (const double percent : {100.0, 95.0, 90.0}) {
    if (percent == criteria.keep_percent) continue;
    meanings[LargestThresholdKeeping(0.01 * percent, finding.right)].push_back(
        absl::StrFormat("keeps %g %%", percent));
  }
  meanings[keeping].push_back(absl::StrFormat("keeps %g %% (--keep)", criteria.keep_percent));
  if (refusing.has_value()) {
    meanings[*refusing].push_back(
        absl::StrFormat("at most %g %% of the wrong accepted", criteria.max_wrong_percent));
  }
  if (!wrong.empty()) meanings[ThresholdAtOrOver(finding.wrong.back())].push_back("over all wrong");
  if (type == scores.profile.score_type()) {
    meanings[scores.profile.score_threshold()].push_back("the profile's own");
  }
  for (const auto& [at, meaning] : meanings) {
    finding.rows.push_back({RatesAt(at, right, wrong), absl::StrJoin(meaning, "; ")});
  }
  return finding;
}

std::string IntervalText(size_t count, size_t total) {
  const ShareInterval share = WilsonInterval(count, total);
  return absl::StrFormat("%.1f to %.1f %%", 100.0 * share.low, 100.0 * share.high);
}

std::string CountText(size_t count, size_t total) {
  return absl::StrFormat("%d of %d (%s)", count, total, IntervalText(count, total));
}

std::string CountsText(const DriveScores& scores, const ThresholdCriteria& criteria,
                       const ThresholdFinding& finding) {
  size_t left_out = 0;
  for (const auto& [status, count] : scores.left_out) left_out += count;
  std::string text = absl::StrFormat(
      "profile %s, map %s: %d scans, each aligned from its known pose and from %d starts up to %g "
      "m and 180 deg off\n",
      scores.profile.name(), scores.map, scores.scans, kDisplacedStarts, criteria.farthest_m);
  absl::StrAppendFormat(
      &text, "right     %6d  from the known pose, ended within %g m and %g deg of it\n",
      finding.right.size(), 0.5 * criteria.wrong_distance_m, 0.5 * criteria.wrong_angle_deg);
  absl::StrAppendFormat(
      &text, "wrong     %6d  ended over %g m or %g deg away, %d of them from the known pose\n",
      finding.wrong.size(), criteria.wrong_distance_m, criteria.wrong_angle_deg,
      scores.wrong_from_pose);
  absl::StrAppendFormat(&text,
                        "not used  %6d  back at the known pose, or neither right nor wrong\n",
                        scores.not_used);
  absl::StrAppendFormat(&text, "left out  %6d  %s\n", left_out,
                        absl::StrJoin(scores.left_out, ", ", absl::PairFormatter(" ")));
  return text;
}

std::string PercentilesText(const std::vector<ThresholdFinding>& findings) {
  TextTable table("score|answers|>number|>min|>p1|>p5|>p50|>p95|>p99|>max");
  for (const ThresholdFinding& finding : findings) {
    for (const bool right : {true, false}) {
      const std::vector<double>& scores = right ? finding.right : finding.wrong;
      std::vector<std::string> cells = {EnumWordOf(finding.type), right ? "right" : "wrong",
                                        absl::StrCat(scores.size())};
      for (const double percent : kPercents) {
        cells.push_back(absl::StrFormat("%.3f", NearestRank(scores, percent)));
      }
      table.AddRow(std::move(cells));
    }
  }
  return table.Text();
}

std::string RowsText(const ThresholdFinding& finding) {
  TextTable table(absl::StrCat(">", EnumWordOf(finding.type),
                               " over|>right|>95 % interval|>accepted|>wrong|>95 % interval|"
                               ">accepted|"));
  for (const auto& [rates, meaning] : finding.rows) {
    table.AddRow({absl::StrFormat("%.3f", rates.threshold), absl::StrCat(rates.right_over),
                  IntervalText(rates.right_over, finding.right.size()),
                  absl::StrCat(rates.right_accepted), absl::StrCat(rates.wrong_over),
                  IntervalText(rates.wrong_over, finding.wrong.size()),
                  absl::StrCat(rates.wrong_accepted), meaning});
  }
  return table.Text();
}

std::string VerdictText(const ThresholdFinding& finding, const ThresholdCriteria& criteria) {
  const ThresholdRates& at = finding.recommended.value_or(finding.keeping);
  const std::string wrong = CountText(at.wrong_accepted, finding.wrong.size());
  if (finding.recommended.has_value()) {
    return absl::StrFormat(
        "Recommended: score_threshold %.3f of %s, which %s right answers are over, and with which "
        "%s wrong answers are accepted.\n",
        at.threshold, EnumWordOf(finding.type), CountText(at.right_over, finding.right.size()),
        wrong);
  }
  return absl::StrFormat(
      "No threshold is recommended: %s does not separate right answers from wrong ones. With %.3f, "
      "the largest that keeps %g %% of the right answers (--keep), %s wrong answers are accepted. "
      "With %.3f, the smallest with which at most %g %% of them are (--max-wrong), %d of %d right "
      "answers are kept.\n",
      EnumWordOf(finding.type), at.threshold, criteria.keep_percent, wrong,
      finding.refusing->threshold, criteria.max_wrong_percent, finding.refusing->right_over,
      finding.right.size());
}

// Why the numbers may be worth less than they seem.
std::vector<std::string> Reservations(const DriveScores& scores, const ThresholdFinding& finding) {
  std::vector<std::string> reservations = {
      "Intervals take scans to be independent. Those of a drive resemble each other: the true "
      "intervals are wider."};
  if (finding.wrong.empty()) {
    reservations.emplace_back(
        "No search ended at a wrong pose, so it is not known what the threshold refuses. Start "
        "farther away (--farthest).");
  }
  if (scores.wrong_from_pose > 0) {
    reservations.push_back(absl::StrFormat(
        "%d searches left the known pose and count as wrong. If their poses are what is wrong, "
        "correct these or leave the scans out.",
        scores.wrong_from_pose));
  }
  return reservations;
}

Json RecommendedJson(const ThresholdFinding& finding) {
  return finding.recommended ? Json(finding.recommended->threshold) : Json(nullptr);
}

Json FindingJson(const ThresholdFinding& finding) {
  const auto percentiles = [](const std::vector<double>& scores) {
    Json json = {{"answers", scores.size()}};
    for (const double percent : kPercents) {
      json[absl::StrFormat("p%g", percent)] = NearestRank(scores, percent);
    }
    return json;
  };
  const auto interval = [](size_t count, size_t total) {
    const ShareInterval share = WilsonInterval(count, total);
    return Json{share.low, share.high};
  };
  return {{"score_type", EnumWordOf(finding.type)},
          {"recommended", RecommendedJson(finding)},
          {"keeping", finding.keeping.threshold},
          {"right", percentiles(finding.right)},
          {"wrong", percentiles(finding.wrong)},
          {"rates", ListJson(finding.rows, [&](const ThresholdRow& row) {
             const ThresholdRates& rates = row.rates;
             return Json{{"threshold", rates.threshold},
                         {"right_over", rates.right_over},
                         {"right_interval", interval(rates.right_over, finding.right.size())},
                         {"right_accepted", rates.right_accepted},
                         {"wrong_over", rates.wrong_over},
                         {"wrong_interval", interval(rates.wrong_over, finding.wrong.size())},
                         {"wrong_accepted", rates.wrong_accepted},
                         {"meaning", row.meaning}};
           })}};
}

}  // namespace

std::vector<ThresholdFinding> FindThresholds(const DriveScores& scores,
                                             const ThresholdCriteria& criteria) {
  std::vector<ThresholdFinding> findings;
  for (const v1::ScoreType type : {v1::SCORE_TYPE_NVTL, v1::SCORE_TYPE_TRANSFORM_PROBABILITY}) {
    findings.push_back(FindThreshold(scores, type, criteria));
  }
  if (findings.front().type != scores.profile.score_type()) {
    std::swap(findings.front(), findings.back());
  }
  return findings;
}

std::string ThresholdText(const DriveScores& scores, const ThresholdCriteria& criteria,
                          const std::vector<ThresholdFinding>& findings) {
  std::string text = absl::StrCat(CountsText(scores, criteria, findings.front()), "\n",
                                  PercentilesText(findings), "\n");
  for (const ThresholdFinding& finding : findings) absl::StrAppend(&text, RowsText(finding), "\n");
  absl::StrAppend(
      &text,
      "right, wrong: with a score over the threshold; accepted: those of them that pass "
      "the profile's other checks\n\n",
      VerdictText(findings.front(), criteria));
  for (const std::string& reservation : Reservations(scores, findings.front())) {
    absl::StrAppend(&text, "- ", reservation, "\n");
  }
  return text;
}

Json ThresholdJson(const DriveScores& scores, const ThresholdCriteria& criteria,
                   const std::vector<ThresholdFinding>& findings) {
  const ThresholdFinding& own = findings.front();
  return {{"drive", scores.drive},
          {"map", scores.map},
          {"profile", scores.profile.name()},
          {"recommended", RecommendedJson(own)},
          {"keep_percent", criteria.keep_percent},
          {"max_wrong_percent", criteria.max_wrong_percent},
          {"wrong_distance_m", criteria.wrong_distance_m},
          {"wrong_angle_deg", criteria.wrong_angle_deg},
          {"farthest_m", criteria.farthest_m},
          {"scans", scores.scans},
          {"starts", kDisplacedStarts},
          {"right", own.right.size()},
          {"wrong", own.wrong.size()},
          {"wrong_from_pose", scores.wrong_from_pose},
          {"not_used", scores.not_used},
          {"left_out", scores.left_out},
          {"reservations", Reservations(scores, own)},
          {"findings", ListJson(findings, &FindingJson)}};
}

std::string ProfileWithThreshold(const DriveScores& scores, const ThresholdFinding& finding,
                                 const std::string& name, const std::string& date) {
  v1::Profile profile = scores.profile;
  profile.set_name(name);
  profile.set_score_threshold(finding.recommended->threshold);
  // The names are others' and must not end the comment.
  return absl::StrCat("# The profile ", scores.profile.name(),
                      " with the score_threshold of voxloc calibrate thresholds, ", date,
                      ".\n# Drive ", EscapeForTerminal(scores.drive), ", map ",
                      EscapeForTerminal(scores.map), ": ",
                      CountText(finding.recommended->right_over, finding.right.size()),
                      " right answers are over it,\n# and with it ",
                      CountText(finding.recommended->wrong_accepted, finding.wrong.size()),
                      " wrong answers are accepted.\n", MessageYaml(profile));
}

}  // namespace voxloc::cli
