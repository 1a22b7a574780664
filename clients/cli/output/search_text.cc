// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/output/search_text.h"

#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/output/result_text.h"
#include "clients/cli/output/text_table.h"
#include "clients/cpp/messages.h"
#include "core/geometry/angles.h"

namespace voxloc::cli {
namespace {

const char* PhaseText(v1::SearchPhase phase) {
  switch (phase) {
    case v1::SEARCH_PHASE_SEARCHING:
      return "searching";
    case v1::SEARCH_PHASE_ALIGNING:
      return "aligning";
    case v1::SEARCH_PHASE_RANKING:
      return "ranking";
    default:
      return "preparing";
  }
}

std::string Verdict(const v1::SearchResult& result) {
  if (result.hypotheses_size() == 0) {
    return "nothing: no candidate meets the map (voxloc map info shows its bounds)";
  }
  std::string text = "reliable";
  if (result.ambiguous()) {
    text = "ambiguous: another pose explains the scan nearly as well";
  } else if (!result.reliable()) {
    text = "not reliable: the best score is not over the threshold";
  }
  if (result.timed_out()) absl::StrAppend(&text, "; the best so far, for the time was up");
  return text;
}

// Standard deviations of x, y, z and yaw, metres and degrees; empty: not estimated.
std::string SigmaText(const v1::PoseHypothesis& hypothesis) {
  if (hypothesis.map_t_base().covariance_size() != 36) return "";
  const auto sigma = [&hypothesis](int axis) {
    return std::sqrt(hypothesis.map_t_base().covariance(7 * axis));
  };
  return absl::StrFormat("%.3f %.3f %.3f m %.3f deg", sigma(0), sigma(1), sigma(2),
                         kDegreesPerRadian * sigma(5));
}

}  // namespace

bool Located(const v1::SearchResult& result) {
  return result.hypotheses_size() > 0 && result.reliable() && !result.ambiguous();
}

std::string SearchProgressText(const v1::SearchProgress& progress) {
  std::string text =
      absl::StrFormat("%-9s %3.0f %%", PhaseText(progress.phase()), 100.0 * progress.fraction());
  if (progress.candidates_scored() > 0) {
    absl::StrAppend(&text, "   scored ", Grouped(progress.candidates_scored()));
  }
  absl::StrAppend(&text, "   aligned ", Grouped(progress.candidates_aligned()));
  if (progress.has_best()) {
    const v1::Vector3& at = progress.best().map_t_base().pose().position();
    absl::StrAppend(&text, absl::StrFormat("   best NVTL %.2f at %.1f, %.1f",
                                           progress.best().scores().nvtl(), at.x(), at.y()));
  }
  return text;
}

std::string SearchResultText(const v1::SearchResult& result, double elapsed_s) {
  std::string text = absl::StrCat("found     ", Verdict(result), "\n");
  if (result.prior_height_shift_m() != 0.0) {
    absl::StrAppend(
        &text, absl::StrFormat("prior     its height misses the map's surface and was moved by "
                               "%+.1f m\n",
                               result.prior_height_shift_m()));
  }
  TextTable table(
      ">|>x|>y|>z|>roll|>pitch|>yaw|>NVTL|>confidence|>support|status|sigma x y z, yaw");
  for (int i = 0; i < result.hypotheses_size(); ++i) {
    const v1::PoseHypothesis& hypothesis = result.hypotheses(i);
    const absl::StatusOr<Pose> pose = client::DecodePose(hypothesis.map_t_base().pose());
    std::vector<std::string> row = {absl::StrCat(i + 1)};
    const std::array<double, 6> numbers = RosNumbers(pose.value_or(Pose()));
    for (size_t axis = 0; axis < 6; ++axis) {
      row.push_back(pose.ok() ? absl::StrFormat("%.*f", axis < 3 ? 3 : 2, numbers[axis]) : "-");
    }
    row.push_back(absl::StrFormat("%.3f", hypothesis.scores().nvtl()));
    row.push_back(hypothesis.has_confidence()
                      ? absl::StrFormat("%.2f", hypothesis.confidence().value())
                      : "-");
    row.push_back(Grouped(hypothesis.support()));
    row.push_back(client::StatusName(hypothesis.status()));
    row.push_back(SigmaText(hypothesis));
    table.AddRow(std::move(row));
  }
  if (result.hypotheses_size() > 0) absl::StrAppend(&text, "\n", table.Text(), "\n");
  if (result.hypotheses_size() > 1) {
    absl::StrAppend(&text, absl::StrFormat("gap       %.3f of the best NVTL to the second\n",
                                           result.ambiguity_gap()));
  }
  absl::StrAppend(&text, "work      ", Grouped(result.candidates_scored()), " scored, ",
                  Grouped(result.candidates_aligned()), " aligned   ",
                  Grouped(result.points().used()), " of ", Grouped(result.points().received()),
                  " points\n");
  absl::StrAppend(&text, absl::StrFormat("time      %.2f s, %.2f s search (%s)\n", elapsed_s,
                                         result.timings().align_s(), result.engine()));
  absl::StrAppend(&text, "map       ", result.map(), ", revision ", result.map_revision(), "\n");
  return text;
}

Json SearchResultJson(const v1::SearchResult& result, double elapsed_s) {
  Json hypotheses = Json::array();
  for (const v1::PoseHypothesis& hypothesis : result.hypotheses()) {
    const absl::StatusOr<Pose> pose = client::DecodePose(hypothesis.map_t_base().pose());
    Json row = {{"pose", pose.ok() ? PoseJson(*pose) : Json(nullptr)},
                {"pose_rpy_deg", pose.ok() ? Json(RosNumbers(*pose)) : Json(nullptr)},
                {"covariance", hypothesis.map_t_base().covariance()},
                {"scores", ScoresJson(hypothesis.scores())},
                {"status", client::StatusName(hypothesis.status())},
                {"confidence", nullptr},
                {"support", hypothesis.support()}};
    if (hypothesis.has_confidence()) row["confidence"] = hypothesis.confidence().value();
    hypotheses.push_back(row);
  }
  return {{"located", Located(result)},
          {"reliable", result.reliable()},
          {"ambiguous", result.ambiguous()},
          {"ambiguity_gap", result.ambiguity_gap()},
          {"timed_out", result.timed_out()},
          {"prior_height_shift_m", result.prior_height_shift_m()},
          {"hypotheses", hypotheses},
          {"candidates_scored", result.candidates_scored()},
          {"candidates_aligned", result.candidates_aligned()},
          {"points_received", result.points().received()},
          {"points_used", result.points().used()},
          {"map", result.map()},
          {"map_revision", result.map_revision()},
          {"engine", result.engine()},
          {"elapsed_s", elapsed_s},
          {"search_s", result.timings().align_s()},
          {"server_s", result.timings().server_s()}};
}

}  // namespace voxloc::cli
