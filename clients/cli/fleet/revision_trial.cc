// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/fleet/revision_trial.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace voxloc::cli {
namespace {

// The mean of two groups.
double MeanOfBoth(double mean, uint64_t count, double other_mean, uint64_t other_count) {
  if (count + other_count == 0) return 0.0;
  const auto weight = static_cast<double>(count);
  const auto other_weight = static_cast<double>(other_count);
  return (weight * mean + other_weight * other_mean) / (weight + other_weight);
}

std::optional<double> KnownMean(double mean, uint64_t count) {
  return count == 0 ? std::nullopt : std::optional(mean);
}

struct TrialFigures {
  std::optional<double> accepted_ratio;
  std::optional<double> nvtl;
  std::optional<double> confidence;
  std::optional<double> innovation;
  std::optional<double> sharp_ratio;
  std::optional<double> seen_through_ratio;
};

TrialFigures FiguresOf(const v1::RevisionAnswers& answers) {
  TrialFigures figures;
  if (answers.answered() > 0) {
    figures.accepted_ratio =
        static_cast<double>(answers.accepted()) / static_cast<double>(answers.answered());
  }
  const uint64_t count = answers.with_confidence();
  figures.nvtl = KnownMean(answers.mean_nvtl(), answers.aligned());
  figures.confidence = KnownMean(answers.mean_confidence(), count);
  figures.innovation = KnownMean(answers.mean_innovation(), count);
  figures.sharp_ratio = KnownMean(answers.mean_sharp_ratio(), count);
  figures.seen_through_ratio = KnownMean(answers.mean_seen_through_ratio(), count);
  return figures;
}

Json FiguresJson(const v1::RevisionAnswers& answers) {
  const TrialFigures figures = FiguresOf(answers);
  const auto value = [](const std::optional<double>& one) {
    return one.has_value() ? Json(*one) : Json(nullptr);
  };
  return {{"answered", answers.answered()},
          {"accepted_ratio", value(figures.accepted_ratio)},
          {"nvtl", value(figures.nvtl)},
          {"confidence", value(figures.confidence)},
          {"innovation", value(figures.innovation)},
          {"sharp_ratio", value(figures.sharp_ratio)},
          {"seen_through_ratio", value(figures.seen_through_ratio)}};
}

}  // namespace

void AddAnswers(const v1::RevisionAnswers& more, v1::RevisionAnswers& sum) {
  const auto of_confidence = [&](double mean, double other_mean) {
    return MeanOfBoth(mean, sum.with_confidence(), other_mean, more.with_confidence());
  };
  sum.set_mean_nvtl(MeanOfBoth(sum.mean_nvtl(), sum.aligned(), more.mean_nvtl(), more.aligned()));
  sum.set_mean_confidence(of_confidence(sum.mean_confidence(), more.mean_confidence()));
  sum.set_mean_innovation(of_confidence(sum.mean_innovation(), more.mean_innovation()));
  sum.set_mean_sharp_ratio(of_confidence(sum.mean_sharp_ratio(), more.mean_sharp_ratio()));
  sum.set_mean_seen_through_ratio(
      of_confidence(sum.mean_seen_through_ratio(), more.mean_seen_through_ratio()));
  sum.set_answered(sum.answered() + more.answered());
  sum.set_accepted(sum.accepted() + more.accepted());
  sum.set_aligned(sum.aligned() + more.aligned());
  sum.set_with_confidence(sum.with_confidence() + more.with_confidence());
}

RevisionTrial TrialOf(uint64_t revision, const std::vector<const v1::SessionInfo*>& sessions) {
  RevisionTrial trial;
  trial.revision = revision;
  trial.after.set_revision(revision);
  for (const v1::SessionInfo* session : sessions) {
    const int size = session->by_revision_size();
    if (size < 2 || session->by_revision(size - 1).revision() != revision) continue;
    ++trial.vehicles;
    AddAnswers(session->by_revision(size - 2), trial.before);
    AddAnswers(session->by_revision(size - 1), trial.after);
  }
  return trial;
}

std::vector<std::string> FindFaults(const RevisionTrial& trial, const TrialRule& rule) {
  if (trial.vehicles == 0) return {"no vehicle has used it and another revision before"};
  std::vector<std::string> faults;
  for (const auto& [answers, where] :
       {std::pair(&trial.before, "before it"), std::pair(&trial.after, "on it")}) {
    if (answers->answered() >= rule.min_scans) continue;
    faults.push_back(absl::StrCat("its vehicles have ", answers->answered(), " answers ", where,
                                  ", and ", rule.min_scans, " are asked for"));
  }
  const TrialFigures before = FiguresOf(trial.before);
  const TrialFigures after = FiguresOf(trial.after);
  const double tolerance = rule.tolerance_percent / 100.0;
  // `allowed`: by how much `now` may be above `then`, or below it where more is better.
  const auto check = [&](absl::string_view name, const std::optional<double>& then,
                         const std::optional<double>& now, bool more_is_better, double allowed) {
    if (!then.has_value()) return;
    if (!now.has_value()) {
      faults.push_back(absl::StrCat(name, ": unknown on it"));
    } else if ((more_is_better ? *then - *now : *now - *then) > allowed) {
      faults.push_back(absl::StrFormat("%s: %.3f on it, %.3f before it", name, *now, *then));
    }
  };
  check("accepted share", before.accepted_ratio, after.accepted_ratio, true, tolerance);
  check("score", before.nvtl, after.nvtl, true, tolerance * before.nvtl.value_or(0.0));
  check("innovation", before.innovation, after.innovation, false,
        tolerance * before.innovation.value_or(0.0));
  check("explained share", before.sharp_ratio, after.sharp_ratio, true, tolerance);
  check("share seen through", before.seen_through_ratio, after.seen_through_ratio, false,
        tolerance);
  return faults;
}

Json TrialJson(const RevisionTrial& trial) {
  return {{"revision", trial.revision},
          {"vehicles", trial.vehicles},
          {"before", FiguresJson(trial.before)},
          {"after", FiguresJson(trial.after)}};
}

std::vector<std::string> TrialCells(const v1::RevisionAnswers& answers) {
  const TrialFigures figures = FiguresOf(answers);
  const auto text = [](const std::optional<double>& value) {
    return value.has_value() ? absl::StrFormat("%.2f", *value) : "-";
  };
  const auto percent = [](const std::optional<double>& value) {
    return value.has_value() ? absl::StrFormat("%.1f %%", 100.0 * *value) : "-";
  };
  return {absl::StrCat(answers.answered()),
          percent(figures.accepted_ratio),
          text(figures.nvtl),
          text(figures.innovation),
          percent(figures.sharp_ratio),
          percent(figures.seen_through_ratio)};
}

}  // namespace voxloc::cli
