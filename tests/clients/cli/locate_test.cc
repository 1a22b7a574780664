// SPDX-License-Identifier: Apache-2.0
//
// A search for a vehicle as people and programs read it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "clients/cli/output/result_text.h"
#include "clients/cpp/messages.h"
#include "core/geometry/euler.h"

namespace voxloc::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::SearchResult TwoHypotheses() {
  v1::SearchResult result;
  result.set_reliable(true);
  result.set_ambiguity_gap(0.25);
  result.set_candidates_aligned(1200);
  for (int i = 0; i < 2; ++i) {
    v1::PoseHypothesis& hypothesis = *result.add_hypotheses();
    client::EncodePose({{1.0 + i, 2.0, 0.5}, RotationFromRosAngles(0.0, 0.0, 1.5707963267948966)},
                       hypothesis.mutable_map_t_base()->mutable_pose());
    hypothesis.mutable_scores()->set_nvtl(4.0 - i);
    hypothesis.set_status(v1::ALIGNMENT_STATUS_OK);
    hypothesis.set_support(7);
  }
  for (int i = 0; i < 36; ++i) {
    result.mutable_hypotheses(0)->mutable_map_t_base()->add_covariance(i % 7 == 0 ? 0.0004 : 0.0);
  }
  result.mutable_hypotheses(0)->mutable_confidence()->set_value(0.875);
  return result;
}

TEST(LocateOutput, OnlyAReliableAndUnambiguousPoseIsLocated) {
  v1::SearchResult result = TwoHypotheses();
  EXPECT_TRUE(Located(result));
  result.set_ambiguous(true);
  EXPECT_FALSE(Located(result));
  result.set_ambiguous(false);
  result.set_reliable(false);
  EXPECT_FALSE(Located(result));
  EXPECT_FALSE(Located(v1::SearchResult()));
}

TEST(LocateOutput, ReportsPriorMovedToTheSurface) {
  v1::SearchResult result = TwoHypotheses();
  EXPECT_THAT(SearchResultText(result, 1.5), Not(HasSubstr("surface")));
  result.set_prior_height_shift_m(40.25);
  EXPECT_THAT(
      SearchResultText(result, 1.5),
      HasSubstr("prior     its height misses the map's surface and was moved by +40.2 m\n"));
  EXPECT_EQ(SearchResultJson(result, 1.5)["prior_height_shift_m"], 40.25);
}

TEST(LocateOutput, ListsEveryHypothesis) {
  const std::string text = SearchResultText(TwoHypotheses(), 1.5);
  EXPECT_THAT(text, HasSubstr("found     reliable\n"));
  EXPECT_THAT(text, HasSubstr("1  1.000  2.000  0.500"));
  EXPECT_THAT(text, HasSubstr("2  2.000  2.000  0.500"));
  EXPECT_THAT(text, HasSubstr("90.00  4.000        0.88        7  OK"));
  EXPECT_THAT(text, HasSubstr("0.020 0.020 0.020 m 1.146 deg"));  // 0.02 rad
  EXPECT_THAT(text, HasSubstr("gap       0.250"));
  EXPECT_THAT(text, HasSubstr("1,200 aligned"));
}

TEST(LocateOutput, SaysWhyNothingIsLocated) {
  v1::SearchResult result = TwoHypotheses();
  result.set_ambiguous(true);
  EXPECT_THAT(SearchResultText(result, 1.0), HasSubstr("found     ambiguous"));
  result.set_ambiguous(false);
  result.set_reliable(false);
  result.set_timed_out(true);
  EXPECT_THAT(SearchResultText(result, 1.0), HasSubstr("not reliable"));
  EXPECT_THAT(SearchResultText(result, 1.0), HasSubstr("the best so far"));
  const std::string nothing = SearchResultText(v1::SearchResult(), 1.0);
  EXPECT_THAT(nothing, HasSubstr("found     nothing"));
  EXPECT_THAT(nothing, Not(HasSubstr("NVTL")));
}

TEST(LocateOutput, WritesJsonWithNullForWhatIsUnknown) {
  const Json json = SearchResultJson(TwoHypotheses(), 1.5);
  EXPECT_EQ(json["located"], true);
  EXPECT_EQ(json["elapsed_s"], 1.5);
  ASSERT_EQ(json["hypotheses"].size(), 2u);
  EXPECT_NEAR(json["hypotheses"][1]["pose_rpy_deg"][5].get<double>(), 90.0, 1e-9);
  EXPECT_EQ(json["hypotheses"][0]["confidence"], 0.875);
  EXPECT_TRUE(json["hypotheses"][1]["confidence"].is_null());
  EXPECT_EQ(json["hypotheses"][0]["covariance"].size(), 36u);
  EXPECT_EQ(json["hypotheses"][1]["covariance"].size(), 0u);
  v1::SearchResult broken = TwoHypotheses();
  broken.mutable_hypotheses(0)->clear_map_t_base();
  EXPECT_TRUE(SearchResultJson(broken, 1.0)["hypotheses"][0]["pose"].is_null());
}

TEST(LocateOutput, ShowsProgressInOneLine) {
  v1::SearchProgress progress;
  progress.set_phase(v1::SEARCH_PHASE_ALIGNING);
  progress.set_fraction(0.421);
  progress.set_candidates_aligned(84);
  EXPECT_EQ(SearchProgressText(progress), "aligning   42 %   aligned 84");
  progress.set_candidates_scored(123456);
  *progress.mutable_best() = TwoHypotheses().hypotheses(0);
  EXPECT_EQ(SearchProgressText(progress),
            "aligning   42 %   scored 123,456   aligned 84   best NVTL 4.00 at 1.0, 2.0");
}

}  // namespace
}  // namespace voxloc::cli
