// SPDX-License-Identifier: Apache-2.0

#include "server/session/session_answers.h"

#include <gtest/gtest.h>

#include <vector>

namespace voxloc::server {
namespace {

v1::AlignmentResult Answer(uint64_t revision, bool accepted, double nvtl) {
  v1::AlignmentResult result;
  result.set_status(accepted ? v1::ALIGNMENT_STATUS_OK : v1::ALIGNMENT_STATUS_LOW_SCORE);
  result.set_accepted(accepted);
  result.set_map_revision(revision);
  result.mutable_scores()->set_nvtl(nvtl);
  return result;
}

void AddConfidence(double value, double innovation, double sharp_ratio, double seen_through_ratio,
                   v1::AlignmentResult& result) {
  v1::Confidence& confidence = *result.mutable_confidence();
  confidence.set_value(value);
  confidence.set_innovation(innovation);
  confidence.set_sharp_ratio(sharp_ratio);
  confidence.set_seen_through_ratio(seen_through_ratio);
}

TEST(SessionAnswersTest, MeansAreOfTheAnswersThatHaveTheValue) {
  v1::SessionInfo info;
  v1::AlignmentResult first = Answer(3, true, 2.0);
  AddConfidence(0.5, 1.0, 0.25, 0.125, first);
  RecordAnswer(first, 10, info);
  RecordAnswer(Answer(3, false, 5.0), 20, info);
  v1::AlignmentResult not_aligned = Answer(3, false, 0.0);
  not_aligned.clear_scores();
  RecordAnswer(not_aligned, 30, info);
  v1::AlignmentResult last = Answer(3, true, 5.0);
  AddConfidence(1.0, 4.0, 0.75, 0.5, last);
  RecordAnswer(last, 40, info);

  EXPECT_EQ(info.answered(), 4);
  EXPECT_EQ(info.accepted(), 2);
  EXPECT_EQ(info.answered_at_ns(), 40);
  EXPECT_EQ(info.status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_EQ(info.last_answer().nvtl(), 5.0);
  ASSERT_EQ(info.by_revision_size(), 1);
  const v1::RevisionAnswers& answers = info.by_revision(0);
  EXPECT_EQ(answers.revision(), 3);
  EXPECT_EQ(answers.answered(), 4);
  EXPECT_EQ(answers.accepted(), 2);
  EXPECT_EQ(answers.aligned(), 3);
  EXPECT_DOUBLE_EQ(answers.mean_nvtl(), 4.0);
  EXPECT_EQ(answers.with_confidence(), 2);
  EXPECT_DOUBLE_EQ(answers.mean_confidence(), 0.75);
  EXPECT_DOUBLE_EQ(answers.mean_innovation(), 2.5);
  EXPECT_DOUBLE_EQ(answers.mean_sharp_ratio(), 0.5);
  EXPECT_DOUBLE_EQ(answers.mean_seen_through_ratio(), 0.3125);
}

TEST(SessionAnswersTest, TheTwoRevisionsThatWereUsedLastAreKeptTheLastOneLast) {
  v1::SessionInfo info;
  const auto revisions = [&info] {
    std::vector<uint64_t> numbers;
    for (const v1::RevisionAnswers& answers : info.by_revision()) {
      numbers.push_back(answers.revision());
    }
    return numbers;
  };
  for (const uint64_t revision : {1, 1, 2}) RecordAnswer(Answer(revision, true, 1.0), 1, info);
  EXPECT_EQ(revisions(), (std::vector<uint64_t>{1, 2}));
  RecordAnswer(Answer(1, true, 1.0), 1, info);  // the staged revision was withdrawn
  EXPECT_EQ(revisions(), (std::vector<uint64_t>{2, 1}));
  EXPECT_EQ(info.by_revision(1).answered(), 3);
  RecordAnswer(Answer(3, true, 1.0), 1, info);
  EXPECT_EQ(revisions(), (std::vector<uint64_t>{1, 3}));
  EXPECT_EQ(info.map_revision(), 3);
  EXPECT_EQ(info.answered(), 5);
}

TEST(SessionAnswersTest, AnswersWithoutAMapCountForNoRevision) {
  v1::SessionInfo info;
  RecordAnswer(v1::AlignmentResult(), 1, info);
  EXPECT_EQ(info.answered(), 1);
  EXPECT_EQ(info.by_revision_size(), 0);
}

}  // namespace
}  // namespace voxloc::server
